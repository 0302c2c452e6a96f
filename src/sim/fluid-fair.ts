/**
 * The fair scheduler as a fluid: C cores shared at every instant, weighted max-min fair, no task on more than one core (generalised
 * processor sharing: Parekh and Gallager, IEEE/ACM ToN 1(3), 1993; the limit of CFS (EEVDF) whose slices go to 0).
 *
 *   rate(task) = min(1, weight x lambda),   lambda such that all rates together are C, or every rate is 1
 *
 * Tasks of one weight have one rate, so each weight has a virtual time V, the CPU time that such a task has been given since it came.
 * A task that comes at V with r left to its stop stops at V + r, whatever comes and goes meanwhile: a heap of those finish
 * virtual times makes every event O(log n), and O(number of weights), of which there are two or three.
 */
import { assert } from '../contracts/errors.js';
import { DueHeap } from './due-heap.js';
import type { Task } from './task.js';
import { type LowerClass, timeEpsilon } from './task-class.js';

class WeightGroup {
  readonly weight: number;
  readonly tasks = new DueHeap();
  virtualTime = 0;
  rate = 0;

  constructor(weight: number) {
    this.weight = weight;
  }
}

export class FluidFair implements LowerClass {
  /** By falling weight. */
  readonly #groups: WeightGroup[] = [];
  #cores: number;
  #at = 0;

  constructor(cores: number) {
    this.#cores = cores;
  }

  add(task: Task, now: number): void {
    this.#advance(now);
    const group = this.#groupOf(task.weight);
    if (group.tasks.size === 0) group.virtualTime = 0;
    group.tasks.add(task, group.virtualTime + (task.stopAt - task.cpu));
    this.#share();
  }

  remove(task: Task, now: number): void {
    this.settle(task, now);
    this.#groupOf(task.weight).tasks.remove(task);
    this.#share();
  }

  settle(task: Task, now: number): void {
    this.#advance(now);
    const used = task.stopAt - (task.due - this.#groupOf(task.weight).virtualTime);
    task.cpu = Math.min(task.stopAt, used);
  }

  nextChange(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const group of this.#groups) {
      const { first } = group.tasks;
      if (first === undefined || group.rate === 0) continue;
      next = Math.min(next, this.#at + Math.max(0, first.due - group.virtualTime) / group.rate);
    }
    return next;
  }

  takeStopped(now: number): Task | undefined {
    this.#advance(now);
    for (const group of this.#groups) {
      const { first } = group.tasks;
      if (first === undefined || first.due > group.virtualTime + timeEpsilon) continue;
      group.tasks.remove(first);
      first.cpu = first.stopAt;
      this.#share();
      return first;
    }
    return undefined;
  }

  /** Which core it is makes no difference to a fluid. */
  takeCore(_task: Task, now: number): number {
    assert(this.#cores > 0, 'no more cores are taken than there are');
    this.#resize(this.#cores - 1, now);
    return this.#cores;
  }

  giveCore(_core: number, now: number): void {
    this.#resize(this.#cores + 1, now);
  }

  #resize(cores: number, now: number): void {
    this.#advance(now);
    this.#cores = cores;
    this.#share();
  }

  #advance(now: number): void {
    const length = now - this.#at;
    if (length <= 0) return;
    for (const group of this.#groups) group.virtualTime += group.rate * length;
    this.#at = now;
  }

  /** The heaviest reach their whole core first; what they leave is shared by the others. */
  #share(): void {
    let cores = this.#cores;
    let weights = 0;
    for (const { tasks, weight } of this.#groups) weights += tasks.size * weight;
    for (const group of this.#groups) {
      const { weight, tasks } = group;
      if (tasks.size === 0) group.rate = 0;
      else if (weight * cores >= weights - timeEpsilon) {
        group.rate = Math.min(1, cores / tasks.size);
        cores -= tasks.size * group.rate;
        weights -= tasks.size * weight;
      } else group.rate = (weight * cores) / weights;
    }
  }

  #groupOf(weight: number): WeightGroup {
    for (const group of this.#groups) if (group.weight === weight) return group;
    const made = new WeightGroup(weight);
    this.#groups.push(made);
    this.#groups.sort((left, right) => right.weight - left.weight);
    return made;
  }
}
