/**
 * Which permission mode this host allows (contracts/modes.ts), asked of the kernel by doing it to the calling thread and undoing it:
 *
 *   1. priorities.mode says off or eevdf: no more than that
 *   2. SCHED_FIFO for ourselves. EPERM in a cpu cgroup without a real-time budget: leave it for the root of the v1 cpu tree, once more
 *   3. CAP_SYS_NICE: without it we may be real-time by RLIMIT_RTPRIO, and functions, whose limit is 0, may not
 *   4. mode eevdf: a slice of our own (Linux 6.12), a weight of our own (CAP_SYS_NICE, or RLIMIT_NICE); neither: off
 *
 * Functions run whatever comes of it. The mode is told once, as one warning that says what is missing and what to do.
 */
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import { isRealTime, type PermissionMode } from '../contracts/modes.js';
import type { CgroupLayout } from '../linux/cgroup-layout.js';
import type { Libc } from '../linux/libc.js';
import { OwnCpuGroup } from '../linux/own-cpu-group.js';
import { hasSysNice, isInitialUserNamespace } from '../linux/privilege.js';
import type { Favour } from '../linux/task-promoter.js';

export interface Permission {
  readonly mode: PermissionMode;
  /** What is missing for `fifo`, and what to do. Absent: nothing. */
  readonly reason?: string;
  /** Whether the daemon's own threads may be real-time; in mode eevdf too, where RLIMIT_RTPRIO allows it. */
  readonly daemonRealTime: boolean;
  /** What targets get in mode eevdf, and those for which real-time is denied; absent: nothing. */
  readonly favour?: Favour;
  /** The group that the daemon has left, to come back to at the end. */
  readonly left?: OwnCpuGroup;
}

const schedOther = 0;
const schedFifo = 1;
const errnoNotPermitted = -1;
const attributeBytes = 48;
const nanosPerMs = 1e6;
/** On top of a slice of whole microseconds: nobody else would choose it, so that ours is known again. */
const sliceMarkNs = 21;

/** What is asked of /proc and not of the kernel's calls. */
export interface ProbeFacts {
  readonly hasSysNice: boolean;
  readonly isInitialUserNamespace: boolean;
}

function ownFacts(): ProbeFacts {
  return { hasSysNice: hasSysNice(), isInitialUserNamespace: isInitialUserNamespace() };
}

export function probePermission(
  libc: Libc,
  config: Pick<SfsdConfig, 'priorities'>,
  layout: CgroupLayout,
  facts: ProbeFacts = ownFacts(),
): Permission {
  const { mode: setting, realtime, scheduling } = config.priorities;
  if (!realtime) return off('priorities.realtime is false');
  if (setting === 'off') return off('priorities.mode is off');
  if (setting === 'eevdf') return withoutRealTime(libc, config, 'priorities.mode is eevdf');
  const instead = (reason: string, more: Partial<Permission> = {}): Permission =>
    setting === 'fifo' ? off(reason) : withoutRealTime(libc, config, reason, more);
  const own = tryOwnPriority(libc, scheduling, layout);
  if (own.result < 0) return instead(ownDenial(own.result, layout, facts));
  if (!facts.hasSysNice) {
    own.left?.comeBack();
    return instead(functionsDenial(facts), { daemonRealTime: own.left === undefined });
  }
  const favour = setting === 'auto' ? favourOf(libc, config) : undefined;
  const common = { daemonRealTime: true, ...(favour === undefined ? {} : { favour }) };
  if (own.left === undefined) return { mode: 'fifo', ...common };
  return { mode: 'fifo-cgroup', reason: leftReason(own.left.home), left: own.left, ...common };
}

/** The one line at start: a warning unless the mode is what was asked for. */
export function reportPermission({ mode, reason }: Permission, log: Logger): void {
  if (mode === 'fifo') return;
  const consequence = isRealTime(mode) ? 'functions are promoted as usual' : consequences[mode];
  log.warn({ event: 'mode', mode, reason, consequence });
}

const consequences: Readonly<Record<string, string>> = {
  eevdf: 'short functions get a higher weight and a short slice instead of SCHED_FIFO, and gain less',
  off: 'all functions run under the fair scheduler',
};

function off(reason: string): Permission {
  return { mode: 'off', reason, daemonRealTime: false };
}

function withoutRealTime(
  libc: Libc,
  config: Pick<SfsdConfig, 'priorities'>,
  reason: string,
  more: Partial<Permission> = {},
): Permission {
  const favour = favourOf(libc, config);
  if (favour === undefined)
    return off(`${reason}. Mode eevdf needs Linux 6.12 for slices, or CAP_SYS_NICE for weights`);
  return { mode: 'eevdf', reason, daemonRealTime: false, favour, ...more };
}

/** Without reset-on-fork, which could not be taken off again without CAP_SYS_NICE. */
function tryOwnPriority(
  libc: Libc,
  priority: number,
  layout: CgroupLayout,
): { readonly result: number; readonly left?: OwnCpuGroup } {
  const result = raiseAndLower(libc, priority);
  if (result !== errnoNotPermitted) return { result };
  const own = OwnCpuGroup.withoutBudget(layout);
  if (own?.leave() !== true) return { result };
  const again = raiseAndLower(libc, priority);
  if (again >= 0) return { result: again, left: own };
  own.comeBack();
  return { result: again };
}

function raiseAndLower(libc: Libc, priority: number): number {
  const before = { policy: libc.schedGetscheduler(0), priority: libc.schedGetpriority(0) };
  const raised = libc.schedSetscheduler(0, schedFifo, priority);
  // A supervisor may have started us real-time, so that we are up on a full host in time.
  if (raised >= 0)
    libc.schedSetscheduler(0, Math.max(before.policy, schedOther), Math.max(before.priority, 0));
  return raised;
}

/** What the kernel lets us give to a task; undefined: nothing. */
function favourOf(libc: Libc, { priorities }: Pick<SfsdConfig, 'priorities'>): Favour | undefined {
  const sliceNs = Math.round(priorities.eevdfSliceMs * nanosPerMs) + sliceMarkNs;
  const words = new Uint32Array(attributeBytes / 4);
  const bytes = new Uint8Array(words.buffer);
  if (libc.schedGetattr(0, bytes) < 0) return undefined;
  const nice = (words[4] ?? 0) | 0;
  words[6] = sliceNs;
  const sliced = libc.schedSetattr(0, bytes) >= 0 && libc.schedGetattr(0, bytes) >= 0 && words[6] === sliceNs;
  const weighed = priorities.eevdfNice < nice && libc.setpriority(0, priorities.eevdfNice) >= 0;
  words[4] = nice;
  words[6] = 0;
  libc.schedSetattr(0, bytes);
  if (!sliced && !weighed) return undefined;
  return { nice: weighed ? priorities.eevdfNice : 0, sliceNs };
}

function ownDenial(result: number, layout: CgroupLayout, facts: ProbeFacts): string {
  if (result !== errnoNotPermitted) return `sched_setscheduler failed with errno ${-result}`;
  if (!facts.hasSysNice) return privilegeAdvice('sched_setscheduler is denied', facts);
  const where =
    layout.tree('cpu')?.version === 1
      ? 'its cpu cgroup has no real-time budget and may not be left: make the v1 cpu tree writable, or give the group a cpu.rt_runtime_us'
      : 'no v1 cpu tree is mounted here, and without one only the root cgroup may be real-time: move sfsd there, or boot a kernel without CONFIG_RT_GROUP_SCHED';
  return `sched_setscheduler is denied although CAP_SYS_NICE is there; ${where}`;
}

function functionsDenial(facts: ProbeFacts): string {
  const fact = 'RLIMIT_RTPRIO lets the daemon be real-time, but not functions, whose limit is 0';
  return privilegeAdvice(fact, facts);
}

function privilegeAdvice(fact: string, facts: ProbeFacts): string {
  if (!facts.isInitialUserNamespace)
    return `${fact}, and this is not the initial user namespace: run sfsd on the host itself`;
  return `${fact}, and CAP_SYS_NICE is missing: run as root, or add AmbientCapabilities=CAP_SYS_NICE to the unit`;
}

function leftReason(home: string): string {
  return `the cpu cgroup ${home} has no real-time budget (CONFIG_RT_GROUP_SCHED), so sfsd and its functions run in the root of the v1 cpu tree, where the cpu limits of that group do not bind them; take sfsd out of it (no CPU accounting in the unit), or set priorities.mode=eevdf to stay in it`;
}
