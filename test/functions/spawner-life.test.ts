/** The spawner's own life: its death, its end, and that it leaks nothing over many launches. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmdirSync } from 'node:fs';
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import { Spawner } from '../../src/functions/spawner.js';
import { CgroupLayout, groupsBelow } from '../../src/linux/cgroup-layout.js';
import {
  burn,
  codeOf,
  eventually,
  heldBy,
  libcOfHost,
  nothingHeld,
  openFds,
  processState,
  requestOf,
  run,
  shell,
  startHost,
  textOf,
} from './support.js';

const host = await startHost();
t.teardown(() => host.close());

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((word) => word !== '');
}

t.test('200 launches in a row leak no descriptor, no process and no cgroup', async (t) => {
  const spec = burn(host, '0');
  for (let i = 0; i < 5; i++) await run(host, spec);
  const spawner = host.spawner.pid ?? 0;
  const spawnerFds = () => readdirSync(`/proc/${spawner}/fd`).length;
  const before = { ours: openFds(), theirs: spawnerFds() };
  for (let i = 0; i < 200; i++) {
    const { outcome } = await run(host, spec, { body: Buffer.from('x') });
    if (outcome.exit.kind !== 'exited') t.fail(JSON.stringify(outcome.exit));
  }
  t.ok(await eventually(() => openFds() <= before.ours), `${openFds()} descriptors, ${before.ours} before`);
  t.equal(spawnerFds(), before.theirs);
  t.same(childrenOf(spawner), [], 'no zombie');
  t.same(heldBy(host), nothingHeld);
});

t.test('50 launches at once all run', async (t) => {
  const spec = burn(host, '1');
  const ended = await Promise.all(Array.from({ length: 50 }, () => run(host, spec)));
  t.ok(ended.every(({ outcome }) => outcome.exit.kind === 'exited'));
  t.equal(new Set(ended.map(({ launched }) => launched.id)).size, 50);
  t.same(heldBy(host), nothingHeld);
});

t.test(
  'when the spawner is killed its functions die, their outcome is lost, and the next launch works',
  async (t) => {
    const script = '(setsid sleep 30 >/dev/null 2>&1 & echo $!); exec sleep 30';
    const launched = await host.launcher.launch(shell(host, script), requestOf());
    await new Promise((resolve) => setTimeout(resolve, 150));
    const old = host.spawner.pid ?? 0;
    process.kill(old, 'SIGKILL');
    const outcome = await launched.outcome;
    t.same(outcome.exit, { kind: 'lost' });
    t.ok(await eventually(() => processState(launched.pid) === undefined), 'the function is dead');
    const stray = Number(textOf(outcome.stdout));
    t.ok(
      stray > 0 && (await eventually(() => ['Z', undefined].includes(processState(stray)?.state))),
      'and its stray',
    );
    t.same(heldBy(host), nothingHeld);
    t.not(host.spawner.pid, old);
    const { outcome: next } = await run(host, burn(host, '1'));
    t.same(next.exit, { kind: 'exited', code: 0 });
    t.match(
      host.events.find((event) => event.event === 'spawner_lost'),
      { pid: old, reason: 'signal SIGKILL', instances: 1 },
    );
  },
);

t.test(
  'a spawner that dies again at once comes back after a delay; launches are refused until then',
  async (t) => {
    process.kill(host.spawner.pid ?? 0, 'SIGKILL');
    t.ok(await eventually(() => host.spawner.pid === undefined));
    t.equal(await codeOf(run(host, burn(host, '0'))), 'SFSD_ERR_SPAWNER_LOST');
    t.same(heldBy(host), nothingHeld);
    t.ok(await eventually(() => host.spawner.pid !== undefined));
    const { outcome } = await run(host, burn(host, '0'));
    t.equal(outcome.exit.kind, 'exited');
  },
);

t.test('a stopped spawner answers late but loses nothing', async (t) => {
  const pid = host.spawner.pid ?? 0;
  process.kill(pid, 'SIGSTOP');
  const spec = burn(host, '0');
  // More than the socket holds: the rest waits in our bounded queue.
  const runs = Array.from({ length: 64 }, () => run(host, spec, { body: Buffer.from('x') }));
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.kill(pid, 'SIGCONT');
  const ended = await Promise.all(runs);
  t.ok(ended.every(({ outcome }) => outcome.exit.kind === 'exited'));
  t.same(heldBy(host), nothingHeld);
});

t.test('when the spawner ends, everything it started ends', async (t) => {
  const other = await startHost();
  const launched = await other.launcher.launch(
    shell(other, '(setsid sleep 30 >/dev/null 2>&1 & echo $!); exec sleep 30'),
    requestOf(),
  );
  await new Promise((resolve) => setTimeout(resolve, 150));
  await other.spawner.close();
  const outcome = await launched.outcome;
  const stray = Number(textOf(outcome.stdout));
  t.equal(outcome.exit.kind, 'lost');
  t.equal(processState(launched.pid), undefined);
  t.ok(stray > 0 && ['Z', undefined].includes(processState(stray)?.state));
  t.equal(await codeOf(run(other, burn(other, '0'))), 'SFSD_ERR_SPAWNER_LOST');
  await other.close();
});

t.test('a program that is no spawner is a coded error', async (t) => {
  const libc = libcOfHost();
  for (const programPath of ['/bin/true', '/nowhere/spawner']) {
    const before = openFds();
    const started = Spawner.start({ libc, programPath, priority: 0, sessionNice: 0 });
    await t.rejects(started, SfsdError);
    t.ok(await eventually(() => openFds() <= before), 'no descriptor is left open');
  }
});

t.test('a death of the whole daemon ends the spawner and its functions', async (t) => {
  const program = `
    const { startHost, shell, requestOf } = await import(${JSON.stringify(new URL('./support.js', import.meta.url).href)});
    const host = await startHost();
    const launched = await host.launcher.launch(shell(host, 'exec sleep 30'), requestOf());
    process.stdout.write(launched.pid + ' ' + host.spawner.pid + '\\n');`;
  const daemon = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text] = await once(daemon.stdout, 'data');
  const pids = String(text).trim().split(' ').map(Number);
  t.equal(pids.length, 2);
  daemon.kill('SIGKILL');
  for (const pid of pids) {
    t.ok(await eventually(() => ['Z', undefined].includes(processState(pid)?.state)), `${pid} has ended`);
  }
  const layout = CgroupLayout.detect();
  const trees = ['pids', 'memory'].flatMap((name) => layout.controllerPath(name) ?? []);
  if (layout.unifiedPath !== undefined) trees.push(layout.unifiedPath);
  for (const tree of new Set(trees)) {
    for (const group of groupsBelow(`${tree}/sfsd-test-${pids[1]}`).reverse()) rmdirSync(group);
  }
});
