/**
 * Statistics of samples. Pure.
 *
 * Quantile q of n sorted values x[0..n-1]: linear interpolation at rank h = q (n - 1), that is
 * x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h]); Hyndman and Fan's definition 7 (The American Statistician 50(4), 1996),
 * the default of NumPy, R and spreadsheets, so that anyone gets the same figures from requests.csv.
 *
 * Interval of a ratio of means: percentile bootstrap over paired ids (Efron 1979). Pairs are drawn, not sides, because both
 * sides ran the same request: the spread of durations within a workload then cancels out.
 */
import { assert } from '../../contracts/errors.js';
import { RandomStream } from '../workload/random.js';

/** A sample in short. Same unit as the sample. */
export interface Distribution {
  readonly count: number;
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export function total(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** null for no values: a mean of nothing is not 0. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : total(values) / values.length;
}

export function ascending(values: readonly number[]): readonly number[] {
  return Float64Array.from(values).sort() as unknown as readonly number[];
}

/** @param sorted in rising order, not empty. @param q 0 to 1. */
export function quantileOfSorted(sorted: readonly number[], q: number): number {
  assert(sorted.length > 0 && q >= 0 && q <= 1, 'a quantile between 0 and 1 of at least one value');
  const rank = q * (sorted.length - 1);
  const below = Math.floor(rank);
  const low = sorted[below] ?? 0;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? 0;
  return low + (rank - below) * (high - low);
}

export function quantile(values: readonly number[], q: number): number | null {
  return values.length === 0 ? null : quantileOfSorted(ascending(values), q);
}

/** null for no values. */
export function distributionOf(values: readonly number[]): Distribution | null {
  const average = mean(values);
  if (average === null) return null;
  const sorted = ascending(values);
  return {
    count: sorted.length,
    mean: average,
    median: quantileOfSorted(sorted, 0.5),
    p90: quantileOfSorted(sorted, 0.9),
    p99: quantileOfSorted(sorted, 0.99),
    max: quantileOfSorted(sorted, 1),
  };
}

/** Share of the values for which it holds, 0 to 1; null for no values. */
export function shareOf(values: readonly number[], holds: (value: number) => boolean): number | null {
  return values.length === 0 ? null : values.filter(holds).length / values.length;
}

/** A ratio of means and its 95% interval. */
export interface RatioInterval {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

export interface Pair {
  readonly numerator: number;
  readonly denominator: number;
}

const resamplesDefault = 2000;

/** mean(numerators) / mean(denominators); null for no pairs or a denominator of 0. */
export function ratioOfMeans(
  pairs: readonly Pair[],
  { seed, resamples = resamplesDefault }: { readonly seed: number; readonly resamples?: number },
): RatioInterval | null {
  const tops = pairs.map((pair) => pair.numerator);
  const bottoms = pairs.map((pair) => pair.denominator);
  if (total(bottoms) <= 0) return null;
  const random = new RandomStream(seed, 'bootstrap');
  const ratios: number[] = [];
  for (let round = 0; round < resamples; round += 1) {
    let top = 0;
    let bottom = 0;
    for (let draw = 0; draw < pairs.length; draw += 1) {
      const index = random.below(pairs.length);
      top += tops[index] ?? 0;
      bottom += bottoms[index] ?? 0;
    }
    if (bottom > 0) ratios.push(top / bottom);
  }
  const sorted = ascending(ratios);
  if (sorted.length === 0) return null;
  return {
    ratio: total(tops) / total(bottoms),
    low: quantileOfSorted(sorted, 0.025),
    high: quantileOfSorted(sorted, 0.975),
  };
}
