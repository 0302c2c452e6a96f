/**
 * One thread that we may promote, held by a kept fd on its stat file: the fd gives ESRCH once this very thread has ended, so its
 * number is never used for another.
 */
import type { Libc } from './libc.js';

/** What a thread was before we promoted or paused it. */
export interface SavedScheduling {
  /** With SCHED_RESET_ON_FORK if it carried that. */
  readonly policy: number;
  readonly nice: number;
  /** The fair scheduler's slice for it, in nanoseconds. */
  readonly runtimeNs: number;
  /** The CPUs that it may run on, where it was bound to one. */
  affinity: Uint8Array | undefined;
  /** The cpu group that it was moved out of for its promotion. */
  cpuGroup: string | undefined;
}

export class TaskHandle {
  readonly pid: number;
  readonly tid: number;
  readonly statFd: number;
  /** Of /proc/PID/task/TID/children; opened when first needed. */
  childrenFd = -1;
  /** Of /proc/PID/task/TID/schedstat; for groups of named threads only. */
  schedstatFd = -1;
  cpuNs = 0;
  /** Page faults as last seen asleep. */
  faults = 0;
  /** Present exactly while the thread is promoted or paused by us. */
  saved: SavedScheduling | undefined;
  /** The real-time policy last given to it; 0 while it is paused, `favoured` (-1) while it is ahead under the fair scheduler. */
  policy = 0;
  /** Clock ticks since boot; below 0: not read yet. */
  startTicks = -1;
  /** Of the journal of promoted tasks: present exactly while `saved` is, where a journal is kept. */
  journalEntry = -1;

  private constructor(pid: number, tid: number, statFd: number) {
    this.pid = pid;
    this.tid = tid;
    this.statFd = statFd;
  }

  /** undefined: it has ended, or we are out of descriptors. */
  static open(libc: Libc, pid: number, tid: number): TaskHandle | undefined {
    const statFd = libc.open(`/proc/${pid}/task/${tid}/stat`, 0);
    return statFd < 0 ? undefined : new TaskHandle(pid, tid, statFd);
  }

  /** Takes the fd of the thread's stat file over. */
  static of(pid: number, tid: number, statFd: number): TaskHandle {
    return new TaskHandle(pid, tid, statFd);
  }

  /** Its entry in the journal must be free: TaskPromoter.forget. */
  close(libc: Libc): void {
    libc.close(this.statFd);
    if (this.childrenFd >= 0) libc.close(this.childrenFd);
    if (this.schedstatFd >= 0) libc.close(this.schedstatFd);
  }
}
