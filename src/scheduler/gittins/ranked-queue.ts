/**
 * The global queue by rank: a binary heap of slots, and beside it the same slots in the order in which they came, for aging, and in
 * the order in which they were last looked at, for the CPU time that the fair scheduler gives them meanwhile.
 *
 *   heap   lowest rank first, among equals who came first     O(log n)
 *   ages   who came first                                     O(1)
 *   looks  whose CPU time was read longest ago                O(1)
 *
 * Allocates nothing. A rank is what it was when it was last set: `update` when it has changed.
 */
import { assert } from '../../contracts/errors.js';
import { noSlot, SlotRing } from '../slot-ring.js';

export class RankedQueue {
  readonly #rankOf: (slot: number) => number;
  readonly #heap: Int32Array;
  /** By slot: its place in the heap, or noSlot. */
  readonly #places: Int32Array;
  readonly #ranks: Float64Array;
  /** By slot: who came first. */
  readonly #tickets: Float64Array;
  readonly #ages: SlotRing;
  readonly #looks: SlotRing;
  #length = 0;
  #ticketLast = 0;

  /** @param rankOf asked whenever a slot enters. */
  constructor(capacity: number, rankOf: (slot: number) => number) {
    this.#rankOf = rankOf;
    this.#heap = new Int32Array(capacity);
    this.#places = new Int32Array(capacity).fill(noSlot);
    this.#ranks = new Float64Array(capacity);
    this.#tickets = new Float64Array(capacity);
    this.#ages = new SlotRing(capacity);
    this.#looks = new SlotRing(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The best; noSlot when it is empty. */
  get first(): number {
    return this.#length === 0 ? noSlot : (this.#heap[0] ?? noSlot);
  }

  /** Who has been here longest. */
  get oldest(): number {
    return this.#ages.first;
  }

  rank(slot: number): number {
    return this.#ranks[slot] ?? Number.POSITIVE_INFINITY;
  }

  has(slot: number): boolean {
    return (this.#places[slot] ?? noSlot) !== noSlot;
  }

  enqueue(slot: number): void {
    assert(!this.has(slot), 'a slot enters the queue once');
    this.#ranks[slot] = this.#rankOf(slot);
    this.#ticketLast += 1;
    this.#tickets[slot] = this.#ticketLast;
    this.#ages.enqueue(slot);
    this.#looks.enqueue(slot);
    this.#length += 1;
    this.#rise(slot, this.#length - 1);
  }

  /** Its rank stands for its place: there is no other head. */
  enqueueFirst(slot: number): void {
    this.enqueue(slot);
  }

  remove(slot: number): void {
    const place = this.#places[slot] ?? noSlot;
    assert(place !== noSlot, 'a slot that leaves the queue is in it');
    this.#ages.remove(slot);
    this.#looks.remove(slot);
    this.#places[slot] = noSlot;
    this.#length -= 1;
    const last = this.#heap[this.#length] ?? noSlot;
    if (last !== slot) this.#settle(last, place);
  }

  /** Its rank has changed. */
  update(slot: number): void {
    const place = this.#places[slot] ?? noSlot;
    assert(place !== noSlot, 'a slot whose rank changes is in the queue');
    this.#ranks[slot] = this.#rankOf(slot);
    this.#settle(slot, place);
  }

  /** The slot that was looked at longest ago, which is now the one looked at last. */
  look(): number {
    const slot = this.#looks.dequeue();
    if (slot !== noSlot) this.#looks.enqueue(slot);
    return slot;
  }

  #isBefore(left: number, right: number): boolean {
    const one = this.rank(left);
    const other = this.rank(right);
    return one === other ? (this.#tickets[left] ?? 0) < (this.#tickets[right] ?? 0) : one < other;
  }

  /** Puts a slot where `place` is free. */
  #settle(slot: number, place: number): void {
    this.#sink(slot, this.#rise(slot, place));
  }

  #rise(slot: number, from: number): number {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#heap[parent] ?? noSlot;
      if (!this.#isBefore(slot, above)) break;
      this.#put(above, place);
      place = parent;
    }
    this.#put(slot, place);
    return place;
  }

  #sink(slot: number, from: number): void {
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.#length) break;
      const right = child + 1;
      if (right < this.#length && this.#isBefore(this.#heap[right] ?? noSlot, this.#heap[child] ?? noSlot))
        child = right;
      const below = this.#heap[child] ?? noSlot;
      if (!this.#isBefore(below, slot)) break;
      this.#put(below, place);
      place = child;
    }
    this.#put(slot, place);
  }

  #put(slot: number, place: number): void {
    this.#heap[place] = slot;
    this.#places[slot] = place;
  }
}
