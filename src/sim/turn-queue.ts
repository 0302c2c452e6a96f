/**
 * SCHED_FIFO and SCHED_RR: tasks of one priority in one queue, the first c of them on a whole core each.
 *
 *   came last ─▶ [waiting … waiting] ─▶ running on c cores ──▶ stops: sleeps or ends
 *                        ▲                     │
 *                        └──── its quantum ────┘  RR only, and only while others wait
 *
 * One that wakes joins at the tail, so nobody is preempted within the class. As many cores as run something are borrowed from the
 * class below. The global queue stands for the kernel's push and pull of real-time tasks, which keeps c of them on c cores.
 */
import { DueHeap } from './due-heap.js';
import type { Task } from './task.js';
import { type CoreLender, type TaskClass, timeEpsilon } from './task-class.js';

export interface TurnRule {
  readonly cores: number;
  /** Microseconds; Infinity: first in, first out. */
  readonly quantum: number;
}

export class TurnQueue implements TaskClass {
  readonly #rule: TurnRule;
  readonly #lender: CoreLender;
  /** By when its turn ends: it stops, or its quantum is used up. */
  readonly #running = new DueHeap();
  #first: Task | undefined;
  #last: Task | undefined;

  constructor(rule: TurnRule, lender: CoreLender) {
    this.#rule = rule;
    this.#lender = lender;
  }

  add(task: Task, now: number): void {
    if (this.#running.size < this.#rule.cores) this.#run(task, this.#lender.takeCore(task, now), now);
    else this.#enqueue(task);
  }

  remove(task: Task, now: number): void {
    if (task.queued) {
      this.#unlink(task);
      return;
    }
    this.settle(task, now);
    this.#running.remove(task);
    this.#next(task.core, now);
  }

  settle(task: Task, now: number): void {
    if (task.queued || now <= task.runningSince) return;
    task.cpu = Math.min(task.stopAt, task.cpu + (now - task.runningSince));
    task.runningSince = now;
  }

  nextChange(): number {
    return this.#running.first?.due ?? Number.POSITIVE_INFINITY;
  }

  takeStopped(now: number): Task | undefined {
    for (;;) {
      const task = this.#running.first;
      if (task === undefined || task.due > now + timeEpsilon) return undefined;
      this.settle(task, now);
      this.#running.remove(task);
      if (task.stopAt - task.cpu <= timeEpsilon) {
        task.cpu = task.stopAt;
        this.#next(task.core, now);
        return task;
      }
      if (this.#first === undefined) this.#run(task, task.core, now);
      else {
        this.#enqueue(task);
        this.#next(task.core, now);
      }
    }
  }

  #run(task: Task, core: number, now: number): void {
    task.core = core;
    task.beginTurn(now);
    task.runningSince = now;
    this.#running.add(task, now + Math.min(task.stopAt - task.cpu, this.#rule.quantum));
  }

  #next(core: number, now: number): void {
    const task = this.#first;
    if (task === undefined) this.#lender.giveCore(core, now);
    else {
      this.#unlink(task);
      this.#run(task, core, now);
    }
  }

  #enqueue(task: Task): void {
    task.queued = true;
    task.previous = this.#last;
    task.next = undefined;
    if (this.#last === undefined) this.#first = task;
    else this.#last.next = task;
    this.#last = task;
  }

  #unlink(task: Task): void {
    const { previous, next } = task;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    task.previous = undefined;
    task.next = undefined;
    task.queued = false;
  }
}
