import fc from 'fast-check';
import t from 'tap';
import { burstyCv, cvOf, drawGaps } from '../../src/trace/workload/gaps.js';
import {
  arrivalsInMinute,
  arrivalsOf,
  minuteGaps,
  withinMinuteKinds,
} from '../../src/trace/workload/minutes.js';
import { RandomStream } from '../../src/trace/workload/random.js';

const anySeed = fc.integer({ min: 0, max: 2 ** 32 });

function cvFor(kind: 'poisson' | 'bursty' | 'uniform', count: number, seed: number): number {
  return cvOf(drawGaps(kind, count, new RandomStream(seed, 'gaps')));
}

t.test('the coefficient of variation is 1 for poisson, 2.33 for bursty, 0.58 for uniform gaps', (t) => {
  for (const seed of [1, 2, 3]) {
    t.ok(Math.abs(cvFor('poisson', 50_000, seed) - 1) < 0.03);
    t.ok(Math.abs(cvFor('bursty', 50_000, seed) - burstyCv) < 0.01);
    t.ok(Math.abs(cvFor('uniform', 50_000, seed) - 1 / Math.sqrt(3)) < 0.01);
  }
  t.end();
});

t.test('bursty gaps have a CV of 2.33 in small workloads too, whatever the seed', (t) => {
  fc.assert(
    fc.property(anySeed, fc.integer({ min: 100, max: 600 }), (seed, count) => {
      return Math.abs(cvFor('bursty', count, seed) - burstyCv) < 0.001;
    }),
    { numRuns: 25 },
  );
  t.end();
});

t.test('bursty gaps are spread as the published gaps: shares at most 1/3, 1 and 4 means', (t) => {
  const gaps = drawGaps('bursty', 100_000, new RandomStream(5, 'gaps'));
  const share = (bound: number): number => gaps.filter((gap) => gap <= bound).length / gaps.length;
  t.ok(Math.abs(share(1.5 / 2.97) - 0.562) < 0.03);
  t.ok(Math.abs(share(3.5 / 2.97) - 0.775) < 0.03);
  t.ok(Math.abs(share(10.5 / 2.97) - 0.957) < 0.03);
  t.end();
});

t.test('poisson gaps fill the cells of the exponential distribution evenly', (t) => {
  const gaps = drawGaps('poisson', 100_000, new RandomStream(11, 'gaps'));
  const cells = new Uint32Array(50);
  for (const gap of gaps) {
    const cell = Math.min(49, Math.floor((1 - Math.exp(-gap)) * 50));
    cells[cell] = (cells[cell] ?? 0) + 1;
  }
  const chiSquare = cells.reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0);
  t.ok(chiSquare > 24 && chiSquare < 86, `chi-square ${chiSquare} of 49 degrees lies within its 0.1% tails`);
  t.end();
});

t.test('gaps are positive and have mean 1', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom('poisson', 'bursty', 'uniform'),
      anySeed,
      fc.integer({ min: 1, max: 200 }),
      (kind, seed, count) => {
        const gaps = drawGaps(kind, count, new RandomStream(seed, 'gaps'));
        const sum = gaps.reduce((all, gap) => all + gap, 0);
        return gaps.every((gap) => gap >= 0) && Math.abs(sum / count - 1) < 1e-9;
      },
    ),
    { numRuns: 50 },
  );
  t.end();
});

t.test('the gaps of a minute sum to exactly 60 s', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom(...withinMinuteKinds),
      anySeed,
      fc.integer({ min: 1, max: 3000 }),
      (within, seed, count) => {
        const gaps = minuteGaps(count, within, new RandomStream(seed, 'minute'));
        return gaps.length === count && gaps.reduce((all, gap) => all + gap, 0) === 60_000_000;
      },
    ),
    { numRuns: 60 },
  );
  t.end();
});

t.test('every minute gets exactly its count, within itself and in order', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(40), { maxLength: 12 }),
      fc.constantFrom(...withinMinuteKinds),
      fc.boolean(),
      anySeed,
      (counts, within, shift, seed) => {
        const arrivals = arrivalsOf(counts, { within, shift }, new RandomStream(seed, 'minute'));
        const seen = counts.map(() => 0);
        for (const arrival of arrivals) {
          const minute = Math.floor(arrival / 60_000_000);
          seen[minute] = (seen[minute] ?? 0) + 1;
        }
        t.same(seen, counts);
        return arrivals.every(
          (arrival, index) => Number.isInteger(arrival) && arrival >= (arrivals[index - 1] ?? 0),
        );
      },
    ),
    { numRuns: 60 },
  );
  t.end();
});

t.test('the shift keeps functions from arriving together at the minute start', (t) => {
  const first = (shift: boolean): number[] => {
    const random = new RandomStream(9, 'minute');
    return Array.from(
      { length: 50 },
      () => arrivalsInMinute(1, { within: 'equidistant', shift }, random)[0] ?? -1,
    );
  };
  t.same(new Set(first(false)), new Set([0]));
  t.ok(new Set(first(true)).size > 45);
  t.end();
});
