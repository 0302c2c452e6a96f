/**
 * One core's queue of the slice-exact fair scheduler: earliest eligible virtual deadline first (Stoica and Abdel-Wahab, 1995), as
 * Linux has it since 6.6.
 *
 *   v(task)         its virtual time: rises by run time / weight
 *   V               mean of all v on the core, by weight; a task with v <= V is eligible: it has had no more than its share
 *   d(task)         v + slice / weight when it last asked for a slice
 *   pick            of the eligible, the one with the earliest d
 *   lag             (V - v) x weight, CPU time it is owed; kept while a task is away, at most a slice, so that coming and going gains
 *                   nothing, and another weight owes it no more
 *
 * The task that runs keeps the core until its slice is used up, whoever comes (RUN_TO_PARITY). Taking up another task costs
 * `switchCost` of the core's time, charged to nobody. Queues are lists that are scanned: a core has tens of tasks at most.
 */
import { assert } from '../contracts/errors.js';
import type { Task } from './task.js';
import { timeEpsilon } from './task-class.js';

export interface CoreRule {
  readonly slice: number;
  readonly switchCost: number;
}

export class EevdfCore {
  readonly number: number;
  /** A real-time task has it. */
  taken = false;
  readonly #rule: CoreRule;
  /** Those that do not run. */
  readonly #waiting: Task[] = [];
  #running: Task | undefined;
  /** Who ran last: taking it up again costs nothing. */
  #before: Task | undefined;

  constructor(number: number, rule: CoreRule) {
    this.number = number;
    this.#rule = rule;
  }

  get running(): Task | undefined {
    return this.#running;
  }

  /** Tasks on the core, the running one included. */
  get count(): number {
    return this.#waiting.length + (this.#running === undefined ? 0 : 1);
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** When the running task stops, or its slice ends while others wait. */
  due(): number {
    const task = this.#running;
    if (task === undefined) return Number.POSITIVE_INFINITY;
    const stop = task.stopAt - task.cpu;
    const slice = (task.deadline - task.virtualTime) * task.weight;
    return task.runningSince + (this.#waiting.length === 0 ? stop : Math.min(stop, Math.max(0, slice)));
  }

  enqueue(task: Task, now: number): void {
    this.settle(now);
    task.virtualTime = this.#meanVirtualTime() - task.lag / task.weight;
    task.lag = 0;
    task.deadline = task.virtualTime + this.#rule.slice / task.weight;
    task.core = this.number;
    const { running } = this;
    // While it was alone its slices were not counted.
    if (running !== undefined && running.virtualTime >= running.deadline) this.#renew(running);
    this.#waiting.push(task);
  }

  dequeue(task: Task, now: number): void {
    this.settle(now);
    const { slice } = this.#rule;
    const owed = (this.#meanVirtualTime() - task.virtualTime) * task.weight;
    task.lag = Math.max(-slice, Math.min(slice, owed));
    if (this.#running === task) this.#running = undefined;
    else {
      const place = this.#waiting.indexOf(task);
      assert(place >= 0, 'a task leaves the core that it is on');
      this.#waiting.splice(place, 1);
    }
  }

  /** Accounts for the running task up to now. */
  settle(now: number): void {
    const task = this.#running;
    if (task === undefined || now <= task.runningSince) return;
    const length = Math.min(now - task.runningSince, task.stopAt - task.cpu);
    task.cpu += length;
    task.virtualTime += length / task.weight;
    task.runningSince = now;
  }

  /** The running task has used up its slice. */
  endSlice(now: number): void {
    const task = this.#running;
    if (task === undefined) return;
    this.#renew(task);
    this.#waiting.push(task);
    this.#running = undefined;
    this.pick(now);
  }

  /** A real-time task takes the core. */
  preempt(now: number): void {
    this.settle(now);
    this.taken = true;
    if (this.#running !== undefined) this.#waiting.push(this.#running);
    this.#running = undefined;
    this.#before = undefined;
  }

  /** The core is free: who runs next. */
  pick(now: number): void {
    assert(this.#running === undefined && !this.taken, 'a core picks when it is free');
    const place = this.#earliest();
    const task = this.#waiting[place];
    if (task === undefined) return;
    this.#waiting.splice(place, 1);
    this.#running = task;
    task.beginTurn(now);
    task.runningSince = now + (task === this.#before ? 0 : this.#rule.switchCost);
    this.#before = task;
  }

  /** The task that has waited longest of those that do not run: what another core takes over. */
  oldestWaiting(): Task | undefined {
    return this.#waiting[0];
  }

  #earliest(): number {
    const limit = this.#meanVirtualTime() + timeEpsilon;
    let best = -1;
    let deadline = Number.POSITIVE_INFINITY;
    for (let place = 0; place < this.#waiting.length; place += 1) {
      const task = this.#waiting[place];
      if (task === undefined || task.virtualTime > limit || task.deadline >= deadline) continue;
      best = place;
      deadline = task.deadline;
    }
    return best;
  }

  #renew(task: Task): void {
    task.deadline = task.virtualTime + this.#rule.slice / task.weight;
  }

  #meanVirtualTime(): number {
    let weights = this.#running?.weight ?? 0;
    let sum = weights * (this.#running?.virtualTime ?? 0);
    for (const task of this.#waiting) {
      weights += task.weight;
      sum += task.weight * task.virtualTime;
    }
    return weights === 0 ? 0 : sum / weights;
  }
}
