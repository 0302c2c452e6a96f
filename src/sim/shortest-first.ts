/**
 * SRTF, the clairvoyant reference: at every instant the c runnable tasks with the least CPU time left to their ends run, one to a core.
 *
 * While a task runs, the time at which it would end stays; while it waits, what it has left stays. So each side is a heap by a key
 * that does not move, and one comparison at each arrival keeps them right: the last to end against the first that waits.
 */
import { DueHeap } from './due-heap.js';
import type { Task } from './task.js';
import { type CoreLender, type TaskClass, timeEpsilon } from './task-class.js';

export class ShortestFirst implements TaskClass {
  readonly #cores: number;
  readonly #lender: CoreLender;
  /** By CPU time left to the end. */
  readonly #waiting = new DueHeap();
  readonly #running: Task[] = [];

  constructor(cores: number, lender: CoreLender) {
    this.#cores = cores;
    this.#lender = lender;
  }

  add(task: Task, now: number): void {
    if (this.#running.length < this.#cores) {
      this.#run(task, this.#lender.takeCore(task, now), now);
      return;
    }
    const longest = this.#longest(now);
    if (longest === undefined || longest.demand - longest.cpu <= task.demand - task.cpu) {
      this.#wait(task);
      return;
    }
    this.#stop(longest);
    this.#wait(longest);
    this.#run(task, longest.core, now);
  }

  remove(task: Task, now: number): void {
    if (task.queued) {
      task.queued = false;
      this.#waiting.remove(task);
      return;
    }
    this.settle(task, now);
    this.#stop(task);
    this.#next(task.core, now);
  }

  settle(task: Task, now: number): void {
    if (task.queued || now <= task.runningSince) return;
    task.cpu = Math.min(task.stopAt, task.cpu + (now - task.runningSince));
    task.runningSince = now;
  }

  nextChange(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const task of this.#running) next = Math.min(next, task.runningSince + (task.stopAt - task.cpu));
    return next;
  }

  takeStopped(now: number): Task | undefined {
    for (const task of this.#running) {
      if (task.runningSince + (task.stopAt - task.cpu) > now + timeEpsilon) continue;
      task.cpu = task.stopAt;
      this.#stop(task);
      this.#next(task.core, now);
      return task;
    }
    return undefined;
  }

  #longest(now: number): Task | undefined {
    let longest: Task | undefined;
    for (const task of this.#running) {
      this.settle(task, now);
      if (longest === undefined || task.demand - task.cpu > longest.demand - longest.cpu) longest = task;
    }
    return longest;
  }

  #run(task: Task, core: number, now: number): void {
    task.core = core;
    task.runningSince = now;
    this.#running.push(task);
  }

  #stop(task: Task): void {
    this.#running.splice(this.#running.indexOf(task), 1);
  }

  #wait(task: Task): void {
    task.queued = true;
    this.#waiting.add(task, task.demand - task.cpu);
  }

  #next(core: number, now: number): void {
    const { first } = this.#waiting;
    if (first === undefined) this.#lender.giveCore(core, now);
    else {
      first.queued = false;
      this.#waiting.remove(first);
      this.#run(first, core, now);
    }
  }
}
