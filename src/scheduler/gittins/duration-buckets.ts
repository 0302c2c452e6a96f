/**
 * CPU times in buckets, four to an octave, from half a millisecond to three minutes and beyond:
 *
 *   bucket   0            1                 2                     ...  last
 *   from     0       500 us     500 us x 2^(1/4)    500 us x 2^(2/4)    ...  no upper end
 *
 * A distribution is then a few dozen numbers whatever a function does, and two durations are told apart from 19% on. Durations of one
 * function differ by more than that: by 40 to 60% (coefficient of variation) for the median function of the Azure trace.
 */
import { type Duration, duration } from '../../contracts/time.js';

const firstEdge = 500;
const perOctave = 4;
const octaves = 18;

export const bucketCount = octaves * perOctave + 2;

/** Where a bucket begins; of `bucketCount`, where the last one is taken to end. Microseconds. */
const edges = Float64Array.from({ length: bucketCount + 1 }, (_, bucket) =>
  bucket === 0 ? 0 : firstEdge * 2 ** ((bucket - 1) / perOctave),
);

export function bucketOf(time: Duration): number {
  if (time < firstEdge) return 0;
  const bucket = 1 + Math.floor(Math.log2(time / firstEdge) * perOctave);
  return bucket < bucketCount ? bucket : bucketCount - 1;
}

export function bucketStart(bucket: number): Duration {
  return duration(edges[bucket] ?? 0);
}

export function bucketEnd(bucket: number): Duration {
  return duration(edges[bucket + 1] ?? Number.POSITIVE_INFINITY);
}

/** What a CPU time of that bucket is taken to be. */
export function bucketMiddle(bucket: number): number {
  return ((edges[bucket] ?? 0) + (edges[bucket + 1] ?? 0)) / 2;
}
