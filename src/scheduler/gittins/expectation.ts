/**
 * Ranks of a run whose caller says what CPU time to expect (`expectedMs`): as if it were log-normal around that, give or take a third.
 * Buckets are even on a logarithmic axis, so one table serves every expectation, shifted.
 *
 * A run that has outlived what was expected has no use for it any more: its function's history counts again.
 */
import type { Duration } from '../../contracts/time.js';
import { bucketCount, bucketOf, bucketStart } from './duration-buckets.js';
import { computeRanks } from './rank-table.js';

/** Standard deviation, in buckets: ln(2) / 4 each. */
const spread = 2;
/** From here on, in buckets beyond the expected one, an expectation is outlived. */
const outlivedBy = 5;
const middle = bucketCount >> 1;

const ranks = (() => {
  const weights = Float64Array.from({ length: bucketCount }, (_, bucket) => {
    const off = bucket - middle;
    return Math.abs(off) < outlivedBy ? Math.exp(-0.5 * (off / spread) ** 2) : 0;
  });
  const table = new Float64Array(bucketCount);
  computeRanks(weights, table);
  return table;
})();

/** Microseconds, lower is better; undefined: it has been outlived. */
export function expectedRankAt(bucket: number, expected: Duration): number | undefined {
  const shift = bucketOf(expected) - middle;
  const at = bucket - shift;
  if (at >= middle + outlivedBy) return undefined;
  const scale = bucketStart(middle + shift) / bucketStart(middle);
  return scale * (ranks[Math.max(0, at)] ?? 0);
}
