/**
 * By worker, the rank of what it held when it was looked at last. Scanned whole: for the 72 workers of a large host that costs less than
 * keeping them in order.
 */
import type { FilterPool } from '../filter-pool.js';

/** Of one that has waited too long: before all others. */
export const agedRank = -1;

export class HeldRanks {
  readonly #pool: FilterPool;
  #ranks: Float64Array;

  constructor(pool: FilterPool) {
    this.#pool = pool;
    this.#ranks = new Float64Array(pool.size);
  }

  /** One for each worker; what an idle one has means nothing. */
  get all(): ArrayLike<number> {
    return this.#ranks;
  }

  get(worker: number): number {
    return this.#ranks[worker] ?? 0;
  }

  set(worker: number, rank: number): void {
    this.#ranks[worker] = rank;
  }

  /** After the pool's. */
  resize(): void {
    const ranks = new Float64Array(this.#pool.size);
    ranks.set(this.#ranks.subarray(0, ranks.length));
    this.#ranks = ranks;
  }

  /** The worker that holds the worst, when all hold something. */
  worst(): number {
    let worst = 0;
    for (let worker = 1; worker < this.#ranks.length; worker += 1)
      if (this.get(worker) > this.get(worst)) worst = worker;
    return worst;
  }

  /** How many hold what has waited too long. */
  countAged(): number {
    let aged = 0;
    for (let worker = 0; worker < this.#ranks.length; worker += 1)
      if (this.get(worker) < 0 && this.#pool.held(worker) !== undefined) aged += 1;
    return aged;
  }
}
