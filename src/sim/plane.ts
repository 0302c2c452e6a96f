/**
 * The scheduling plane in simulated time: it drives the policy as the daemon's loop does (daemon/plane/scheduling-loop.ts).
 *
 *   1. wake at the nearest of: an exit or a submission + pickupDelay, the instant that the policy asked for + its lateness
 *   2. exits first, then submissions: all that have happened by now
 *   3. one tick, which says when to be called again
 */
import { type InvocationKey, invocationKey } from '../contracts/invocation.js';
import type { Admission, Scheduler } from '../contracts/scheduler.js';
import { type Duration, instant } from '../contracts/time.js';
import type { Faults } from './faults.js';
import type { Task } from './task.js';
import { timeEpsilon } from './task-class.js';

export interface PlaneOptions {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  /** From an exit or a submission to the turn that sees it. */
  readonly pickupDelay: Duration;
  /** From the instant that the policy asked for to its turn; faults add to it. */
  readonly tickLateness: Duration;
  /** What the policy said to a submission. */
  readonly onAdmission: (task: Task, admission: Admission) => void;
}

export class Plane {
  readonly #options: PlaneOptions;
  readonly #exits: Task[] = [];
  readonly #submissions: Task[] = [];
  #eventDue = Number.POSITIVE_INFINITY;
  #timerDue = Number.POSITIVE_INFINITY;

  constructor(options: PlaneOptions) {
    this.#options = options;
  }

  /** Integer microseconds, as the policy's clock; Infinity: nothing is to be done. */
  get due(): number {
    return Math.min(this.#eventDue, this.#timerDue);
  }

  submit(task: Task): void {
    this.#submissions.push(task);
    this.#noteEvent(task.arrivedAt);
  }

  exit(task: Task): void {
    this.#exits.push(task);
    this.#noteEvent(task.endedAt);
  }

  turn(): void {
    const { scheduler, faults, tickLateness, onAdmission } = this.#options;
    this.#eventDue = Number.POSITIVE_INFINITY;
    for (const task of this.#exits.splice(0)) scheduler.end(keyOf(task), 'exited');
    for (const task of this.#submissions.splice(0)) {
      const admission = scheduler.submit({
        key: keyOf(task),
        functionName: task.functionName,
        group: task.group,
        arrivedAt: task.arrivedAt,
      });
      onAdmission(task, admission);
    }
    const next = scheduler.tick();
    this.#timerDue = next === undefined ? Number.POSITIVE_INFINITY : next + tickLateness + faults.lateness();
  }

  #noteEvent(at: number): void {
    const due = instant(Math.ceil(at - timeEpsilon) + this.#options.pickupDelay);
    this.#eventDue = Math.min(this.#eventDue, due);
  }
}

/** Requests are numbered from 0, and no invocation has the key 0. */
export function keyOf(task: Task): InvocationKey {
  return invocationKey(task.index + 1);
}
