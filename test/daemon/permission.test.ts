/**
 * What the probe decides, from what a kernel answers: hosts that this one cannot be made to be.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/daemon/config/config.js';
import { type Permission, type ProbeFacts, probePermission } from '../../src/daemon/permission.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import type { Libc } from '../../src/linux/libc.js';

const errnoNotPermitted = -1;

/** The few calls that the probe makes, of a thread of this kernel. */
interface KernelFacts {
  readonly realTime: boolean;
  readonly niceMin: number;
  /** Linux 6.12. */
  readonly slices: boolean;
}

class SimulatedLibc
  implements
    Pick<
      Libc,
      | 'schedSetscheduler'
      | 'schedGetscheduler'
      | 'schedGetpriority'
      | 'schedGetattr'
      | 'schedSetattr'
      | 'setpriority'
    >
{
  policy = 0;
  nice = 0;
  sliceNs = 0;
  readonly #facts: KernelFacts;

  constructor(facts: KernelFacts) {
    this.#facts = facts;
  }

  schedSetscheduler(_tid: number, policy: number): number {
    if (policy !== 0 && !this.#facts.realTime) return errnoNotPermitted;
    this.policy = policy;
    return 0;
  }

  schedGetscheduler(): number {
    return this.policy;
  }

  schedGetpriority(): number {
    return 0;
  }

  schedGetattr(_tid: number, attributes: Uint8Array): number {
    const words = new Uint32Array(attributes.buffer);
    words.fill(0);
    words[0] = attributes.byteLength;
    words[1] = this.policy;
    words[4] = this.nice;
    words[6] = this.sliceNs;
    return 0;
  }

  schedSetattr(_tid: number, attributes: Uint8Array): number {
    const words = new Uint32Array(attributes.buffer);
    const nice = (words[4] ?? 0) | 0;
    if (nice < Math.min(this.nice, this.#facts.niceMin)) return errnoNotPermitted;
    this.nice = nice;
    if (this.#facts.slices) this.sliceNs = words[6] ?? 0;
    return 0;
  }

  setpriority(_tid: number, nice: number): number {
    if (nice < this.#facts.niceMin) return errnoNotPermitted;
    this.nice = nice;
    return 0;
  }
}

const everything: KernelFacts = { realTime: true, niceMin: -20, slices: true };
const privileged: ProbeFacts = { hasSysNice: true, isInitialUserNamespace: true };
const unprivileged: ProbeFacts = { hasSysNice: false, isInitialUserNamespace: true };
const noCgroups = CgroupLayout.detect({ mountinfo: '' });

function probe(
  parts: {
    readonly kernel?: Partial<KernelFacts>;
    readonly facts?: ProbeFacts;
    readonly settings?: Readonly<Record<string, unknown>>;
    readonly layout?: CgroupLayout;
  } = {},
): { readonly permission: Permission; readonly libc: SimulatedLibc } {
  const libc = new SimulatedLibc({ ...everything, ...parts.kernel });
  const config = loadConfig({ environment: {}, flags: parts.settings ?? {} });
  const layout = parts.layout ?? noCgroups;
  const permission = probePermission(libc as unknown as Libc, config, layout, parts.facts ?? privileged);
  return { permission, libc };
}

t.test('with everything permitted the mode is fifo, and the probe leaves no trace', async (t) => {
  const { permission, libc } = probe();
  t.same(permission, { mode: 'fifo', daemonRealTime: true, favour: { nice: -15, sliceNs: 500_021 } });
  t.same([libc.policy, libc.nice, libc.sliceNs], [0, 0, 0]);
});

t.test('RLIMIT_RTPRIO only: functions are favoured, the daemon is real-time', async (t) => {
  const { permission } = probe({ facts: unprivileged, kernel: { niceMin: 0 } });
  t.match(permission, { mode: 'eevdf', daemonRealTime: true, favour: { nice: 0, sliceNs: 500_021 } });
  t.match(permission.reason, /RLIMIT_RTPRIO.*AmbientCapabilities=CAP_SYS_NICE/);
});

t.test('neither real-time nor privileges: slices where the kernel has them, else off', async (t) => {
  const denied = { realTime: false, niceMin: 0 };
  t.match(probe({ facts: unprivileged, kernel: denied }).permission, {
    mode: 'eevdf',
    daemonRealTime: false,
  });
  const old = probe({ facts: unprivileged, kernel: { ...denied, slices: false } }).permission;
  t.match(old, { mode: 'off', daemonRealTime: false });
  t.match(old.reason, /CAP_SYS_NICE is missing.*Linux 6\.12/);
});

t.test('an old kernel with CAP_SYS_NICE and without real-time has weights at least', async (t) => {
  const { permission } = probe({ kernel: { realTime: false, slices: false } });
  t.match(permission, { mode: 'eevdf', favour: { nice: -15 } });
});

t.test('in another user namespace the reason says so', async (t) => {
  const facts = { hasSysNice: false, isInitialUserNamespace: false };
  const { permission } = probe({ facts, kernel: { realTime: false, niceMin: 0 } });
  t.match(permission.reason, /not the initial user namespace/);
});

t.test('what is configured is not exceeded', async (t) => {
  t.match(probe({ settings: { 'priorities.mode': 'off' } }).permission, { mode: 'off' });
  t.match(probe({ settings: { 'priorities.realtime': false } }).permission, {
    mode: 'off',
    reason: 'priorities.realtime is false',
  });
  t.match(probe({ settings: { 'priorities.mode': 'eevdf' } }).permission, { mode: 'eevdf' });
  const fifo = probe({ settings: { 'priorities.mode': 'fifo' } }).permission;
  t.same(fifo, { mode: 'fifo', daemonRealTime: true }, 'no target is favoured either');
  const denied = probe({ settings: { 'priorities.mode': 'fifo' }, kernel: { realTime: false } }).permission;
  t.match(denied, { mode: 'off' });
});

t.test('denied by the cpu group: the reason tells the layouts apart', async (t) => {
  const kernel = { realTime: false };
  for (const [name, reason] of [
    ['v1', /may not be left/],
    ['hybrid', /may not be left/],
    ['v2', /only the root cgroup may be real-time/],
  ] as const) {
    const { permission } = probe({ kernel, layout: layoutOf(t, name) });
    t.match(permission, { mode: 'eevdf' }, name);
    t.match(permission.reason, reason, name);
  }
});

function layoutOf(t: Test, name: 'v1' | 'hybrid' | 'v2'): CgroupLayout {
  const root = mkdtempSync(join(tmpdir(), 'sfsd-layout-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const v1 = '30 20 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu\n';
  const unified = `31 20 0:27 / /cg${name === 'v2' ? '' : '/unified'} rw - cgroup2 cgroup2 rw\n`;
  mkdirSync(join(root, 'cg/cpu'), { recursive: true });
  mkdirSync(join(root, 'cg/unified'), { recursive: true });
  writeFileSync(join(root, 'cg/cgroup.controllers'), 'cpu memory pids\n');
  const mountinfo = { v1, hybrid: v1 + unified, v2: unified }[name];
  const layout = CgroupLayout.detect({ mountinfo, root });
  t.equal(layout.version, name);
  return layout;
}
