/**
 * Makes single threads real-time and restores them exactly: policy (SCHED_OTHER, BATCH or IDLE), its reset-on-fork flag, and the
 * fair scheduler's slice, and the CPUs it may run on where it was bound to one. The nice value outlives real-time, so that a change made meanwhile
 * is kept; only a pause sets it, and puts back what it was at the promotion.
 *
 * SCHED_FIFO for a thread that is its group's only one; SCHED_RR where there are several, so that they cannot lock each other out at a
 * barrier. Both with SCHED_RESET_ON_FORK: what is born to a promoted thread starts under the fair scheduler.
 * A thread that is real-time by someone else's hand is left alone.
 *
 * Where real-time is denied a thread is *favoured* instead (mode eevdf): SCHED_OTHER with a short slice, so that it is picked soon after it
 * wakes, and a higher weight where we may give one, so that it keeps its core. Attributes are read first, because sched_setattr sets all at
 * once; without CAP_SYS_NICE reset-on-fork is left out, since it could not be taken off again, and what is born with our slice is told by it.
 *
 * Where a journal is kept, each thread is on it from before the first call that changes it until after the last that restores it, so that
 * the guard can do the same when we cannot. What does not fit is denied.
 */
import { affinityBytes, maskOf } from './cpus.js';
import type { Libc } from './libc.js';
import type { ProcStat } from './proc-stat.js';
import type { PromotionJournal } from './promotion-journal.js';
import type { RtGroup } from './rt-group.js';
import type { TargetRefusals } from './target-refusals.js';
import type { SavedScheduling, TaskHandle } from './task-handle.js';

export const schedFifo = 1;
export const schedRoundRobin = 2;
export const schedResetOnFork = 0x40000000;

const schedIdle = 5;
const schedDeadline = 6;
const attributeFlagResetOnFork = 1;
/** The highest weight that the fair scheduler knows. What is born under it starts at nice 0: SCHED_RESET_ON_FORK. */
const niceAhead = -20;
const attributeWords = 12;
const attributeBytes = 48;
const errnoNoProcess = -3;
const errnoNotPermitted = -1;
/** In place of a real-time policy: ahead under the fair scheduler. */
const favoured = -1;

/** What the threads of one group share about their promotion. */
export interface PromotionScope {
  /** The cpu group that children born inside ours are given back to. */
  cpuGroup: string | undefined;
  /** The core that they are bound to while promoted; undefined: they float. */
  cpu: number | undefined;
  /** Real-time is denied: its threads are favoured. */
  favoured: boolean;
}

export function newScope(): PromotionScope {
  return { cpuGroup: undefined, cpu: undefined, favoured: false };
}

/** What mode eevdf gives. */
export interface Favour {
  /** -20 to 0; 0 where a weight may not be given. A task's own is kept where it is lower. */
  readonly nice: number;
  /** 0.1 to 100 ms; unlike any that a program would choose, so that it is known again. */
  readonly sliceNs: number;
}

export class TaskPromoter {
  readonly #libc: Libc;
  readonly #stat: ProcStat;
  readonly #rtGroup: RtGroup;
  readonly #priority: number;
  readonly #roundRobin: boolean;
  readonly #aheadInPauses: boolean;
  readonly #favour: Favour | undefined;
  readonly #always: boolean;
  readonly #privileged: boolean;
  readonly #journal: PromotionJournal | undefined;
  /** Who is told of what could not be promoted as it should. */
  readonly refusals: TargetRefusals;
  /** struct sched_attr: size, policy, flags (64 bits), nice, priority, runtime (64), deadline (64), period (64). */
  readonly #attributes = new Uint32Array(attributeWords);
  readonly #attributeBytes = new Uint8Array(this.#attributes.buffer);

  constructor(parts: {
    readonly libc: Libc;
    readonly stat: ProcStat;
    readonly rtGroup: RtGroup;
    readonly priority: number;
    /** SCHED_RR always. */
    readonly roundRobin: boolean;
    /** Paused tasks get the highest nice weight: it counts among functions alone. */
    readonly aheadInPauses: boolean;
    /** What to do instead where real-time is denied, or `always`; absent: nothing. */
    readonly favour?: Favour & { readonly always: boolean };
    /** CAP_SYS_NICE. */
    readonly privileged: boolean;
    readonly refusals: TargetRefusals;
    /** Absent: nobody restores what we leave behind. */
    readonly journal?: PromotionJournal;
  }) {
    this.#libc = parts.libc;
    this.#stat = parts.stat;
    this.#rtGroup = parts.rtGroup;
    this.#priority = parts.priority;
    this.#roundRobin = parts.roundRobin;
    this.#aheadInPauses = parts.aheadInPauses;
    this.#favour = parts.favour;
    this.#always = parts.favour?.always === true;
    this.#privileged = parts.privileged;
    this.refusals = parts.refusals;
    this.#journal = parts.journal;
  }

  /** foreign: it is real-time already, and not by us. */
  promote(task: TaskHandle, several: boolean, scope: PromotionScope): 'ok' | 'gone' | 'denied' | 'foreign' {
    if (this.#always || scope.favoured) return this.#promoteFairly(task, scope);
    const policy = (several || this.#roundRobin ? schedRoundRobin : schedFifo) | schedResetOnFork;
    const saved = task.saved ?? this.#look(task.tid);
    if (typeof saved === 'string') return saved;
    if (task.saved !== undefined && task.policy === policy) return 'ok';
    const fresh = task.saved === undefined;
    const paused = !fresh && task.policy <= 0;
    const entered = fresh ? this.#enter(task, saved, scope) : 'ok';
    if (entered !== 'ok') return entered;
    const result = this.#set(task, saved, policy, scope);
    if (result < 0) return this.#refused(task, result);
    if (paused) {
      this.#libc.setpriority(task.tid, saved.nice);
      this.#journal?.setNice(task.journalEntry, false);
    }
    if (scope.cpu !== undefined) saved.affinity ??= this.#bind(task, scope.cpu);
    task.saved = saved;
    task.policy = policy;
    return 'ok';
  }

  #promoteFairly(task: TaskHandle, scope: PromotionScope): 'ok' | 'gone' | 'denied' | 'foreign' {
    const favour = this.#favour;
    if (favour === undefined) return 'denied';
    if (task.saved !== undefined && task.policy === favoured) return 'ok';
    const saved = task.saved ?? this.#look(task.tid);
    if (typeof saved === 'string') return saved;
    const entered = task.saved === undefined ? this.#enter(task, saved, scope) : 'ok';
    if (entered !== 'ok') return entered;
    this.#journal?.setNice(task.journalEntry, true);
    const nice = Math.min(saved.nice, favour.nice);
    const reset = this.#privileged || (saved.policy & schedResetOnFork) !== 0;
    let result = this.#setFair(task.tid, { policy: 0, reset, nice, sliceNs: favour.sliceNs });
    if (result === errnoNotPermitted && nice !== saved.nice)
      result = this.#setFair(task.tid, { policy: 0, reset, nice: saved.nice, sliceNs: favour.sliceNs });
    if (result < 0) return this.#refused(task, result);
    if (scope.cpu !== undefined) saved.affinity ??= this.#bind(task, scope.cpu);
    task.saved = saved;
    task.policy = favoured;
    return 'ok';
  }

  #refused(task: TaskHandle, result: number): 'gone' | 'denied' {
    if (task.saved === undefined) this.forget(task);
    return result === errnoNoProcess ? 'gone' : 'denied';
  }

  /** Until `promote` or `demote`. Leaves alone what is real-time by someone else's hand. */
  pause(task: TaskHandle): void {
    // What is favoured is no part of the real-time class, so a gap has nothing to ask of it.
    if (task.saved !== undefined && task.policy <= 0) return;
    const saved = task.saved ?? this.#look(task.tid);
    if (typeof saved === 'string') return;
    if (task.saved === undefined && this.#enter(task, saved, undefined) !== 'ok') return;
    this.#journal?.setNice(task.journalEntry, true);
    task.saved = saved;
    task.policy = 0;
    const policy = saved.policy & ~schedResetOnFork;
    const nice = this.#aheadInPauses ? niceAhead : saved.nice;
    if (this.#setFair(task.tid, { policy, reset: true, nice, sliceNs: 0 }) >= 0) return;
    // Without CAP_SYS_NICE a nice value cannot be lowered; the policy can.
    this.#libc.schedSetscheduler(task.tid, saved.policy | schedResetOnFork, 0);
  }

  #setFair(
    tid: number,
    to: {
      readonly policy: number;
      readonly reset: boolean;
      readonly nice: number;
      /** 0: the kernel's default. */
      readonly sliceNs: number;
    },
  ): number {
    this.#attributes.fill(0);
    this.#attributes[0] = attributeBytes;
    this.#attributes[1] = to.policy;
    this.#attributes[2] = to.reset ? attributeFlagResetOnFork : 0;
    this.#attributes[4] = to.nice;
    this.#attributes[6] = to.sliceNs;
    return this.#libc.schedSetattr(tid, this.#attributeBytes);
  }

  /** What the thread is now. */
  #look(tid: number): SavedScheduling | 'gone' | 'denied' | 'foreign' {
    const answer = this.#libc.schedGetattr(tid, this.#attributeBytes);
    if (answer < 0) return answer === errnoNoProcess ? 'gone' : 'denied';
    const [, policy = 0, flags = 0, , nice = 0, , runtimeLow = 0, runtimeHigh = 0] = this.#attributes;
    if (policy === schedFifo || policy === schedRoundRobin || policy === schedDeadline) return 'foreign';
    const runtimeNs = runtimeHigh * 2 ** 32 + runtimeLow;
    return {
      policy: policy | ((flags & attributeFlagResetOnFork) === 0 ? 0 : schedResetOnFork),
      nice: nice | 0,
      // Born to a favoured thread: the slice is ours.
      runtimeNs: runtimeNs === this.#favour?.sliceNs ? 0 : runtimeNs,
      affinity: undefined,
      cpuGroup: undefined,
    };
  }

  /** Does nothing for a thread that we did not promote, or that has ended. */
  demote(task: TaskHandle): void {
    const saved = task.saved;
    if (saved === undefined) return;
    task.saved = undefined;
    const niceChanged = task.policy <= 0;
    if (this.#stat.read(this.#libc, task.statFd) !== 'gone') this.#restore(task, saved, niceChanged);
    this.forget(task);
  }

  /** Takes it off the journal: it is what it was, or has ended. */
  forget(task: TaskHandle): void {
    if (task.journalEntry < 0) return;
    this.#journal?.leave(task.journalEntry);
    task.journalEntry = -1;
  }

  #restore(task: TaskHandle, saved: SavedScheduling, niceChanged: boolean): void {
    // The kernel leaves the slice of a task alone that becomes SCHED_IDLE, so it has to be its own by then.
    if (task.policy === favoured && (saved.policy & ~schedResetOnFork) === schedIdle) {
      this.#returnToFair(task.tid, saved.policy & schedResetOnFork);
      this.#restoreSlice(task.tid, saved.runtimeNs);
    }
    if (!this.#returnToFair(task.tid, saved.policy)) return;
    if (niceChanged) this.#libc.setpriority(task.tid, saved.nice);
    this.#restoreSlice(task.tid, saved.runtimeNs);
    if (saved.affinity !== undefined) this.#libc.schedSetaffinity(task.tid, saved.affinity);
    if (saved.cpuGroup !== undefined) this.#rtGroup.giveBack(task.tid, saved.cpuGroup);
  }

  #returnToFair(tid: number, policy: number): boolean {
    const result = this.#libc.schedSetscheduler(tid, policy, 0);
    if (result !== errnoNotPermitted) return result >= 0;
    // Without CAP_SYS_NICE, lost meanwhile, the flag cannot be taken off; the policy can.
    return this.#libc.schedSetscheduler(tid, policy | schedResetOnFork, 0) >= 0;
  }

  /** A thread born inside our cpu group goes where its parent came from. */
  sendHome(tid: number, scope: PromotionScope): void {
    if (scope.cpuGroup !== undefined && this.#rtGroup.holds(tid)) this.#rtGroup.giveBack(tid, scope.cpuGroup);
  }

  /** denied: the journal is full. */
  #enter(
    task: TaskHandle,
    saved: SavedScheduling,
    scope: PromotionScope | undefined,
  ): 'ok' | 'gone' | 'denied' {
    const journal = this.#journal;
    if (journal === undefined) return 'ok';
    if (task.startTicks < 0) {
      if (this.#stat.read(this.#libc, task.statFd) === 'gone') return 'gone';
      task.startTicks = this.#stat.startTicks;
    }
    task.journalEntry = journal.enter(task, saved);
    if (task.journalEntry < 0) return 'denied';
    const home = scope?.cpuGroup;
    if (home === undefined || journal.setHome(task.journalEntry, home)) return 'ok';
    this.forget(task);
    return 'denied';
  }

  #set(task: TaskHandle, saved: SavedScheduling, policy: number, scope: PromotionScope): number {
    const { tid } = task;
    const result = this.#libc.schedSetscheduler(tid, policy, this.#priority);
    if (result !== errnoNotPermitted) {
      // Born inside our group: it goes where its parent came from.
      if (result >= 0 && scope.cpuGroup !== undefined && this.#rtGroup.holds(tid))
        saved.cpuGroup ??= scope.cpuGroup;
      return result;
    }
    const home = this.#rtGroup.homeOf(tid);
    if (home === undefined || this.#journal?.setHome(task.journalEntry, home) === false) return result;
    saved.cpuGroup = home;
    const again = this.#rtGroup.take(tid)
      ? this.#libc.schedSetscheduler(tid, policy, this.#priority)
      : result;
    if (again < 0) {
      this.#rtGroup.giveBack(tid, home);
      saved.cpuGroup = undefined;
      return again;
    }
    if (scope.cpuGroup === undefined) this.refusals.movedToGroup();
    scope.cpuGroup ??= home;
    return again;
  }

  /** What it may run on otherwise; undefined when it was left to float: its cpuset does not hold that core, or it has ended. */
  #bind({ tid, journalEntry }: TaskHandle, cpu: number): Uint8Array | undefined {
    const before = new Uint8Array(affinityBytes);
    if (this.#libc.schedGetaffinity(tid, before) < 0) return undefined;
    if (this.#journal?.setBound(journalEntry, before) === false) return undefined;
    return this.#libc.schedSetaffinity(tid, maskOf(cpu)) < 0 ? undefined : before;
  }

  /** sched_setscheduler sets the fair scheduler's slice to its default; one chosen with sched_setattr is put back. */
  #restoreSlice(tid: number, runtimeNs: number): void {
    if (this.#libc.schedGetattr(tid, this.#attributeBytes) < 0) return;
    const now = (this.#attributes[7] ?? 0) * 2 ** 32 + (this.#attributes[6] ?? 0);
    if (now === runtimeNs) return;
    this.#attributes[6] = runtimeNs % 2 ** 32;
    this.#attributes[7] = Math.floor(runtimeNs / 2 ** 32);
    this.#libc.schedSetattr(tid, this.#attributeBytes);
  }
}
