/**
 * A group of named threads of one process: what a persistent instance or a burst worker runs on. Threads born later, and children, are
 * no part of it. A thread's CPU time is the first number of its schedstat, in nanoseconds; a process clock would count the others too.
 *
 * As with processes, a thread whose time stands still and who was last seen runnable is runnable yet.
 */
import type { Observation } from '../contracts/kernel.js';
import type { Duration } from '../contracts/time.js';
import { TaskHandle } from './task-handle.js';
import { newScope, type PromotionScope } from './task-promoter.js';
import type { TrackedTasks, TrackingTools } from './tracked-tasks.js';

const schedstatBytesMax = 128;
const zero = 0x30;
/** USER_HZ is 100 for every program. */
const tickNs = 1e7;

export class ThreadSet implements TrackedTasks {
  readonly #tools: TrackingTools;
  readonly scope: PromotionScope = newScope();
  readonly #text = new Uint8Array(schedstatBytesMax);
  #tasks: TaskHandle[];
  #usedNs = 0;
  #baseNs = 0;
  #known: 'runnable' | 'blocked' | 'unknown' = 'unknown';
  #hint = 0;
  #hopeless = false;
  #ended = false;

  private constructor(tools: TrackingTools, tasks: TaskHandle[]) {
    this.#tools = tools;
    this.#tasks = tasks;
    this.#readTimes();
    this.#baseNs = this.#usedNs;
  }

  /** gone: none of the threads lives. */
  static open(tools: TrackingTools, pid: number, tids: readonly number[]): ThreadSet | 'gone' {
    const tasks: TaskHandle[] = [];
    for (const tid of tids) {
      const task = TaskHandle.open(tools.libc, pid, tid);
      if (task === undefined) continue;
      task.schedstatFd = tools.libc.open(`/proc/${pid}/task/${tid}/schedstat`, 0);
      tasks.push(task);
    }
    return tasks.length === 0 ? 'gone' : new ThreadSet(tools, tasks);
  }

  promote(): 'ok' | 'gone' | 'denied' {
    if (this.#ended) return 'gone';
    if (this.#hopeless) return 'denied';
    const several = this.#tasks.length > 1;
    let living = 0;
    for (const task of this.#tasks) {
      const result = this.#tools.promoter.promote(task, several, this.scope);
      if (result === 'ok') living++;
      if (result !== 'denied' && result !== 'foreign') continue;
      this.demote();
      this.#hopeless = !this.#tools.promoter.refusals.mayRetry(this.scope, { pid: task.pid, result });
      // Once: what is favoured already is not tried again.
      return this.#hopeless ? 'denied' : this.promote();
    }
    return living === 0 ? 'gone' : 'ok';
  }

  pause(): 'ok' | 'gone' {
    for (const task of this.#tasks) this.#tools.promoter.pause(task);
    return this.#ended ? 'gone' : 'ok';
  }

  demote(): 'ok' | 'gone' {
    this.#known = 'unknown';
    for (const task of this.#tasks) this.#tools.promoter.demote(task);
    return this.#ended ? 'gone' : 'ok';
  }

  observe(into: Observation): void {
    const state = this.#ended ? 'gone' : this.#look();
    if (state === 'gone') this.#ended = true;
    into.state = state;
    into.cpuTime = Math.floor((this.#usedNs - this.#baseNs) / 1000) as Duration;
    into.runnableMax = state === 'gone' ? 0 : Math.max(this.#tasks.length, 1);
  }

  restartClock(): void {
    this.#readTimes();
    this.#baseNs = this.#usedNs;
    this.#hopeless = false;
    this.scope.favoured = false;
  }

  markEnded(): void {
    this.#ended = true;
  }

  evict(): void {}

  close(): void {
    this.demote();
    for (const task of this.#tasks) task.close(this.#tools.libc);
    this.#tasks = [];
  }

  #look(): 'runnable' | 'blocked' | 'gone' {
    if (this.#readTimes()) {
      this.#known = 'unknown';
      return 'runnable';
    }
    if (this.#known === 'runnable') return 'runnable';
    const state = this.#scan();
    if (state !== 'gone') this.#known = state;
    return state;
  }

  /** Whether any thread has run since the last reading. */
  #readTimes(): boolean {
    let advanced = false;
    for (const task of this.#tasks) {
      const ns = this.#readTime(task);
      // An ended thread reads as 0: what it used is kept.
      if (ns <= task.cpuNs) continue;
      this.#usedNs += ns - task.cpuNs;
      task.cpuNs = ns;
      advanced = true;
    }
    return advanced;
  }

  #readTime(task: TaskHandle): number {
    const { libc, stat } = this.#tools;
    if (task.schedstatFd < 0) {
      // A kernel without CONFIG_SCHED_INFO: whole clock ticks are all there is.
      return stat.read(libc, task.statFd) === 'ok' ? (stat.userTicks + stat.systemTicks) * tickNs : 0;
    }
    const length = libc.pread(task.schedstatFd, this.#text, schedstatBytesMax);
    let ns = 0;
    for (let index = 0; index < length; index++) {
      const digit = (this.#text[index] ?? 0) - zero;
      if (digit < 0 || digit > 9) break;
      ns = ns * 10 + digit;
    }
    return ns;
  }

  #scan(): 'runnable' | 'blocked' | 'gone' {
    const { libc, stat } = this.#tools;
    const count = this.#tasks.length;
    let ended = 0;
    for (let step = 0; step < count; step++) {
      const index = (this.#hint + step) % count;
      const task = this.#tasks[index];
      if (task === undefined) continue;
      if (stat.read(libc, task.statFd) === 'gone' || stat.hasEnded) ended++;
      else if (stat.isRunnable) {
        this.#hint = index;
        return 'runnable';
      }
    }
    if (ended === count) return 'gone';
    if (ended > 0) this.#forgetEnded();
    return 'blocked';
  }

  #forgetEnded(): void {
    const { libc, stat, promoter } = this.#tools;
    this.#hint = 0;
    this.#tasks = this.#tasks.filter((task) => {
      const lives = stat.read(libc, task.statFd) === 'ok' && !stat.hasEnded;
      if (lives) return true;
      promoter.forget(task);
      task.close(libc);
      return false;
    });
  }
}
