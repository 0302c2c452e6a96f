/**
 * The ranks of live invocations, by the slot of their record: what is believed of the function, what the caller expects, and the weight.
 *
 *   rank = expected ? as expected, until it is outlived : the belief's, by the CPU time used        / weight
 */
import type { Submission } from '../../contracts/invocation.js';
import { type Duration, difference, duration, fromMs } from '../../contracts/time.js';
import type { Life } from '../lives.js';
import { bucketCount, bucketOf, bucketStart } from './duration-buckets.js';
import type { DurationBelief, DurationHistory } from './duration-history.js';
import { expectedRankAt } from './expectation.js';

/** A turn is at most this long, and no shorter than what a look at it is worth. */
const turnMax = fromMs(1000);
const turnMin = fromMs(1);

export class Ranks {
  readonly #history: DurationHistory;
  readonly #beliefs: (DurationBelief | undefined)[] = [];
  readonly #weights: number[] = [];
  readonly #expectations: (Duration | undefined)[] = [];

  constructor(history: DurationHistory) {
    this.#history = history;
  }

  /** @returns the CPU time that it is expected to use. */
  open({ slot }: Life, { functionName, weight = 1, expected }: Submission): Duration {
    const belief = this.#history.beliefOf(functionName);
    this.#beliefs[slot] = belief;
    this.#weights[slot] = weight;
    this.#expectations[slot] = expected;
    return expected ?? duration(belief.mean);
  }

  /** @param learn its CPU time is known, and that of a whole run. */
  close({ slot, cpuUsed }: Life, learn: boolean): void {
    if (learn) this.#beliefs[slot]?.learn(cpuUsed);
    this.#beliefs[slot] = undefined;
  }

  /** By its last reading, which may be `lag` behind. Microseconds, lower is better. */
  of(life: Life, lag = 0): number {
    return this.#at(life.slot, bucketOf(duration(life.cpuUsed + lag)));
  }

  /** CPU time until the next bucket whose rank is worse; from a reading that may be `lag` behind. */
  turnOf({ slot, cpuUsed }: Life, lag = 0): Duration {
    const first = bucketOf(duration(cpuUsed + lag));
    const rank = this.#at(slot, first);
    for (let bucket = first + 1; bucket < bucketCount; bucket += 1) {
      const length = difference(bucketStart(bucket), cpuUsed);
      if (length >= turnMax) break;
      if (length >= turnMin && this.#at(slot, bucket) > rank) return length;
    }
    return turnMax;
  }

  #at(slot: number, bucket: number): number {
    const expected = this.#expectations[slot];
    const told = expected === undefined ? undefined : expectedRankAt(bucket, expected);
    return (told ?? this.#beliefs[slot]?.rankAt(bucket) ?? 0) / (this.#weights[slot] ?? 1);
  }
}
