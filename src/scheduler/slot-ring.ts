/**
 * A bounded first-in first-out ring of slot numbers: the global queue, the blocked invocations and the busy periods that do
 * not count as arrivals yet are each one. Links between slots instead of positions in an array, because queued invocations
 * run under the fair scheduler and often end while they wait: an array would fill with their holes behind a head that stays.
 *
 *        ┌──────────────────────── next ────────────────────────┐
 *        ▼                                                      │
 *   [sentinel] ──next──▶ [first: slot 7] ──▶ [slot 2] ──▶ [last: slot 5]
 *
 * Every operation is O(1) and allocates nothing. A slot is in the ring at most once.
 */
import { assert } from '../contracts/errors.js';

/** Answer of `first` and `dequeue` on an empty ring, and the link of a slot that is not in it. */
export const noSlot = -1;

export class SlotRing {
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #sentinel: number;
  #length = 0;

  /** @param capacity slots are 0 to capacity - 1. */
  constructor(capacity: number) {
    this.#sentinel = capacity;
    this.#next = new Int32Array(capacity + 1).fill(noSlot);
    this.#previous = new Int32Array(capacity + 1).fill(noSlot);
    this.#next[capacity] = capacity;
    this.#previous[capacity] = capacity;
  }

  get length(): number {
    return this.#length;
  }

  get first(): number {
    const first = this.#next[this.#sentinel] ?? noSlot;
    return first === this.#sentinel ? noSlot : first;
  }

  has(slot: number): boolean {
    return (this.#next[slot] ?? noSlot) !== noSlot;
  }

  enqueue(slot: number): void {
    this.#link(slot, this.#previous[this.#sentinel] ?? noSlot, this.#sentinel);
  }

  enqueueFirst(slot: number): void {
    this.#link(slot, this.#sentinel, this.#next[this.#sentinel] ?? noSlot);
  }

  dequeue(): number {
    const slot = this.first;
    if (slot !== noSlot) this.remove(slot);
    return slot;
  }

  remove(slot: number): void {
    assert(this.has(slot), 'a slot that leaves the ring is in it');
    const previous = this.#previous[slot] ?? noSlot;
    const next = this.#next[slot] ?? noSlot;
    this.#next[previous] = next;
    this.#previous[next] = previous;
    this.#next[slot] = noSlot;
    this.#previous[slot] = noSlot;
    this.#length -= 1;
  }

  #link(slot: number, previous: number, next: number): void {
    assert(slot >= 0 && slot < this.#sentinel && !this.has(slot), 'a slot enters the ring once');
    this.#previous[slot] = previous;
    this.#next[slot] = next;
    this.#next[previous] = slot;
    this.#previous[next] = slot;
    this.#length += 1;
  }
}
