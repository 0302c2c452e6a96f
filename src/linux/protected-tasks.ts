/**
 * Processes held at a real-time priority above FILTER, so that what serves functions does not starve beside them. All threads, later ones
 * from the next look on; each becomes what it was (policy, nice, slice, cpu cgroup) when it is let go of.
 *
 *   look   1. startLook   2. keep(pid) for all that fit   3. endLook: whoever was not kept is let go of
 *
 * What is real-time already is left alone: it is promoted by us, and so a function's, or someone else has seen to it. Reset-on-fork as
 * everywhere: what a protected process starts is under the fair scheduler, and where it was born inside our cpu cgroup it is sent home.
 *
 * It runs on the control plane and never on the scheduling thread.
 */

import type { CgroupLayout } from './cgroup-layout.js';
import { ClockReader } from './clock-reader.js';
import { openIdentity } from './identity.js';
import type { Libc } from './libc.js';
import { MemberProcess } from './member-process.js';
import { hasSysNice } from './privilege.js';
import { ProcStat } from './proc-stat.js';
import type { PromotionJournal } from './promotion-journal.js';
import { RtGroup } from './rt-group.js';
import { TargetRefusals } from './target-refusals.js';
import { newScope, type PromotionScope, TaskPromoter } from './task-promoter.js';
import type { TrackingTools } from './tracked-tasks.js';

export const protectedProcessesMax = 256;
export const protectedThreadsMax = 4096;
/** How far up a parentage is followed. */
const ancestorsMax = 32;

interface Protected {
  readonly process: MemberProcess;
  readonly scope: PromotionScope;
  seenInLook: number;
}

export interface ProtectedTasksOptions {
  readonly libc: Libc;
  readonly layout: CgroupLayout;
  readonly priority: number;
  /** FILTER's share of a core's time: the cpu cgroup is the same. */
  readonly filterShare: number;
  readonly rtGroupName?: string;
  readonly journal?: PromotionJournal;
}

export class ProtectedTasks {
  readonly #libc: Libc;
  readonly #rtGroup: RtGroup;
  readonly #tools: TrackingTools;
  readonly #kept = new Map<number, Protected>();
  #threads = 0;
  #look = 0;
  #usedNs = 0;

  constructor({ libc, layout, priority, filterShare, rtGroupName, journal }: ProtectedTasksOptions) {
    this.#libc = libc;
    this.#rtGroup = new RtGroup(layout, {
      libc,
      filterShare,
      ...(rtGroupName === undefined ? {} : { name: rtGroupName }),
    });
    const stat = new ProcStat();
    const privileged = hasSysNice();
    const promoter = new TaskPromoter({
      libc,
      stat,
      rtGroup: this.#rtGroup,
      priority,
      roundRobin: false,
      aheadInPauses: false,
      privileged,
      refusals: new TargetRefusals({ privileged, mayFavour: false, count: () => {} }),
      ...(journal === undefined ? {} : { journal }),
    });
    this.#tools = {
      libc,
      reader: new ClockReader(libc),
      stat,
      promoter,
      isAttached: () => false,
      owners: new Map(),
    };
  }

  get processes(): number {
    return this.#kept.size;
  }

  /** Held at our priority. */
  get threads(): number {
    return this.#threads;
  }

  /** CPU time of all kept processes since each was kept, in microseconds; read by `endLook`. */
  get usedUs(): number {
    return Math.floor(this.#usedNs / 1000);
  }

  holds(pid: number): boolean {
    return this.#kept.has(pid);
  }

  startLook(): void {
    this.#look++;
    this.#threads = 0;
  }

  /** full: a bound is reached. refused: it must not be touched, or has ended. foreign: it is real-time already. */
  keep(pid: number): 'ok' | 'full' | 'refused' | 'foreign' | 'denied' {
    const known = this.#kept.get(pid);
    const entry = known ?? this.#open(pid);
    if (typeof entry === 'string') return entry;
    if (entry.process.refreshTasks() === 'gone') {
      this.#letGo(pid, entry);
      return 'refused';
    }
    const result = this.#raise(entry);
    if (result === 'ok') entry.seenInLook = this.#look;
    else this.#letGo(pid, entry);
    return result;
  }

  endLook(): void {
    for (const [pid, entry] of this.#kept) {
      if (entry.seenInLook !== this.#look) {
        this.#letGo(pid, entry);
        continue;
      }
      const before = entry.process.cpuNs;
      if (entry.process.readClock() === 'advanced') this.#usedNs += entry.process.cpuNs - before;
    }
    for (const tid of this.#rtGroup.strays()) this.#sendHome(tid);
  }

  /** What a guard has demoted meanwhile is kept anew in the next look. */
  letAllGo(): void {
    for (const [pid, entry] of this.#kept) this.#letGo(pid, entry);
  }

  /** Everybody becomes what it was. */
  close(): void {
    for (const tid of this.#rtGroup.strays()) this.#sendHome(tid);
    this.letAllGo();
    this.#threads = 0;
    this.#rtGroup.close();
  }

  /** Whether the process is one of `ancestors` or descends from one. */
  descendsFrom(pid: number, ancestors: ReadonlySet<number>): boolean {
    let current = pid;
    for (let step = 0; step < ancestorsMax && current > 1; step++) {
      if (ancestors.has(current)) return true;
      current = this.#parentOf(current);
    }
    return false;
  }

  #open(pid: number): Protected | 'full' | 'refused' {
    if (this.#kept.size >= protectedProcessesMax) return 'full';
    // Pid 1, kernel threads and this daemon are refused there.
    const identity = openIdentity(this.#libc, pid);
    if (typeof identity === 'string') return 'refused';
    this.#libc.close(identity.pidfd);
    const process = MemberProcess.adopt(this.#tools, pid, identity.statFd);
    if (process === undefined) return 'refused';
    // What it used before is nobody's.
    process.readClock();
    const entry: Protected = { process, scope: newScope(), seenInLook: 0 };
    this.#kept.set(pid, entry);
    return entry;
  }

  #raise({ process, scope }: Protected): 'ok' | 'full' | 'foreign' | 'denied' {
    const several = process.tasks.length > 1;
    if (this.#threads + process.tasks.length > protectedThreadsMax) return 'full';
    for (const task of process.tasks) {
      const result = this.#tools.promoter.promote(task, several, scope);
      if (result === 'denied') return 'denied';
      if (result === 'foreign' && task.tid === process.pid) return 'foreign';
      if (result === 'ok') this.#threads++;
    }
    return 'ok';
  }

  #letGo(pid: number, { process }: Protected): void {
    for (const task of process.tasks) this.#tools.promoter.demote(task);
    process.close();
    this.#kept.delete(pid);
  }

  /** Born to a protected process inside our cpu cgroup: it goes where that came from. Others' children are not ours to move. */
  #sendHome(tid: number): void {
    let current = tid;
    for (let step = 0; step < ancestorsMax && current > 1; step++) {
      const home = this.#kept.get(current)?.scope.cpuGroup;
      if (home !== undefined) {
        this.#rtGroup.giveBack(tid, home);
        return;
      }
      current = this.#parentOf(current);
    }
  }

  /** Of a process, or the process of a thread; 0: it has ended. */
  #parentOf(tid: number): number {
    const fd = this.#libc.open(`/proc/${tid}/stat`, 0);
    if (fd < 0) return 0;
    const { stat } = this.#tools;
    const parent = stat.read(this.#libc, fd) === 'ok' ? stat.parent : 0;
    this.#libc.close(fd);
    return parent;
  }
}
