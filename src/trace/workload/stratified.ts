/**
 * Exact shares instead of random ones. Two random workloads of 400 requests differ more in their few long requests than two policies
 * differ on one of them; so a comparison workload takes evenly spaced quantiles, and only their order is drawn.
 */
import type { RandomStream } from './random.js';

/** (i + 1/2) / count for each i, in random order: every share of the distribution is kept to within one request. */
export function stratifiedQuantiles(count: number, random: RandomStream): readonly number[] {
  const quantiles = Array.from({ length: count }, (_, index) => (index + 0.5) / count);
  random.shuffle(quantiles);
  return quantiles;
}

/** Uniform quantiles in (0, 1). */
export function randomQuantiles(count: number, random: RandomStream): readonly number[] {
  return Array.from({ length: count }, () => random.uniform() || Number.EPSILON);
}

/** Integers that sum to `total`, proportional to the weights (largest remainder, ties to the first). */
export function apportion(total: number, weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const exact = weights.map((weight) => (sum === 0 ? 0 : (total * weight) / sum));
  const shares = exact.map(Math.floor);
  const missing = total - shares.reduce((all, share) => all + share, 0);
  const byRemainder = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .sort((left, right) => right.remainder - left.remainder || left.index - right.index);
  for (const { index } of byRemainder.slice(0, missing)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}
