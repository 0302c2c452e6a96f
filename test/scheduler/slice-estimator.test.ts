import t from 'tap';
import { duration, fromMs, instant } from '../../src/contracts/time.js';
import { SliceEstimator, type SliceRule } from '../../src/scheduler/slice-estimator.js';

const rule: SliceRule = {
  workers: 16,
  window: 4,
  sliceInitial: fromMs(20),
  sliceMin: fromMs(2),
  sliceMax: fromMs(1000),
  gapMax: fromMs(10_000),
};

function feed(estimator: SliceEstimator, arrivals: readonly number[]): void {
  for (const at of arrivals) estimator.arrive(instant(at));
}

t.test('S is the initial slice until N gaps have come, then their mean times c', async (t) => {
  const estimator = new SliceEstimator(rule);
  feed(estimator, [1000, 2000, 4000, 7000]);
  t.equal(estimator.slice, fromMs(20));
  t.equal(estimator.arrive(instant(11_000)), true);
  t.equal(estimator.slice, ((1000 + 2000 + 3000 + 4000) / 4) * 16);
  t.equal(estimator.meanGap, 2500);
});

t.test('S changes only every N arrivals, and only the last N gaps count', async (t) => {
  const estimator = new SliceEstimator(rule);
  feed(estimator, [0, 1000, 2000, 3000, 4000]);
  t.equal(estimator.slice, 16_000);
  feed(estimator, [6000, 8000, 10_000]);
  t.equal(estimator.slice, 16_000);
  feed(estimator, [12_000]);
  t.equal(estimator.slice, 32_000);
});

t.test('gaps below a millisecond count in full', async (t) => {
  const estimator = new SliceEstimator({ ...rule, window: 3, workers: 10 });
  feed(estimator, [0, 333, 667, 1001]);
  t.equal(estimator.slice, Math.round((1001 / 3) * 10));
});

t.test('S stays within sliceMin and sliceMax', async (t) => {
  const estimator = new SliceEstimator(rule);
  feed(estimator, [0, 1, 2, 3, 4]);
  t.equal(estimator.slice, fromMs(2));
  feed(estimator, [1e6, 2e6, 3e6, 4e6]);
  t.equal(estimator.slice, fromMs(1000));
});

t.test('an idle hour counts as gapMax', async (t) => {
  const estimator = new SliceEstimator({ ...rule, workers: 1, sliceMax: duration(1e9), window: 2 });
  feed(estimator, [0, 1000, 3_600_000_000]);
  t.equal(estimator.slice, (1000 + 10_000_000) / 2);
});

t.test('arrivals told of out of order add no negative gap', async (t) => {
  const estimator = new SliceEstimator({ ...rule, workers: 1, window: 3 });
  feed(estimator, [0, 9000, 5000, 12_000]);
  t.equal(estimator.slice, 4000);
});

t.test('a change of c changes S at once', async (t) => {
  const estimator = new SliceEstimator(rule);
  t.equal(estimator.setWorkers(8), false);
  feed(estimator, [0, 1000, 2000, 3000, 4000]);
  t.equal(estimator.slice, 8000);
  t.equal(estimator.setWorkers(4), true);
  t.equal(estimator.slice, 4000);
});

t.test('a fixed slice never changes', async (t) => {
  const estimator = new SliceEstimator({ ...rule, sliceFixed: fromMs(7) });
  feed(estimator, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  estimator.setWorkers(3);
  t.equal(estimator.slice, fromMs(7));
});
