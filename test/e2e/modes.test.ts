/**
 * The daemon where it may not do all that it would: each permission mode on the real kernel, as an operator meets it. In each the mode is
 * shown, a function runs, and when the daemon has stopped, a process of others is what it was.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { StatusBody } from '../../src/contracts/http.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { cpuGroupOf } from '../../src/linux/rt-group.js';
import { DaemonUnderTest, projectRoot, sleep } from './daemon-under-test.js';
import { observeInRealTime, startBounded } from './processes.js';
import { standingOf, standingsOf } from './standing.js';

const burn = join(projectRoot, 'native/build/burn');
const capSysResource = 24n;
const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'needs root: capabilities, mounts and cgroups are taken away here';
const cpuTree = CgroupLayout.detect().tree('cpu');
const mount = cpuTree?.version === 1 ? cpuTree.mount : '';
const skipGroups =
  skip !== false
    ? skip
    : existsSync(join(mount, 'cpu.rt_runtime_us'))
      ? false
      : 'needs the v1 cpu tree and CONFIG_RT_GROUP_SCHED';

const skipLimit =
  skip === false && !canRaiseLimits()
    ? 'needs CAP_SYS_RESOURCE to raise RLIMIT_RTPRIO; test/daemon/permission.test.ts has it in simulation'
    : skip;

t.setTimeout(240_000);
if (isRoot) observeInRealTime();

/** A cpu cgroup without a real-time budget, and how to start something in it. */
function poorGroup(t: Test, name: string): { readonly path: string; readonly wrapper: readonly string[] } {
  const path = `/sfsd-test-${name}-${process.pid}`;
  const directory = join(mount, path);
  mkdirSync(directory);
  t.teardown(() => rmdirSync(directory));
  const move = `echo $$ > ${directory}/cgroup.procs; exec "$@"`;
  return { path, wrapper: ['sh', '-c', move, 'sh'] };
}

function canRaiseLimits(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${effective}`) & (1n << capSysResource)) !== 0n;
}

async function target(t: Test, wrapper: readonly string[] = []) {
  const child = await startBounded(60, [...wrapper, burn, '20000']);
  t.teardown(async () => {
    process.kill(child.pid, 'SIGKILL');
    await child.ended;
  });
  await until(() => readFileSync(`/proc/${child.pid}/comm`, 'utf8').startsWith('burn'));
  return child;
}

async function until(fact: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 200 && !(await fact()); waited += 1) await sleep(25);
}

interface Expectation {
  readonly mode: StatusBody['mode'];
  readonly reason?: RegExp;
  /** Of a process that others started, while it is in FILTER. */
  readonly promoted: RegExp;
  readonly settings?: readonly string[];
  readonly targetWrapper?: readonly string[];
  readonly targets?: StatusBody['targets'];
  readonly also?: (daemon: DaemonUnderTest, status: StatusBody) => Promise<void> | void;
}

const withoutNice = ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-all'];
const withoutAny = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'];
/** Either of these sees everything: CAP_SYS_PTRACE, and the group that hidepid lets in (0). */
const asNobodysGroup = ['setpriv', '--bounding-set=-sys_ptrace', '--regid=65534', '--clear-groups'];

/** What must hold in every mode. */
async function expectMode(t: Test, wrapper: readonly string[], expected: Expectation): Promise<void> {
  const { settings = [], promoted } = expected;
  const other = await target(t, expected.targetWrapper);
  const before = standingOf(other.pid);
  const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=400', ...settings], wrapper);
  t.teardown(() => daemon.stop());
  const status = await daemon.status();
  t.equal(status.mode, expected.mode, status.modeReason ?? 'no reason');
  if (expected.reason === undefined) t.equal(status.modeReason, undefined);
  else t.match(status.modeReason, expected.reason);
  const warnings = daemon.log.split('\n').filter((line) => line.includes('"event":"mode"'));
  t.equal(warnings.length, expected.mode === 'fifo' ? 0 : 1, `one warning: ${warnings.join()}`);
  const metrics = (await daemon.get('/metrics')).text;
  t.ok(metrics.includes(`sfsd_mode{mode="${expected.mode}"} 1`), 'the gauge says so');

  await daemon.putBurn();
  const result = await daemon.invoke('burn', '30');
  t.equal(result.exit, 'exited 0', 'a function ran');

  const json = [{ id: 'other', functionName: 'other', pid: other.pid }];
  await daemon.request('POST', '/v1/invocations', { json });
  await until(() => promoted.test(standingOf(other.pid)));
  t.match(standingOf(other.pid), promoted, 'a process of others, in FILTER');
  const targets = expected.targets ?? [];
  await until(async () => (await daemon.status()).targets.length >= targets.length);
  t.same((await daemon.status()).targets, targets);
  await expected.also?.(daemon, status);
  t.equal(await daemon.stop(), 0, 'an orderly end');
  t.equal(standingOf(other.pid), before, 'is what it was when the daemon has stopped');
}

const fifo = /^FIFO 5 reset /;
const favoured = /^OTHER reset nice -15 slice 0.500021 ms /;
const sliced = /^OTHER nice 0 slice 0.500021 ms /;
const untouched = /^OTHER nice 0 slice (?!0\.500021)/;

t.test('root: fifo', { skip }, (t) => expectMode(t, [], { mode: 'fifo', promoted: fifo }));

t.test('a daemon in a cpu cgroup without a real-time budget leaves it', { skip: skipGroups }, async (t) => {
  const { path, wrapper } = poorGroup(t, 'poor');
  await expectMode(t, wrapper, {
    mode: 'fifo-cgroup',
    reason: new RegExp(`${path} has no real-time budget`),
    promoted: fifo,
    also: (_, { pid }) => {
      t.equal(cpuGroupOf(pid), '/');
      t.ok(
        standingsOf(pid).every((standing) => standing.startsWith('FIFO')),
        standingsOf(pid).join(', '),
      );
    },
  });
});

t.test('a target in such a cgroup is promoted in a group of ours', { skip: skipGroups }, async (t) => {
  const shared = existsSync(join(mount, 'sfsd-filter'));
  const { wrapper } = poorGroup(t, 'target');
  await expectMode(t, [], {
    mode: 'fifo',
    promoted: /^FIFO 5 reset .* in \/sfsd-filter$/,
    targetWrapper: wrapper,
    targets: [{ way: 'cgroup', reason: 'cpu-group', targets: 1 }],
  });
  if (!shared) t.notOk(existsSync(join(mount, 'sfsd-filter')), 'which is gone afterwards');
});

t.test('a target for which no budget is left gets a weight and a slice', { skip: skipGroups }, async (t) => {
  if (existsSync(join(mount, 'sfsd-filter'))) {
    t.skip('needs a host whose real-time budget no other daemon holds', () => {});
    return;
  }
  const { wrapper } = poorGroup(t, 'unlucky');
  const rich = join(mount, `sfsd-test-rich-${process.pid}`);
  mkdirSync(rich);
  t.teardown(() => rmdirSync(rich));
  writeFileSync(join(rich, 'cpu.rt_runtime_us'), '200000');
  const expected = {
    mode: 'fifo',
    targetWrapper: wrapper,
    promoted: favoured,
    targets: [{ way: 'eevdf', reason: 'cpu-group', targets: 1 }],
  } as const;
  await expectMode(t, [], expected);
  await expectMode(t, [], {
    ...expected,
    settings: ['priorities.mode=fifo'],
    promoted: untouched,
    targets: [{ way: 'denied', reason: 'cpu-group', targets: 1 }],
  });
});

t.test('no v1 cpu tree in sight, or one that is read-only: eevdf', { skip: skipGroups }, async (t) => {
  const { wrapper } = poorGroup(t, 'blind');
  for (const [action, reason] of [
    [`umount ${mount}`, /no v1 cpu tree is mounted/],
    [`mount -o remount,bind,ro ${mount}`, /may not be left/],
  ] as const) {
    const unshared = ['unshare', '-m', 'sh', '-c', `${action}; exec "$@"`, 'sh'];
    await expectMode(t, [...wrapper, ...unshared], { mode: 'eevdf', reason, promoted: favoured });
  }
});

t.test('without CAP_SYS_NICE: eevdf by slices, which end by CPU time as ever', { skip }, (t) =>
  expectMode(t, withoutNice, {
    mode: 'eevdf',
    reason: /CAP_SYS_NICE is missing/,
    promoted: sliced,
    targetWrapper: withoutNice,
    also: async (daemon) => {
      await daemon.request('DELETE', '/v1/invocations/other');
      const long = await daemon.invoke('burn', '700');
      const demoted = long.decisions.find(({ kind }) => kind === 'demoted');
      t.ok(demoted !== undefined && demoted.cpuMs > 398 && demoted.cpuMs < 440, `${demoted?.cpuMs} ms`);
      const { budget } = await daemon.status();
      t.same([budget.maxShare, budget.paused], [1, false], 'no FILTER budget');
    },
  }),
);

t.test('a process that may do more than the daemon is left alone, and counted', { skip }, (t) =>
  expectMode(t, withoutNice, {
    mode: 'eevdf',
    reason: /CAP_SYS_NICE is missing/,
    promoted: untouched,
    targets: [{ way: 'denied', reason: 'privilege', targets: 1 }],
  }),
);

t.test('without any capability: eevdf', { skip }, (t) =>
  expectMode(t, withoutAny, {
    mode: 'eevdf',
    reason: /CAP_SYS_NICE is missing/,
    promoted: sliced,
    targetWrapper: withoutAny,
  }),
);

t.test('RLIMIT_RTPRIO only: eevdf, with a daemon that is real-time itself', { skip: skipLimit }, (t) =>
  expectMode(t, ['prlimit', '--rtprio=30', ...withoutNice], {
    mode: 'eevdf',
    reason: /RLIMIT_RTPRIO lets the daemon be real-time, but not functions.*CAP_SYS_NICE/,
    promoted: sliced,
    targetWrapper: withoutNice,
    also: (_, { pid }) => {
      const standings = standingsOf(pid);
      t.ok(
        standings.some((standing) => standing.startsWith('FIFO 25')),
        standings.join(', '),
      );
    },
  }),
);

t.test('a hidden /proc: functions run, and what is not shown is left alone', { skip }, async (t) => {
  const hidden = await target(t, ['setpriv', '--reuid=65534', '--clear-groups']);
  const before = standingOf(hidden.pid);
  const remount = 'mount -t proc -o hidepid=2 proc /proc; exec "$@"';
  const wrapper = ['unshare', '-m', 'sh', '-c', remount, 'sh', ...asNobodysGroup];
  await expectMode(t, wrapper, {
    mode: 'fifo',
    promoted: fifo,
    targetWrapper: asNobodysGroup,
    // The function of the test itself: it ran as its caller, whom this daemon does not see.
    targets: [{ way: 'denied', reason: 'hidden', targets: 1 }],
    also: async (daemon) => {
      const startTime = readFileSync(`/proc/${hidden.pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[19];
      const json = [{ id: 'hidden', functionName: 'other', pid: hidden.pid, startTime }];
      const answer = await daemon.request('POST', '/v1/invocations', { json });
      t.equal(answer.status, 202);
      const count = async () => (await daemon.status()).targets[0]?.targets;
      await until(async () => (await count()) === 2);
      t.equal(await count(), 2);
      t.equal(standingOf(hidden.pid), before);
    },
  });
});

t.test('priorities.mode=eevdf and off are kept to, whatever is permitted', { skip }, async (t) => {
  await expectMode(t, [], {
    mode: 'eevdf',
    reason: /^priorities.mode is eevdf$/,
    promoted: favoured,
    settings: ['priorities.mode=eevdf'],
    also: async (daemon) => {
      const script = 'chrt -p $$; ps -o ni= -p $$';
      await daemon.putFunction('plain', { command: '/bin/sh', args: ['-c', script], policy: 'cfs' });
      const { stdoutBase64 } = await daemon.invoke('plain', '');
      const text = Buffer.from(stdoutBase64, 'base64').toString();
      t.match(text, /policy: SCHED_OTHER\n/, 'born without reset-on-fork');
      t.match(text, /^\s*0$/m, 'and at nice 0');
      const { pid } = await daemon.status();
      t.ok(
        standingsOf(pid).every((standing) => standing.startsWith('OTHER reset nice -20 slice 0.1 ms')),
        standingsOf(pid).join(),
      );
    },
  });
  await expectMode(t, [], {
    mode: 'off',
    reason: /^priorities.mode is off$/,
    promoted: untouched,
    settings: ['priorities.mode=off'],
  });
});
