/**
 * The slice S, the CPU time that an invocation may use in FILTER (paper, section V-C):
 *
 *   S = mean(last N inter-arrival times) x c        kept within sliceMin and sliceMax
 *
 * recomputed whenever N new gaps have come, so the window is exactly the gaps since the last time and one sum holds it.
 * Gaps stay in microseconds until the last step: whole milliseconds would turn S into 0 or 1 ms at a thousand arrivals a
 * second. A gap is capped at gapMax, so that an idle hour does not set S. c is part of the formula: when it changes, S
 * changes at once, from the mean that is known.
 */
import { clampDuration, type Duration, duration, type Instant, noTime } from '../contracts/time.js';

export interface SliceRule {
  readonly workers: number;
  readonly window: number;
  readonly sliceInitial: Duration;
  readonly sliceMin: Duration;
  readonly sliceMax: Duration;
  readonly sliceFixed?: Duration;
  readonly gapMax: Duration;
}

export class SliceEstimator {
  readonly #rule: SliceRule;
  #workers: number;
  #slice: Duration;
  #gaps = 0;
  #gapSum = 0;
  #lastArrivalAt: Instant | undefined;
  /** Microseconds, not rounded. */
  #mean: number | undefined;

  constructor(rule: SliceRule) {
    this.#rule = rule;
    this.#workers = rule.workers;
    this.#slice = rule.sliceFixed ?? rule.sliceInitial;
  }

  /** S now. */
  get slice(): Duration {
    return this.#slice;
  }

  /** The mean gap that S stands on; 0 before the first window. */
  get meanGap(): Duration {
    return this.#mean === undefined ? noTime : duration(this.#mean);
  }

  /**
   * Counts one arrival. Arrivals that are told of out of order add no negative gap: the later one has covered their time.
   * @returns whether S was recomputed.
   */
  arrive(at: Instant): boolean {
    if (this.#rule.sliceFixed !== undefined) return false;
    const last = this.#lastArrivalAt;
    if (last === undefined) {
      this.#lastArrivalAt = at;
      return false;
    }
    if (at > last) {
      this.#gapSum += Math.min(at - last, this.#rule.gapMax);
      this.#lastArrivalAt = at;
    }
    this.#gaps += 1;
    if (this.#gaps < this.#rule.window) return false;
    this.#mean = this.#gapSum / this.#gaps;
    this.#gaps = 0;
    this.#gapSum = 0;
    this.#recompute(this.#mean);
    return true;
  }

  /** @returns whether S was recomputed. */
  setWorkers(workers: number): boolean {
    this.#workers = workers;
    if (this.#mean === undefined) return false;
    this.#recompute(this.#mean);
    return true;
  }

  #recompute(mean: number): void {
    this.#slice = clampDuration(duration(mean * this.#workers), {
      min: this.#rule.sliceMin,
      max: this.#rule.sliceMax,
    });
  }
}
