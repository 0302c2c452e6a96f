/**
 * One process of a group: its CPU clock, and its threads as they come and go.
 *
 * Whether it has new threads is seen in the hard-link count of its kept /proc/PID/task directory (2 + threads): one call instead of
 * a walk. The count of 2 says that the process is gone, also when its number has been reused meanwhile, which the clock cannot say.
 */
import { readdirSync } from 'node:fs';
import { processClock } from './clock-reader.js';
import { TaskHandle } from './task-handle.js';
import type { TrackingTools } from './tracked-tasks.js';

/** Threads tracked of one process; further ones stay under the fair scheduler. */
const threadsMax = 4096;
/** Walks of /proc/PID/task until two agree. */
const walksMax = 6;
/** A thread that ends while another is born leaves the link count as it was: every so often the walk is made regardless. */
const unchangedWalksMax = 16;

const openDirectoryPath = 0o10000000 | 0o200000;
const linksOfEmpty = 2;

export class MemberProcess {
  readonly pid: number;
  /** Living threads, the leader first while it lives. */
  tasks: TaskHandle[] = [];
  /** CPU time as last seen. */
  cpuNs = 0;
  /** The walk over the group in which it was last found. */
  seenInWalk = 0;
  /** Set by `scan` when a sleeping thread has touched new memory since the last: it has run, and maybe forked, for forking does. */
  hasFaulted = false;
  readonly #tools: TrackingTools;
  readonly #directoryFd: number;
  #links = -1;
  #unchanged = 0;
  /** Where the last runnable thread stood: it is asked first. */
  #hint = 0;

  private constructor(tools: TrackingTools, pid: number, directoryFd: number) {
    this.#tools = tools;
    this.pid = pid;
    this.#directoryFd = directoryFd;
  }

  /** undefined: it has ended. `parent` above 0: it must still be that process's child. */
  static open(tools: TrackingTools, pid: number, parent: number): MemberProcess | undefined {
    const leader = TaskHandle.open(tools.libc, pid, pid);
    return leader === undefined ? undefined : MemberProcess.#of(tools, leader, parent);
  }

  /** A process whose leading thread is held already, by an fd of its stat file, which is taken over. undefined: it has ended. */
  static adopt(tools: TrackingTools, pid: number, statFd: number): MemberProcess | undefined {
    return MemberProcess.#of(tools, TaskHandle.of(pid, pid, statFd), 0);
  }

  static #of(tools: TrackingTools, leader: TaskHandle, parent: number): MemberProcess | undefined {
    const { libc, stat } = tools;
    const directoryFd = libc.open(`/proc/${leader.pid}/task`, openDirectoryPath);
    // Read after the directory was opened by name: while the thread held lives, the two speak of the same process.
    const there = directoryFd >= 0 && stat.read(libc, leader.statFd) === 'ok' && !stat.ended;
    if (!there || (parent > 0 && stat.parent !== parent)) {
      leader.close(libc);
      if (directoryFd >= 0) libc.close(directoryFd);
      return undefined;
    }
    const member = new MemberProcess(tools, leader.pid, directoryFd);
    member.tasks.push(leader);
    return member;
  }

  /** gone: reaped. Advances `cpuNs`. */
  readClock(): 'advanced' | 'still' | 'gone' {
    const ns = this.#tools.reader.nanoseconds(processClock(this.pid));
    if (ns < 0) return 'gone';
    if (ns === this.cpuNs) return 'still';
    // A clock that went back is another process's.
    if (ns < this.cpuNs) return 'gone';
    this.cpuNs = ns;
    return 'advanced';
  }

  /** Follows births and ends of threads. changed: there are tasks that were not there before. */
  refreshTasks(): 'changed' | 'same' | 'gone' {
    const links = this.#tools.libc.linkCount(this.#directoryFd);
    if (links <= linksOfEmpty) return 'gone';
    const single = links === linksOfEmpty + 1 && this.tasks.length === 1;
    if (links === this.#links && (single || this.#unchanged < unchangedWalksMax)) {
      this.#unchanged++;
      return 'same';
    }
    this.#links = links;
    this.#unchanged = 0;
    if (single) return 'same';
    const tids = walkTasks(this.pid);
    // The directory is read by name: only while the kept one lives do the two speak of the same process.
    if (this.#tools.libc.linkCount(this.#directoryFd) <= linksOfEmpty) return 'gone';
    return this.#adopt(tids) ? 'changed' : 'same';
  }

  /** No thread of it lives: it is a zombie, or reaped. */
  hasEnded(): boolean {
    const { libc, stat } = this.#tools;
    const leader = this.tasks[0];
    if (leader !== undefined && stat.read(libc, leader.statFd) === 'ok') return stat.ended;
    return libc.linkCount(this.#directoryFd) <= linksOfEmpty;
  }

  /** It runs, is still one thread, and has touched no new memory since the last look: so it has forked nobody but by vfork. */
  runsOnAlone(): boolean {
    const { libc, stat } = this.#tools;
    const [leader] = this.tasks;
    if (leader === undefined || stat.read(libc, leader.statFd) === 'gone') return false;
    if (!stat.isRunnable || stat.threads !== 1) return false;
    const faults = stat.minorFaults;
    if (faults === leader.faults) return true;
    leader.faults = faults;
    return false;
  }

  /** Whether any thread is on a CPU or waits for one. gone: the process has ended. */
  scan(): 'runnable' | 'blocked' | 'gone' {
    const { libc, stat } = this.#tools;
    const count = this.tasks.length;
    let living = 0;
    for (let step = 0; step < count; step++) {
      const index = (this.#hint + step) % count;
      const task = this.tasks[index];
      if (task === undefined || stat.read(libc, task.statFd) === 'gone') continue;
      if (stat.isRunnable) {
        this.#hint = index;
        return 'runnable';
      }
      if (!stat.hasEnded) living++;
      const faults = stat.minorFaults;
      if (faults === task.faults) continue;
      task.faults = faults;
      this.hasFaulted = true;
    }
    // Threads unknown to us may live on behind an ended leader.
    return living > 0 || this.#tools.libc.linkCount(this.#directoryFd) > linksOfEmpty + 1
      ? 'blocked'
      : 'gone';
  }

  close(): void {
    for (const task of this.tasks) this.#close(task);
    this.tasks = [];
    this.#tools.libc.close(this.#directoryFd);
  }

  #close(task: TaskHandle): void {
    this.#tools.promoter.forget(task);
    task.close(this.#tools.libc);
  }

  #adopt(tids: readonly number[]): boolean {
    const { libc, stat } = this.#tools;
    const known = new Map(this.tasks.map((task) => [task.tid, task]));
    const tasks: TaskHandle[] = [];
    let grown = false;
    for (const tid of tids.slice(0, threadsMax)) {
      let task = known.get(tid);
      known.delete(tid);
      if (task !== undefined && stat.read(libc, task.statFd) === 'gone') {
        // The number was given to a new thread of the same process.
        this.#close(task);
        task = undefined;
      }
      if (task === undefined) {
        task = TaskHandle.open(libc, this.pid, tid);
        grown = true;
      }
      if (task !== undefined) tasks.push(task);
    }
    for (const missed of known.values()) {
      // The walk may have failed for want of descriptors: what lives is kept, or nobody would demote it.
      if (stat.read(libc, missed.statFd) === 'ok' && !stat.hasEnded) tasks.push(missed);
      else this.#close(missed);
    }
    this.tasks = tasks;
    this.#hint = 0;
    return grown;
  }
}

/** Thread ids of a process, walked until two walks agree; the leader comes first. */
export function walkTasks(pid: number): number[] {
  let previous = '';
  let names: string[] = [];
  for (let walk = 0; walk < walksMax; walk++) {
    try {
      names = readdirSync(`/proc/${pid}/task`);
    } catch {
      return [];
    }
    const joined = names.join();
    if (joined === previous) break;
    previous = joined;
  }
  return names.map(Number);
}
