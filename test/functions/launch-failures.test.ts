/** A launch that fails says why, and gives back its slot, its place, its cgroup and its descriptors. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { LaunchRequest } from '../../src/contracts/function.js';
import {
  asRoot,
  burnPath,
  codeOf,
  eventually,
  heldBy,
  nothingHeld,
  openFds,
  reasonOfFailure,
  register,
  requestOf,
  run,
  shell,
  startHost,
} from './support.js';

const host = await startHost({ limits: { bodyMaxBytes: 1000 } });
t.teardown(() => host.close());
const folder = mkdtempSync(join(tmpdir(), 'sfsd-functions-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const plain = join(folder, 'plain');
writeFileSync(plain, 'not a program');
const garbage = join(folder, 'garbage');
writeFileSync(garbage, 'no format that a kernel knows');
chmodSync(garbage, 0o755);
chmodSync(folder, 0o755);

function launch(definition: Readonly<Record<string, unknown>>, fields: Partial<LaunchRequest> = {}) {
  return host.launcher.launch(register(host, 'f', definition), requestOf(fields));
}

/** Body pipes included: each launch has all the descriptors that a launch can have. */
const body = Buffer.from('body');
const faults: readonly [string, Readonly<Record<string, unknown>>, RegExp, Partial<LaunchRequest>][] = [
  [
    'a missing program',
    { command: '/nowhere/at/all' },
    /executing the program \/nowhere\/at\/all: ENOENT/,
    {},
  ],
  ['a name that PATH does not have', { command: 'no-such-program' }, /executing .*: ENOENT/, {}],
  ['a name under an empty PATH', { command: 'sh', env: { PATH: '' } }, /executing .*: ENOENT/, {}],
  ['a file that is no program', { command: plain }, /executing .*: EACCES/, {}],
  ['the same, found through PATH', { command: 'plain', env: { PATH: folder } }, /executing .*: EACCES/, {}],
  ['an unknown executable format', { command: garbage }, /executing .*: ENOEXEC/, {}],
  [
    'a missing working directory',
    { command: burnPath, workingDirectory: '/nowhere' },
    /working directory \/nowhere: ENOENT/,
    {},
  ],
  [
    'a working directory that is a file',
    { command: burnPath, workingDirectory: plain },
    /directory .*: ENOTDIR/,
    {},
  ],
  [
    'a working directory that is closed to the user',
    { command: burnPath, workingDirectory: '/root' },
    /directory \/root: EACCES/,
    { credentials: { uid: 65534, gid: 65534 } },
  ],
  [
    'a user that cannot be',
    { command: burnPath },
    /becoming the user: EINVAL/,
    { credentials: { uid: 4294967295, gid: 0 } },
  ],
];

// The first group of a function is made once, and keeps a descriptor.
await run(host, register(host, 'f', { command: burnPath, args: ['0'] }));

for (const [name, definition, reason, fields] of faults) {
  t.test(`${name} fails the launch and holds nothing`, async (t) => {
    const before = openFds();
    const message = await reasonOfFailure(launch(definition, { body, ...fields }));
    t.match(message, /^SFSD_ERR_LAUNCH_FAILED/);
    t.match(message, reason);
    t.same(heldBy(host), nothingHeld);
    t.ok(await eventually(() => openFds() <= before), 'no descriptor is left open');
  });
}

t.test('the command is found in the PATH of the function', async (t) => {
  const { outcome } = await run(host, register(host, 'f', { command: 'sh', args: ['-c', 'exit 4'] }));
  t.same(outcome.exit, { kind: 'exited', code: 4 });
});

t.test('an oversized body is refused before anything is taken; one of the exact bound is not', async (t) => {
  const spec = shell(host, 'wc -c');
  const before = host.plane.registered.length;
  t.equal(
    await codeOf(host.launcher.launch(spec, requestOf({ body: Buffer.alloc(1001) }))),
    'SFSD_ERR_BODY_TOO_LARGE',
  );
  t.equal(host.plane.registered.length, before);
  t.same(heldBy(host), nothingHeld);
  const { outcome } = await run(host, spec, { body: Buffer.alloc(1000) });
  t.equal(Buffer.from(outcome.stdout).toString(), '1000\n');
});

t.test('beyond its concurrency a function is busy, until an instance ends', async (t) => {
  const spec = shell(host, 'sleep 5', { concurrency: 2 });
  const first = await host.launcher.launch(spec, requestOf());
  const second = await host.launcher.launch(spec, requestOf());
  t.equal(await codeOf(host.launcher.launch(spec, requestOf())), 'SFSD_ERR_FUNCTION_BUSY');
  t.equal(host.launcher.running(), 2);
  first.cancel();
  await first.outcome;
  const third = await host.launcher.launch(spec, requestOf());
  second.cancel();
  third.cancel();
  await Promise.all([second.outcome, third.outcome]);
  t.same(heldBy(host), nothingHeld);
});

t.test('a request that was cancelled before its launch starts nothing', async (t) => {
  const before = host.plane.registered.length;
  const signal = AbortSignal.abort();
  t.equal(
    await codeOf(launch({ command: burnPath, args: ['0'] }, { signal, credentials: asRoot })),
    'SFSD_ERR_LAUNCH_FAILED',
  );
  t.equal(host.plane.registered.length, before);
  t.same(heldBy(host), nothingHeld);
});

t.test('a memory limit below what a program needs fails that program only', async (t) => {
  const script = 'x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done';
  const { outcome } = await run(host, shell(host, script, { memoryMaxBytes: 8 * 1024 * 1024 }));
  t.same(outcome.exit, { kind: 'signalled', signal: 'SIGKILL' });
  t.equal(host.events.filter((event) => event.event === 'spawner_lost').length, 0);
});
