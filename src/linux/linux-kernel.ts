/**
 * The Kernel port on the real machine.
 *
 *   attach    hold the process by pidfd and start time; its end is reported under the invocation's key through the Poller
 *   promote   SCHED_FIFO (SCHED_RR if there are several tasks), reset on fork, for every task found; contracts/modes.ts says what else
 *   observe   CPU clock first, states only when it stands still (process-set.ts)
 *   demote    each task becomes what it was
 *   release   demote, and close all that is kept
 *
 * A `process` group ends with its own process; children that it leaves behind are demoted at release, and not ended. A `threads` group
 * ends with its process, or is observed 'gone' once all its threads are. A `cgroup` group has no one process: its end is observed.
 *
 * A process attached on its own is never part of another group, though a parent or a cgroup of its be attached as well.
 */

import { readFileSync } from 'node:fs';
import type { InvocationKey } from '../contracts/invocation.js';
import type { Kernel, Observation } from '../contracts/kernel.js';
import { isRealTime, type PermissionMode } from '../contracts/modes.js';
import type { TaskGroup } from '../contracts/task-group.js';
import { type Duration, duration, noTime } from '../contracts/time.js';
import { CgroupLayout } from './cgroup-layout.js';
import { ClockReader, clockMonotonic, processClock } from './clock-reader.js';
import { openIdentity, procIsOurs } from './identity.js';
import type { Libc } from './libc.js';
import { MemberProcess } from './member-process.js';
import { CgroupProcesses, childrenBuffer, Descendants } from './memberships.js';
import type { Poller } from './poller.js';
import { hasSysNice } from './privilege.js';
import { ProcStat } from './proc-stat.js';
import { ProcessSet } from './process-set.js';
import type { PromotionJournal } from './promotion-journal.js';
import { RtGroup } from './rt-group.js';
import { type CountTarget, TargetRefusals } from './target-refusals.js';
import { type Favour, TaskPromoter } from './task-promoter.js';
import { ThreadSet } from './thread-set.js';
import { tickLength } from './tick-length.js';
import type { TrackedTasks, TrackingTools } from './tracked-tasks.js';

/** Tokens from here on, up to 2^32, are this kernel's; the rest of the thread's Poller is free to use those below. */
export const exitTokenBase = 0x8000_0000;

/** A token is the base, 11 bits of generation, and 20 bits of slot: an event of a slot's former holder is told apart. */
const slotBits = 20;
export const attachedMax = 2 ** slotBits;
const generations = 2 ** 11;

interface Attached {
  group: TaskGroup;
  readonly name: string;
  key: InvocationKey;
  readonly tasks: TrackedTasks;
  readonly pid: number;
  /** Below 0: none, or not in the Poller any more. */
  pidfd: number;
  readonly slot: number;
}

/** Real-time work of ours, or for us, outside this process. */
export interface LaunchAccount {
  /** Its CPU time is read here; 0: there is none. */
  spawnerPid(): number;
  /** CPU time that newborn functions have used before they were lowered. */
  births(): Duration;
  /** How many cores' worth of CPU time protected processes use; absent or 0: there are none. */
  protectedCores?(): number;
}

export interface LinuxKernelOptions {
  readonly libc: Libc;
  readonly poller: Poller;
  readonly layout?: CgroupLayout;
  /** Real-time priority of promoted tasks. */
  readonly priority?: number;
  /** SCHED_RR for every promoted task, not for those of several threads alone. */
  readonly roundRobin?: boolean;
  /** off: every promotion is denied, and everything stays under the fair scheduler. */
  readonly mode?: PermissionMode;
  /** What a target gets in mode eevdf, and where real-time is denied for it; absent: nothing. */
  readonly favour?: Favour;
  /** FILTER's share of a core's time. */
  readonly filterShare?: number;
  readonly countTarget?: CountTarget;
  readonly rtGroupName?: string;
  /** Launches: real-time work of ours outside this process. */
  readonly launches?: LaunchAccount;
  /** Where each promoted task is written down for the guard. */
  readonly journal?: PromotionJournal;
  /** The core of each FILTER worker, for promotions that name one; absent: everything floats. */
  readonly cpuOfWorker?: (worker: number) => number | undefined;
}

/** Whether a nice value counts among functions alone: where autogroup is on, a session is one party to the fair scheduler. */
function niceIsWithinSession(): boolean {
  try {
    return readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'utf8').trim() === '1';
  } catch {
    return false;
  }
}

export class LinuxKernel implements Kernel {
  readonly observationLagMax: Duration;
  readonly #libc: Libc;
  readonly #poller: Poller;
  readonly #layout: CgroupLayout;
  readonly #mode: PermissionMode;
  readonly #cpuOfWorker: LinuxKernelOptions['cpuOfWorker'];
  readonly #rtGroup: RtGroup;
  readonly #tools: TrackingTools;
  readonly #launches: LaunchAccount | undefined;
  /** CPU time counted for protected processes, and until when; 0: there were none. */
  #protectedUs = 0;
  #protectedSince = 0;
  readonly #children = childrenBuffer();
  readonly #procIsOurs = procIsOurs();
  /** The caller's own group objects, so that a poll looks up without building a name. */
  readonly #byObject = new Map<TaskGroup, Attached>();
  readonly #byName = new Map<string, Attached>();
  readonly #processPids = new Map<number, Attached>();
  readonly #slots: (Attached | undefined)[] = [];
  readonly #slotGenerations: number[] = [];
  readonly #freeSlots: number[] = [];
  readonly #observation: Observation = { state: 'gone', cpuTime: noTime, runnableMax: 0 };

  constructor(options: LinuxKernelOptions) {
    this.#libc = options.libc;
    this.#poller = options.poller;
    this.#layout = options.layout ?? CgroupLayout.detect();
    this.#mode = options.mode ?? 'fifo';
    this.#cpuOfWorker = options.cpuOfWorker;
    this.#launches = options.launches;
    this.#rtGroup = new RtGroup(this.#layout, {
      libc: options.libc,
      ...(options.rtGroupName === undefined ? {} : { name: options.rtGroupName }),
      ...(options.filterShare === undefined ? {} : { filterShare: options.filterShare }),
    });
    this.observationLagMax = tickLength();
    const stat = new ProcStat();
    this.#tools = {
      libc: options.libc,
      reader: new ClockReader(options.libc),
      stat,
      promoter: this.#promoter(options, stat),
      isAttached: (pid) => this.#processPids.has(pid),
      owners: new Map(),
    };
  }

  #promoter(options: LinuxKernelOptions, stat: ProcStat): TaskPromoter {
    const { libc, favour, journal, countTarget = () => {} } = options;
    const privileged = hasSysNice();
    return new TaskPromoter({
      libc,
      stat,
      rtGroup: this.#rtGroup,
      priority: options.priority ?? 5,
      roundRobin: options.roundRobin ?? false,
      aheadInPauses: niceIsWithinSession(),
      ...(favour === undefined ? {} : { favour: { ...favour, always: !isRealTime(this.#mode) } }),
      privileged,
      refusals: new TargetRefusals({
        privileged,
        mayFavour: favour !== undefined && isRealTime(this.#mode),
        count: countTarget,
      }),
      ...(journal === undefined ? {} : { journal }),
    });
  }

  attach(group: TaskGroup, key: InvocationKey): 'ok' | 'gone' | 'denied' {
    const name = nameOf(group);
    const known = this.#byName.get(name);
    if (known !== undefined) return this.#rebind(known, group, key);
    if (!this.#procIsOurs) return 'denied';
    if (this.#freeSlots.length === 0 && this.#slots.length >= attachedMax) return 'denied';
    return group.kind === 'cgroup'
      ? this.#attachCgroup(group, name, key)
      : this.#attachProcess(group, name, key);
  }

  promote(group: TaskGroup, worker?: number): 'ok' | 'gone' | 'denied' {
    const attached = this.#find(group);
    if (attached === undefined) return 'gone';
    if (this.#mode === 'off') return 'denied';
    attached.tasks.scope.cpu = worker === undefined ? undefined : this.#cpuOfWorker?.(worker);
    return attached.tasks.promote();
  }

  pause(group: TaskGroup): 'ok' | 'gone' {
    // Without real-time tasks there is nothing to step down from.
    if (!isRealTime(this.#mode)) return 'ok';
    return this.#find(group)?.tasks.pause() ?? 'gone';
  }

  demote(group: TaskGroup): 'ok' | 'gone' {
    return this.#find(group)?.tasks.demote() ?? 'gone';
  }

  observe(group: TaskGroup): Readonly<Observation> {
    const attached = this.#find(group);
    const observation = this.#observation;
    if (attached !== undefined) attached.tasks.observe(observation);
    else {
      observation.state = 'gone';
      observation.cpuTime = noTime;
      observation.runnableMax = 0;
    }
    return observation;
  }

  overhead(): Duration {
    const { reader } = this.#tools;
    const launches = this.#launches;
    const spawnerPid = launches?.spawnerPid() ?? 0;
    const spawner = spawnerPid > 0 ? Math.max(0, reader.microseconds(processClock(spawnerPid))) : 0;
    const own = reader.microseconds(processClock(process.pid));
    return duration(own + spawner + (launches?.births() ?? 0) + this.#protectedTime());
  }

  /** Told as a rate, because reading the clocks of all protected processes takes longer than a promotion. */
  #protectedTime(): number {
    const cores = this.#launches?.protectedCores?.() ?? 0;
    if (cores === 0) {
      this.#protectedSince = 0;
      return this.#protectedUs;
    }
    const now = this.#tools.reader.microseconds(clockMonotonic);
    if (this.#protectedSince > 0) this.#protectedUs += (now - this.#protectedSince) * cores;
    this.#protectedSince = now;
    return this.#protectedUs;
  }

  release(group: TaskGroup): void {
    const attached = this.#find(group);
    if (attached === undefined) return;
    attached.tasks.close();
    this.#stopWatching(attached);
    this.#byObject.delete(attached.group);
    this.#byName.delete(attached.name);
    if (this.#processPids.get(attached.pid) === attached) this.#processPids.delete(attached.pid);
    this.#slots[attached.slot] = undefined;
    this.#slotGenerations[attached.slot] = ((this.#slotGenerations[attached.slot] ?? 0) + 1) % generations;
    this.#freeSlots.push(attached.slot);
  }

  /**
   * For a token of the Poller: the invocation whose process has ended, once. Undefined: not ours, or of a group released meanwhile.
   */
  takeExit(token: number): InvocationKey | undefined {
    if (token < exitTokenBase) return undefined;
    const slot = (token - exitTokenBase) % attachedMax;
    const attached = this.#slots[slot];
    if (attached === undefined || this.#token(slot) !== token || attached.pidfd < 0) return undefined;
    this.#stopWatching(attached);
    attached.tasks.markEnded();
    return attached.key;
  }

  /** Releases every group, and gives back what was made on the host. */
  close(): void {
    for (const attached of [...this.#byName.values()]) this.release(attached.group);
    this.#rtGroup.close();
  }

  #attachProcess(
    group: Exclude<TaskGroup, { kind: 'cgroup' }>,
    name: string,
    key: InvocationKey,
  ): 'ok' | 'gone' | 'denied' {
    const { pid } = group;
    const identity = openIdentity(this.#libc, pid, group.startTime);
    if (identity === 'denied') this.#tools.promoter.refusals.hidden();
    if (typeof identity === 'string') return identity;
    if (group.kind === 'process') this.#tools.owners.get(pid)?.evict(pid);
    const tasks =
      group.kind === 'process'
        ? this.#openTree(pid, identity.statFd)
        : this.#openThreads(pid, group.tids, identity.statFd);
    if (tasks === 'gone') {
      // A living process that cannot be opened: we are out of descriptors.
      const lives = group.kind === 'process' && this.#libc.pidfdSendSignal(identity.pidfd, 0) === 0;
      this.#libc.close(identity.pidfd);
      return lives ? 'denied' : 'gone';
    }
    const attached = this.#register({ group, name, key, tasks, pid, pidfd: identity.pidfd });
    if (group.kind === 'process') this.#processPids.set(pid, attached);
    this.#poller.add(identity.pidfd, this.#token(attached.slot));
    return 'ok';
  }

  #attachCgroup(
    group: Extract<TaskGroup, { kind: 'cgroup' }>,
    name: string,
    key: InvocationKey,
  ): 'ok' | 'gone' | 'denied' {
    const membership = CgroupProcesses.open(this.#tools, this.#layout, group.path);
    if (typeof membership === 'string') return membership;
    const tasks = new ProcessSet(this.#tools, membership, undefined);
    if (tasks.isEmpty) {
      tasks.close();
      return 'gone';
    }
    this.#register({ group, name, key, tasks, pid: 0, pidfd: -1 });
    return 'ok';
  }

  /** Takes `statFd` over, as `#openThreads` does. */
  #openTree(pid: number, statFd: number): ProcessSet | 'gone' {
    const leader = MemberProcess.adopt(this.#tools, pid, statFd);
    if (leader === undefined) return 'gone';
    return new ProcessSet(this.#tools, new Descendants(this.#tools, this.#children), leader);
  }

  #openThreads(pid: number, tids: readonly number[], statFd: number): ThreadSet | 'gone' {
    this.#libc.close(statFd);
    return ThreadSet.open(this.#tools, pid, tids);
  }

  #rebind(known: Attached, group: TaskGroup, key: InvocationKey): 'ok' | 'gone' {
    known.tasks.observe(this.#observation);
    if (this.#observation.state === 'gone') return 'gone';
    this.#byObject.delete(known.group);
    this.#byObject.set(group, known);
    known.group = group;
    known.key = key;
    known.tasks.restartClock();
    return 'ok';
  }

  #register(parts: Omit<Attached, 'slot'>): Attached {
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const attached: Attached = { ...parts, slot };
    this.#slots[slot] = attached;
    this.#byObject.set(parts.group, attached);
    this.#byName.set(parts.name, attached);
    return attached;
  }

  #token(slot: number): number {
    return exitTokenBase + (this.#slotGenerations[slot] ?? 0) * attachedMax + slot;
  }

  #stopWatching(attached: Attached): void {
    if (attached.pidfd < 0) return;
    this.#poller.remove(attached.pidfd);
    this.#libc.close(attached.pidfd);
    attached.pidfd = -1;
  }

  #find(group: TaskGroup): Attached | undefined {
    return this.#byObject.get(group) ?? this.#byName.get(nameOf(group));
  }
}

function nameOf(group: TaskGroup): string {
  switch (group.kind) {
    case 'process':
      return `p ${group.pid} ${group.startTime}`;
    case 'threads':
      return `t ${group.pid} ${group.startTime} ${group.tids.join()}`;
    case 'cgroup':
      return `c ${group.path}`;
  }
}
