/**
 * Tasks in the order of their `due`: a binary heap that knows each task's place, so that one leaves from the middle in O(log n).
 *
 *   due(parent) <= due(child)          place(left child) = 2 place + 1
 *
 * Equal dues are kept in the order of the tasks' numbers: what a heap does with ties must not depend on its history.
 */
import { assert } from '../contracts/errors.js';
import type { Task } from './task.js';

export class DueHeap {
  readonly #tasks: Task[] = [];

  get size(): number {
    return this.#tasks.length;
  }

  get first(): Task | undefined {
    return this.#tasks[0];
  }

  /** All tasks, in no order. */
  get all(): readonly Task[] {
    return this.#tasks;
  }

  add(task: Task, due: number): void {
    assert(task.place === -1, 'a task is in one heap at most');
    task.due = due;
    this.#tasks.push(task);
    this.#rise(task, this.#tasks.length - 1);
  }

  remove(task: Task): void {
    const { place } = task;
    assert(this.#tasks[place] === task, 'a task leaves the heap that it is in');
    task.place = -1;
    const last = this.#tasks.pop();
    if (last === undefined || last === task) return;
    const parent = this.#tasks[(place - 1) >> 1];
    if (place > 0 && parent !== undefined && isBefore(last, parent)) this.#rise(last, place);
    else this.#sink(last, place);
  }

  #rise(task: Task, from: number): void {
    let place = from;
    while (place > 0) {
      const up = (place - 1) >> 1;
      const parent = this.#tasks[up];
      if (parent === undefined || !isBefore(task, parent)) break;
      this.#put(parent, place);
      place = up;
    }
    this.#put(task, place);
  }

  #sink(task: Task, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#tasks[2 * place + 1];
      if (left === undefined) break;
      const right = this.#tasks[2 * place + 2];
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(child, task)) break;
      const down = child.place;
      this.#put(child, place);
      place = down;
    }
    this.#put(task, place);
  }

  #put(task: Task, place: number): void {
    this.#tasks[place] = task;
    task.place = place;
  }
}

function isBefore(left: Task, right: Task): boolean {
  return left.due < right.due || (left.due === right.due && left.index < right.index);
}
