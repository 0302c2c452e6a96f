/**
 * Ranks by the CPU time already used, from a distribution of CPU times X in buckets (Gittins 1979; Scully, Grosof and Harchol-Balter,
 * "The Gittins policy is nearly optimal in the M/G/k", SIGMETRICS 2020):
 *
 *   rank(a) = min over D > 0 of  E[min(X - a, D) | X > a] / P(X - a <= D | X > a)
 *
 * the CPU time that has to be spent for one expected completion, if one may stop after D. Lower is better. As X lives in buckets, D need
 * only be tried up to bucket ends, and the rank is taken where a bucket begins and holds for all of it: within a bucket it would fall
 * a little, at its end it may rise.
 */
import { bucketCount, bucketEnd, bucketMiddle, bucketStart } from './duration-buckets.js';

/**
 * @param weights how much of X lies in each bucket, in any unit, some above 0.
 * @param ranks written to: microseconds by bucket.
 */
export function computeRanks(weights: Float64Array, ranks: Float64Array): void {
  let above = 0;
  for (let from = bucketCount - 1; from >= 0; from -= 1) {
    above += weights[from] ?? 0;
    ranks[from] = rankFrom(weights, from, above);
  }
}

/** @param above weight of this bucket and all later ones. */
function rankFrom(weights: Float64Array, from: number, above: number): number {
  const start = bucketStart(from);
  let best = Number.POSITIVE_INFINITY;
  let completed = 0;
  let spent = 0;
  for (let to = from; to < bucketCount; to += 1) {
    const weight = weights[to] ?? 0;
    if (weight === 0) continue;
    completed += weight;
    spent += weight * (bucketMiddle(to) - start);
    const rank = (spent + (above - completed) * (bucketEnd(to) - start)) / completed;
    if (rank < best) best = rank;
  }
  return best;
}
