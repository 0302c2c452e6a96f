/** Ranks against their definition, and where they can be told by hand. */
import t from 'tap';
import { duration, fromMs } from '../../../src/contracts/time.js';
import {
  bucketCount,
  bucketEnd,
  bucketMiddle,
  bucketOf,
  bucketStart,
} from '../../../src/scheduler/gittins/duration-buckets.js';
import { computeRanks } from '../../../src/scheduler/gittins/rank-table.js';
import { RandomStream } from '../../../src/trace/workload/random.js';

t.test('every CPU time is in the bucket that holds it', (t) => {
  const random = new RandomStream(1, 'buckets');
  const times = [0, 1, 499, 500, 501, 1000, 1e6, 1e12];
  for (let count = 0; count < 2000; count += 1) times.push(Math.floor(2 ** (random.uniform() * 40)));
  const faults = times.filter((time) => {
    const bucket = bucketOf(duration(time));
    const last = bucket === bucketCount - 1;
    // Starts are whole microseconds: a time just below one may be told either way.
    return time < bucketStart(bucket) - 1 || (!last && time > bucketEnd(bucket) + 1);
  });
  t.same(faults, []);
  t.end();
});

t.test('a certain CPU time: the rank is what is left of it', (t) => {
  const weights = new Float64Array(bucketCount);
  const ranks = new Float64Array(bucketCount);
  const bucket = bucketOf(fromMs(100));
  weights[bucket] = 3;
  computeRanks(weights, ranks);
  t.ok(Math.abs((ranks[0] ?? 0) - bucketMiddle(bucket)) < 1e-6);
  const half = bucketOf(fromMs(50));
  t.equal(ranks[half], bucketMiddle(bucket) - bucketStart(half));
  t.equal(ranks[bucket + 1], Number.POSITIVE_INFINITY, 'none of them gets there');
  t.end();
});

t.test(
  'nine of ten are short: ranked by the short ones at first, by the long one once it has outlived them',
  (t) => {
    const weights = new Float64Array(bucketCount);
    const ranks = new Float64Array(bucketCount);
    const [short, long] = [bucketOf(fromMs(10)), bucketOf(fromMs(5000))];
    weights[short] = 9;
    weights[long] = 1;
    computeRanks(weights, ranks);
    const expected = (9 * bucketMiddle(short) + bucketEnd(short)) / 9;
    t.ok(Math.abs((ranks[0] ?? 0) - expected) < 1e-6, `${ranks[0]} is ${expected}`);
    t.equal(ranks[short + 1], bucketMiddle(long) - bucketStart(short + 1));
    t.end();
  },
);

t.test('any distribution: the least over all stops of spent by completed', (t) => {
  const random = new RandomStream(7, 'ranks');
  for (let round = 0; round < 200; round += 1) {
    const weights = Float64Array.from({ length: bucketCount }, () =>
      random.uniform() < 0.3 ? random.uniform() : 0,
    );
    weights[bucketCount - 1] = 0.01;
    const ranks = new Float64Array(bucketCount);
    computeRanks(weights, ranks);
    const from = Math.floor(random.uniform() * bucketCount);
    t.ok(Math.abs((ranks[from] ?? 0) / naive(weights, from) - 1) < 1e-9, `round ${round}, bucket ${from}`);
  }
  t.end();
});

/** Each stop apart, each bucket apart. */
function naive(weights: Float64Array, from: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let stop = from; stop < bucketCount; stop += 1) {
    let spent = 0;
    let completed = 0;
    for (let bucket = from; bucket < bucketCount; bucket += 1) {
      const weight = weights[bucket] ?? 0;
      if (bucket <= stop) completed += weight;
      spent += weight * ((bucket <= stop ? bucketMiddle(bucket) : bucketEnd(stop)) - bucketStart(from));
    }
    if (completed > 0) best = Math.min(best, spent / completed);
  }
  return best;
}
