/**
 * In which order those that hold a worker go on after a pause of the budget. It matters where more of them are real-time than there are
 * cores: under SCHED_RR.
 *
 *   first ─▶ [ runs, or runs next … waits ] ◀─ promoted just now
 *      └──── has used up its quantum ────┘
 *
 * The kernel has such a queue of its own, but a pause empties it: who is promoted again lines up as the calls come. Were that the order of
 * the workers, the first one's invocation would be ahead again after every pause, and pauses are as frequent as quanta: three equal
 * invocations of 400 ms on one core were seen to end after 0.7, 1.1 and 1.4 s, one after the other. So the order is kept here: at a
 * pause, whoever has used up its quantum since its turn began goes to the end. The kernel keeps what is left of a quantum over a change of
 * policy, so both counts stay together. CPU time in the gap is counted too, which is a few percent of a quantum.
 */
import type { Duration } from '../contracts/time.js';
import type { Life } from './lives.js';
import { SlotRing } from './slot-ring.js';

export class Turns {
  /** Slots of those that hold a worker. */
  readonly #order: SlotRing;
  /** Below this a turn goes on; undefined: turns have no end. */
  readonly #turnMin: number | undefined;

  /**
   * @param quantum absent: the order is that of the pick-ups.
   * @param lag how far a count of the kernel's may be off: what is left of a quantum below that is nothing.
   */
  constructor(rule: {
    readonly liveMax: number;
    readonly quantum: Duration | undefined;
    readonly lag: Duration;
  }) {
    this.#order = new SlotRing(rule.liveMax);
    this.#turnMin = rule.quantum === undefined ? undefined : rule.quantum - rule.lag;
  }

  /** Whether `count` wants to know what was used up to a pause. */
  get areCounted(): boolean {
    return this.#turnMin !== undefined;
  }

  get length(): number {
    return this.#order.length;
  }

  enter(life: Life): void {
    this.#order.enqueue(life.slot);
    life.turnBegan = life.cpuUsed;
  }

  leave(life: Life): void {
    this.#order.remove(life.slot);
  }

  /** The slot whose turn is next, which goes to the end: `length` calls visit everybody once, and leave the order as it was. */
  rotate(): number {
    const slot = this.#order.dequeue();
    this.#order.enqueue(slot);
    return slot;
  }

  /** At a pause, its CPU time read just now: if its turn is over, another begins at the end. */
  count(life: Life): void {
    if (this.#turnMin === undefined || life.cpuUsed - life.turnBegan < this.#turnMin) return;
    this.leave(life);
    this.enter(life);
  }
}
