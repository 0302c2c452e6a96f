/**
 * The simulated machine: c cores, an upper class over a fair one, tasks that run, sleep and end.
 *
 *   start ─▶ runnable ── stopAt: a sleep ──▶ asleep ── its end ──▶ runnable … ── stopAt: demand ──▶ ended
 *              │  ▲
 *       promote│  │demote, pause        standing and state are independent: one that wakes goes to the class of its standing
 *              ▼  │
 *            upper class
 *
 * Time moves from event to event in `advanceTo`; between events nothing is computed.
 */
import { assert } from '../contracts/errors.js';
import { DueHeap } from './due-heap.js';
import { type Standing, type Task, weightNormal } from './task.js';
import { type LowerClass, type TaskClass, timeEpsilon } from './task-class.js';

/**
 * Weight of a paused task, in units of nice 0: nice -20 among functions of nice 0 (88761 / 1024, the kernel's sched_prio_to_weight).
 */
export const weightPaused = 88_761 / 1024;

export interface MachineClasses {
  readonly upper: TaskClass;
  readonly fair: LowerClass;
}

export class Machine {
  readonly #upper: TaskClass;
  readonly #fair: LowerClass;
  /** By when they wake. */
  readonly #sleepers = new DueHeap();
  readonly #ended: Task[] = [];
  #time = 0;
  #live = 0;

  constructor(classes: MachineClasses) {
    this.#upper = classes.upper;
    this.#fair = classes.fair;
  }

  get time(): number {
    return this.#time;
  }

  /** Tasks that have not ended. */
  get live(): number {
    return this.#live;
  }

  /** Starts now, with the standing that it has. */
  start(task: Task): void {
    this.#live += 1;
    if (task.stopAt <= 0) this.#stopped(task);
    else this.#classOf(task).add(task, this.#time);
  }

  /** When something happens next if nothing comes from outside; Infinity: never. */
  nextChange(): number {
    return Math.min(
      this.#sleepers.first?.due ?? Number.POSITIVE_INFINITY,
      this.#upper.nextChange(),
      this.#fair.nextChange(),
    );
  }

  /** Lets time pass; no change may be due before `time`. Does what is due at it. */
  advanceTo(time: number): void {
    assert(time >= this.#time - timeEpsilon, 'time does not go back');
    this.#time = Math.max(this.#time, time);
    for (;;) {
      const stopped = this.#upper.takeStopped(this.#time) ?? this.#fair.takeStopped(this.#time);
      if (stopped !== undefined) this.#stopped(stopped);
      else if (!this.#wakeOne()) return;
    }
  }

  /** Tasks that have ended since the last call, in order. */
  takeEnded(): readonly Task[] {
    return this.#ended.length === 0 ? noTasks : this.#ended.splice(0);
  }

  place(task: Task, standing: Standing): void {
    if (task.standing === standing) return;
    assert(task.state !== 'ended', 'only what lives is placed');
    if (task.state === 'runnable') this.#classOf(task).remove(task, this.#time);
    if (task.standing !== 'fair') task.chargedCpu += task.cpu - task.chargedFrom;
    task.chargedFrom = task.cpu;
    task.standing = standing;
    task.weight = standing === 'paused' ? weightPaused : weightNormal;
    if (task.state === 'runnable') this.#classOf(task).add(task, this.#time);
  }

  /** Makes `task.cpu` exact. */
  settle(task: Task): void {
    if (task.state === 'runnable') this.#classOf(task).settle(task, this.#time);
  }

  /** Ends it before its time. */
  kill(task: Task): void {
    if (task.state === 'ended') return;
    if (task.state === 'runnable') this.#classOf(task).remove(task, this.#time);
    else this.#sleepers.remove(task);
    task.killed = true;
    this.#end(task);
  }

  /** All sleeps end now. */
  wakeAll(): void {
    for (const task of [...this.#sleepers.all]) this.#wake(task);
  }

  #wakeOne(): boolean {
    const { first } = this.#sleepers;
    if (first === undefined || first.due > this.#time + timeEpsilon) return false;
    this.#wake(first);
    return true;
  }

  #wake(task: Task): void {
    this.#sleepers.remove(task);
    task.sleepsDone += 1;
    task.stopAt = task.sleeps[task.sleepsDone]?.at ?? task.demand;
    task.state = 'runnable';
    if (task.stopAt <= task.cpu) this.#stopped(task);
    else this.#classOf(task).add(task, this.#time);
  }

  /** It has left its class: at a sleep, or at its end. */
  #stopped(task: Task): void {
    const sleep = task.sleeps[task.sleepsDone];
    if (sleep === undefined) {
      this.#end(task);
      return;
    }
    task.state = 'asleep';
    this.#sleepers.add(task, this.#time + sleep.length);
  }

  #end(task: Task): void {
    if (task.standing !== 'fair') task.chargedCpu += task.cpu - task.chargedFrom;
    task.chargedFrom = task.cpu;
    task.state = 'ended';
    task.endedAt = this.#time;
    this.#live -= 1;
    this.#ended.push(task);
  }

  #classOf(task: Task): TaskClass {
    return task.standing === 'promoted' ? this.#upper : this.#fair;
  }
}

const noTasks: readonly Task[] = [];
