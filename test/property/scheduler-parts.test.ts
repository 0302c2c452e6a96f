/** The policy's data structures against plain models of them. */
import fc from 'fast-check';
import t from 'tap';
import { duration, instant } from '../../src/contracts/time.js';
import { FilterBudget } from '../../src/scheduler/filter-budget.js';
import { FilterPool } from '../../src/scheduler/filter-pool.js';
import { never } from '../../src/scheduler/limits.js';
import { Life } from '../../src/scheduler/lives.js';
import { SliceEstimator } from '../../src/scheduler/slice-estimator.js';
import { noSlot, SlotRing } from '../../src/scheduler/slot-ring.js';
import { busiestWindow, naiveSlice, type Span, usedIn } from './naive.js';

const seed = Number(process.env.SFSD_TEST_SEED ?? Date.now() % 2 ** 31);
const capacity = 8;

t.comment(`seed ${seed}`);

t.test('a slot ring behaves like an array', async (t) => {
  const operation = fc.record({
    kind: fc.constantFrom('enqueue', 'enqueue', 'enqueueFirst', 'dequeue', 'remove'),
    slot: fc.nat(capacity - 1),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
      const ring = new SlotRing(capacity);
      let model: number[] = [];
      for (const { kind, slot } of operations) {
        const isIn = model.includes(slot);
        if (kind === 'enqueue' && !isIn) {
          ring.enqueue(slot);
          model.push(slot);
        }
        if (kind === 'enqueueFirst' && !isIn) {
          ring.enqueueFirst(slot);
          model.unshift(slot);
        }
        if (kind === 'remove' && isIn) {
          ring.remove(slot);
          model = model.filter((other) => other !== slot);
        }
        if (kind === 'dequeue' && ring.dequeue() !== (model.shift() ?? noSlot)) return false;
        if (ring.length !== model.length || ring.first !== (model[0] ?? noSlot)) return false;
        for (let each = 0; each < capacity; each += 1) {
          if (ring.has(each) !== model.includes(each)) return false;
        }
      }
      return true;
    }),
    { seed, numRuns: 500 },
  );
  t.pass();
});

t.test(
  'the earliest slice end is the least of all, whatever was set, freed and resized before',
  async (t) => {
    const operation = fc.record({
      kind: fc.constantFrom('take', 'take', 'set', 'set', 'set', 'free', 'resize'),
      worker: fc.nat(capacity - 1),
      at: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 100 }), (operations) => {
        const pool = new FilterPool(capacity);
        for (const { kind, worker, at } of operations) {
          const life = pool.held(worker);
          if (kind === 'take' && pool.idleCount > 0) pool.take(new Life(0), at % pool.idleCount);
          if (kind === 'set' && life !== undefined) pool.setSliceEnd(worker, instant(at));
          if (kind === 'free' && life !== undefined) pool.free(life);
          if (kind === 'resize' && pool.heldCount === 0) pool.resize(1 + worker);
          let least: number = never;
          for (let each = 0; each < pool.size; each += 1) least = Math.min(least, pool.sliceEnd(each));
          if (pool.nextSliceEnd() !== least) return false;
        }
        return true;
      }),
      { seed, numRuns: 500 },
    );
    t.pass();
  },
);

t.test('S is what the whole history of arrivals says', async (t) => {
  const history = fc.array(fc.integer({ min: -2000, max: 50_000 }), { maxLength: 60 });
  fc.assert(
    fc.property(
      history,
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 72 }),
      (gaps, window, workers) => {
        const bounds = { sliceInitial: 20_000, sliceMin: 2000, sliceMax: 1_000_000, gapMax: 40_000 };
        const estimator = new SliceEstimator({
          window,
          workers,
          sliceInitial: duration(bounds.sliceInitial),
          sliceMin: duration(bounds.sliceMin),
          sliceMax: duration(bounds.sliceMax),
          gapMax: duration(bounds.gapMax),
        });
        let at = 0;
        const arrivals = gaps.map((gap, order) => {
          at += gap;
          return { at, countedAt: 0, order };
        });
        return arrivals.every((arrival, index) => {
          estimator.arrive(instant(arrival.at));
          return estimator.slice === naiveSlice(arrivals.slice(0, index + 1), { window, workers, ...bounds });
        });
      },
    ),
    { seed, numRuns: 500 },
  );
  t.pass();
});

t.test('FILTER that is busy only while its budget allows leaves the gap in every window', async (t) => {
  const turn = fc.record({
    busy: fc.nat(150_000),
    idle: fc.oneof(fc.nat(200), fc.nat(3000), fc.nat(20_000)),
    // Of the time in which FILTER is idle, what the daemon itself takes.
    ownShare: fc.constantFrom(0, 0, 0.1, 0.5),
  });
  const share = fc.constantFrom(0.93, 0.5, 0.07);
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 200 }), share, (turns, share) => {
      const window = duration(100_000);
      const budget = new FilterBudget({ share, window });
      const spans: Span[] = [];
      /** The daemon's own work: while FILTER is idle nobody can keep it within the budget, but FILTER makes up for it. */
      const ownSpans: Span[] = [];
      let now = 0;
      let madeUp = true;
      let own = 0;
      for (const { busy, idle, ownShare } of turns) {
        budget.start(instant(now), duration(own));
        const to = Math.min(now + busy, budget.pauseAt);
        budget.stop(instant(to), duration(own));
        spans.push({ from: now, to });
        if (to > now) madeUp &&= usedIn([...spans, ...ownSpans], to - window, to) <= share * window + 1;
        now = to + idle;
        const used = Math.floor(idle * ownShare);
        if (budget.exhausted(instant(now), duration(own + used)))
          now += budget.missing(instant(now), duration(own + used));
        own += used;
        ownSpans.push({ from: to, to: to + used });
      }
      const most = busiestWindow(spans, window);
      return madeUp && most <= share * window + 1e-6;
    }),
    { seed, numRuns: 300 },
  );
  t.pass();
});
