import t from 'tap';
import { fromMs, instant, noTime } from '../../src/contracts/time.js';
import { FilterBudget } from '../../src/scheduler/filter-budget.js';
import { never } from '../../src/scheduler/limits.js';

const at = (ms: number) => instant(ms * 1000);
const newBudget = () => new FilterBudget({ share: 0.93, window: fromMs(100) });

t.test('after a long idle time FILTER may be busy for 93 of 100 ms', async (t) => {
  const budget = newBudget();
  t.equal(budget.gap, fromMs(7));
  t.equal(budget.pauseAt, never);
  budget.start(at(500), noTime);
  t.equal(budget.pauseAt, at(593));
  t.equal(budget.used(at(593)), fromMs(93));
});

t.test('a whole gap buys the next 93 ms, period after period', async (t) => {
  const budget = newBudget();
  budget.start(at(0), noTime);
  for (let period = 0; period < 5; period += 1) {
    t.equal(budget.pauseAt, at(93 + 100 * period));
    budget.stop(budget.pauseAt, noTime);
    budget.start(at(100 + 100 * period), noTime);
  }
});

t.test('idle times that are still in the window count, in pieces too', async (t) => {
  const budget = newBudget();
  budget.start(at(0), noTime);
  budget.stop(at(40), noTime);
  budget.start(at(44), noTime);
  // 4 ms of [40, 44] and the last 3 ms before 0.
  t.equal(budget.pauseAt, at(97));
  budget.stop(at(60), noTime);
  budget.start(at(65), noTime);
  // 5 ms of [60, 65] and the last 2 ms before 44.
  t.equal(budget.pauseAt, at(142));
});

t.test(
  'a window that straddles two busy times gets its gap: the limit is sliding, not tumbling',
  async (t) => {
    const budget = newBudget();
    budget.start(at(0), noTime);
    budget.stop(at(90), noTime);
    budget.start(at(92), noTime);
    // Tumbling windows would allow 93 ms more from 100; [0, 100] holds 2 ms after 0.
    t.equal(budget.pauseAt, at(95));
  },
);

t.test('FILTER may not start when the window has nothing left', async (t) => {
  const budget = newBudget();
  budget.start(at(0), noTime);
  budget.stop(at(93), noTime);
  t.equal(budget.exhausted(at(94), noTime), true);
  t.equal(budget.exhausted(at(99.9), noTime), true);
  t.equal(budget.exhausted(at(100), noTime), false);
});

t.test('idle times too short to remember count as busy', async (t) => {
  const budget = newBudget();
  budget.start(at(0), noTime);
  for (let ms = 1; ms < 93; ms += 1) {
    budget.stop(at(ms), noTime);
    budget.start(at(ms + 0.1), noTime);
  }
  t.equal(budget.pauseAt, at(93));
});

t.test('many short idle times never make it forget a whole gap', async (t) => {
  const budget = newBudget();
  for (let index = 0; index < 500; index += 1) {
    budget.start(at(index), noTime);
    t.ok(budget.pauseAt >= at(index) && budget.pauseAt <= at(index + 93));
    budget.stop(at(index + 0.8), noTime);
  }
});

t.test('a share of 1 turns it off', async (t) => {
  const budget = new FilterBudget({ share: 1, window: fromMs(100) });
  budget.start(at(0), noTime);
  t.equal(budget.pauseAt, never);
  budget.stop(at(1000), noTime);
  t.equal(budget.exhausted(at(1000), noTime), false);
});
