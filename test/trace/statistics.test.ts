/**
 * Statistics against hand-computed cases, and against naive versions for any sample.
 */
import fc from 'fast-check';
import t from 'tap';
import { distributionOf, mean, quantile, ratioOfMeans, shareOf } from '../../src/trace/replay/statistics.js';
import { RandomStream } from '../../src/trace/workload/random.js';

const sample = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 60 });

t.test('quantiles interpolate between ranks, as definition 7 says', async (t) => {
  t.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
  t.equal(quantile([10, 20, 30, 40, 50], 0.9), 46);
  t.equal(quantile([10, 20, 30, 40, 50], 0), 10);
  t.equal(quantile([10, 20, 30, 40, 50], 1), 50);
  t.equal(quantile([7], 0.99), 7);
});

t.test('no values have no mean, no quantile and no distribution', async (t) => {
  t.equal(mean([]), null);
  t.equal(quantile([], 0.5), null);
  t.equal(distributionOf([]), null);
  t.equal(
    shareOf([], () => true),
    null,
  );
  t.equal(ratioOfMeans([], { seed: 1 }), null);
});

t.test('numbers are sorted as numbers, not as text', async (t) => {
  t.equal(quantile([9, 10, 100], 0.5), 10);
});

t.test('a quantile lies where a naive sort says', async () => {
  fc.assert(
    fc.property(sample, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
      const sorted = [...values].sort((left, right) => left - right);
      const rank = q * (sorted.length - 1);
      const low = sorted[Math.floor(rank)] ?? Number.NaN;
      const high = sorted[Math.ceil(rank)] ?? Number.NaN;
      const found = quantile(values, q) ?? Number.NaN;
      const slack = 1e-9 * (1 + high);
      return found >= low - slack && found <= high + slack;
    }),
  );
});

t.test('median, p90, p99 and max rise in this order, and the mean lies within the sample', async () => {
  fc.assert(
    fc.property(sample, (values) => {
      const found = distributionOf(values);
      if (found === null) return false;
      const { median, p90, p99, max } = found;
      const slack = 1e-9 * (1 + max);
      const least = Math.min(...values);
      return (
        median <= p90 + slack &&
        p90 <= p99 + slack &&
        p99 <= max + slack &&
        found.mean >= least - slack &&
        found.mean <= max + slack
      );
    }),
  );
});

t.test('a ratio of means is over sums, not a mean of ratios', async (t) => {
  const pairs = [
    { numerator: 10, denominator: 100 },
    { numerator: 30, denominator: 100 },
  ];
  t.equal(ratioOfMeans(pairs, { seed: 1 })?.ratio, 0.2);
});

t.test(
  'an interval holds its ratio, is the same for the same seed, and closes when all pairs agree',
  async (t) => {
    const random = new RandomStream(3, 'sample');
    const pairs = Array.from({ length: 80 }, () => ({
      numerator: 50 + 50 * random.uniform(),
      denominator: 100,
    }));
    const found = ratioOfMeans(pairs, { seed: 1 });
    if (found === null) throw new Error('no interval');
    t.ok(found.low < found.ratio && found.ratio < found.high, `${found.low} ${found.ratio} ${found.high}`);
    t.ok(found.high - found.low < 0.1, 'as narrow as 80 pairs allow');
    t.same(ratioOfMeans(pairs, { seed: 1 }), found);
    const agreeing = Array.from({ length: 10 }, () => ({ numerator: 2, denominator: 4 }));
    t.same(ratioOfMeans(agreeing, { seed: 1 }), { ratio: 0.5, low: 0.5, high: 0.5 });
  },
);
