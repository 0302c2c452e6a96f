/**
 * The fair scheduler slice by slice: an EEVDF queue on each core (eevdf-core.ts), and simple balancing between them.
 *
 *   comes or wakes   to an idle core, its own if that is idle; else to the core with the fewest tasks
 *   core runs dry    takes over the longest waiting task of the fullest core
 *   every interval   one task at a time from the fullest core to the emptiest, while they differ by two or more
 *
 * Cores that have nothing to run look for it once all that happens at an instant has happened, as a kernel does on its way out of a
 * system call: a task that steps down from real-time is then among those that are picked from.
 *
 * A real-time task takes the core that it is on, else an idle one, else the one with the fewest tasks. These stay on it until somebody
 * takes them over, as under Linux: at the next look at the latest, where there is a core that is not taken.
 */
import { assert } from '../contracts/errors.js';
import { EevdfCore } from './eevdf-core.js';
import type { Task } from './task.js';
import { type LowerClass, timeEpsilon } from './task-class.js';

export interface EevdfRule {
  readonly slice: number;
  readonly switchCost: number;
  readonly balanceInterval: number;
}

const never = Number.POSITIVE_INFINITY;

export class EevdfFair implements LowerClass {
  readonly #cores: readonly EevdfCore[];
  readonly #balanceInterval: number;
  #balanceAt = never;
  /** When cores that have nothing to run must look for it; Infinity: none has to. */
  #rescheduleAt = never;
  #next = never;
  /** Something has changed since `#next` was found. */
  #stale = false;

  constructor(rule: EevdfRule, cores: number) {
    this.#cores = Array.from({ length: cores }, (_none, number) => new EevdfCore(number, rule));
    this.#balanceInterval = rule.balanceInterval;
  }

  add(task: Task, now: number): void {
    const core = this.#coreFor(task);
    core.enqueue(task, now);
    this.#changed(now);
  }

  remove(task: Task, now: number): void {
    const core = this.#at(task.core);
    core.dequeue(task, now);
    this.#changed(now);
  }

  settle(task: Task, now: number): void {
    const core = this.#at(task.core);
    if (core.running === task) core.settle(now);
  }

  nextChange(): number {
    if (!this.#stale) return this.#next;
    this.#next = Math.min(this.#balanceAt, this.#rescheduleAt);
    for (const core of this.#cores) this.#next = Math.min(this.#next, core.due());
    this.#stale = false;
    return this.#next;
  }

  takeStopped(now: number): Task | undefined {
    if (this.nextChange() > now + timeEpsilon) return undefined;
    this.#stale = true;
    if (now + timeEpsilon >= this.#rescheduleAt) this.#reschedule(now);
    for (const core of this.#cores) {
      if (core.due() > now + timeEpsilon) continue;
      core.settle(now);
      const task = core.running;
      if (task === undefined || task.stopAt - task.cpu > timeEpsilon) {
        core.endSlice(now);
        continue;
      }
      core.dequeue(task, now);
      task.cpu = task.stopAt;
      this.#changed(now);
      return task;
    }
    if (now + timeEpsilon >= this.#balanceAt) this.#balance(now);
    return undefined;
  }

  takeCore(task: Task, now: number): number {
    const own = this.#cores[task.core];
    const core = own !== undefined && !own.taken ? own : this.#emptiest();
    assert(core !== undefined, 'no more cores are taken than there are');
    core.preempt(now);
    this.#changed(now);
    return core.number;
  }

  giveCore(number: number, now: number): void {
    this.#at(number).taken = false;
    this.#changed(now);
  }

  #at(number: number): EevdfCore {
    const core = this.#cores[number];
    assert(core !== undefined, 'a task is on a core');
    return core;
  }

  #coreFor(task: Task): EevdfCore {
    const own = this.#cores[task.core];
    const best = this.#emptiest() ?? this.#cores.reduce((few, core) => (core.count < few.count ? core : few));
    return own !== undefined && !own.taken && own.count <= best.count ? own : best;
  }

  #emptiest(): EevdfCore | undefined {
    let best: EevdfCore | undefined;
    for (const core of this.#cores)
      if (!core.taken && (best === undefined || core.count < best.count)) best = core;
    return best;
  }

  /** The fullest of those that have a task to give. */
  #fullest(): EevdfCore | undefined {
    let best: EevdfCore | undefined;
    for (const core of this.#cores)
      if (core.waitingCount > 0 && (best === undefined || crowd(core) > crowd(best))) best = core;
    return best;
  }

  /** On each core that is free whoever waits there runs; when nobody does, somebody from elsewhere. */
  #reschedule(now: number): void {
    this.#rescheduleAt = never;
    const free = this.#cores.filter((core) => !core.taken && core.running === undefined);
    for (const core of free) if (core.waitingCount > 0) core.pick(now);
    for (const core of free) {
      if (core.running !== undefined) continue;
      const from = this.#fullest();
      if (from === undefined) return;
      move(from, core, now);
      core.pick(now);
    }
  }

  #balance(now: number): void {
    for (;;) {
      const from = this.#fullest();
      const to = this.#emptiest();
      if (from === undefined || to === undefined || crowd(from) < crowd(to) + 2) break;
      move(from, to, now);
    }
    this.#balanceAt = never;
    this.#changed(now);
  }

  #changed(now: number): void {
    this.#stale = true;
    this.#rescheduleAt = now;
    if (this.#balanceAt === never && this.#cores.some((core) => core.waitingCount > 0))
      this.#balanceAt = now + this.#balanceInterval;
  }
}

/** Tasks to each core's worth of capacity; a core that is taken has none. */
function crowd(core: EevdfCore): number {
  return core.taken ? never : core.count;
}

function move(from: EevdfCore, to: EevdfCore, now: number): void {
  const task = from.oldestWaiting();
  assert(task !== undefined, 'a core that gives has a task that waits');
  from.dequeue(task, now);
  to.enqueue(task, now);
}
