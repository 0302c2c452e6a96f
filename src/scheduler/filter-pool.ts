/**
 * The c FILTER workers: which invocation each holds and when its slice may end. Arrays of one element a worker, scanned
 * whole: for the 72 workers of a large host a scan costs less than keeping a heap of timers in order. The earliest slice end is
 * kept, and looked for again only after it has been put off.
 */
import { assert } from '../contracts/errors.js';
import { type Instant, instant } from '../contracts/time.js';
import { never } from './limits.js';
import type { Life } from './lives.js';

export class FilterPool {
  #lives: (Life | undefined)[] = [];
  #keys = new Float64Array(0);
  #sliceEnds = new Float64Array(0);
  /** Stack of idle workers. */
  #idle = new Int32Array(0);
  #idleCount = 0;
  #nextEnd: number = never;
  /** The worker whose slice end was the earliest has another by now. */
  #nextEndIsStale = false;

  constructor(size: number) {
    this.resize(size);
  }

  get size(): number {
    return this.#lives.length;
  }

  get heldCount(): number {
    return this.#lives.length - this.#idleCount;
  }

  /** Key held by each worker, 0 for none. Another array after `resize`. */
  get keys(): ArrayLike<number> {
    return this.#keys;
  }

  held(worker: number): Life | undefined {
    return this.#lives[worker];
  }

  get idleCount(): number {
    return this.#idleCount;
  }

  /** Idle workers by place, 0 to idleCount - 1; the last place is the one that became idle last. */
  idleAt(place: number): number {
    return this.#idle[place] ?? 0;
  }

  /** The idle worker at that place takes the invocation; given back by `free`. */
  take(life: Life, place: number): void {
    assert(place >= 0 && place < this.#idleCount, 'the worker is idle');
    const worker = this.idleAt(place);
    this.#idleCount -= 1;
    this.#idle[place] = this.#idle[this.#idleCount] ?? 0;
    this.#lives[worker] = life;
    this.#keys[worker] = life.key;
    this.#sliceEnds[worker] = never;
    life.worker = worker;
  }

  free(life: Life): void {
    const worker = life.worker;
    assert(this.#lives[worker] === life, 'a worker gives up what it holds');
    this.setSliceEnd(worker, never);
    this.#lives[worker] = undefined;
    this.#keys[worker] = 0;
    this.#idle[this.#idleCount] = worker;
    this.#idleCount += 1;
  }

  sliceEnd(worker: number): Instant {
    return instant(this.#sliceEnds[worker] ?? never);
  }

  setSliceEnd(worker: number, at: Instant): void {
    if (at <= this.#nextEnd) this.#nextEnd = at;
    else if (this.#sliceEnds[worker] === this.#nextEnd) this.#nextEndIsStale = true;
    this.#sliceEnds[worker] = at;
  }

  /** The earliest slice end; `never` when none is set. */
  nextSliceEnd(): Instant {
    if (this.#nextEndIsStale) this.#findNextEnd();
    return instant(this.#nextEnd);
  }

  #findNextEnd(): void {
    let next: number = never;
    for (let worker = 0; worker < this.#sliceEnds.length; worker += 1) {
      const end = this.#sliceEnds[worker] ?? never;
      if (end < next) next = end;
    }
    this.#nextEnd = next;
    this.#nextEndIsStale = false;
  }

  /** Workers beyond the new size hold nothing any more: their invocations were taken out before. */
  resize(size: number): void {
    const lives = new Array<Life | undefined>(size).fill(undefined);
    const keys = new Float64Array(size);
    const sliceEnds = new Float64Array(size).fill(never);
    const idle = new Int32Array(size);
    let idleCount = 0;
    for (let worker = size - 1; worker >= 0; worker -= 1) {
      const life = this.#lives[worker];
      lives[worker] = life;
      keys[worker] = life?.key ?? 0;
      sliceEnds[worker] = this.#sliceEnds[worker] ?? never;
      if (life !== undefined) continue;
      idle[idleCount] = worker;
      idleCount += 1;
    }
    assert(size - idleCount === this.heldCount, 'no worker that goes away holds an invocation');
    this.#lives = lives;
    this.#keys = keys;
    this.#sliceEnds = sliceEnds;
    this.#idle = idle;
    this.#idleCount = idleCount;
    this.#nextEndIsStale = true;
  }
}
