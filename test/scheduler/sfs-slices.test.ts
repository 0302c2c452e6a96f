/** What a slice is worth: its end, blocking, starving, several threads, the budget's pauses. */
import t from 'tap';
import { duration, fromMs, instant } from '../../src/contracts/time.js';
import { burn, burnSleepBurn, Driver } from './driver.js';

const lag = fromMs(4);

t.test(
  'an invocation that uses up its slice is demoted once, on time, and ends under the fair scheduler',
  async (t) => {
    for (const observationLag of [duration(0), lag]) {
      const driver = new Driver({}, { observationLag, seed: 3 });
      const key = driver.start(burn(50));
      driver.runFor(60);
      t.same(driver.log.kindsOf(key), ['arrived', 'promoted', 'demoted', 'ended']);
      t.match(driver.log.of('demoted')[0], { at: 20_000, cpuTime: 20_000, value: 0, extra: 20_000 });
      t.equal(driver.kernel.inspect(driver.group(key)).chargedCpu, 20_000);
    }
  },
);

t.test('a maximum of its own bounds the slice of one invocation, and S of no other', async (t) => {
  const driver = new Driver({}, { observationLag: lag, seed: 3 });
  const bounded = driver.start(burn(50), { sliceMax: fromMs(7) });
  driver.runFor(60);
  const roomy = driver.start(burn(50), { sliceMax: fromMs(500) });
  driver.runFor(60);
  const demoted = driver.log.of('demoted');
  t.match(demoted[0], { key: bounded, cpuTime: 7000, extra: 7000 });
  t.match(demoted[1], { key: roomy, cpuTime: 20_000, extra: 20_000 }, 'S, which is less');
  t.equal(driver.scheduler.view.slice, 20_000);
});

t.test('the slice of the first pick-up binds for good', async (t) => {
  const driver = new Driver({ window: 1, workers: 1, overloadFactor: Number.POSITIVE_INFINITY });
  const key = driver.start(burnSleepBurn(5, 20, 50));
  driver.runFor(2);
  driver.start(burn(1));
  t.equal(driver.scheduler.view.slice, 2000);
  driver.runFor(100);
  t.same(driver.log.kindsOf(key).slice(0, 6), [
    'arrived',
    'promoted',
    'blocked',
    'woken',
    'promoted',
    'demoted',
  ]);
  t.match(driver.log.of('demoted')[0], { key, value: 0, extra: 20_000 });
  // What it used between its wake and the poll that saw it is not charged.
  t.equal(driver.kernel.inspect(driver.group(key)).chargedCpu, 20_000);
});

t.test(
  'blocking gives up the worker and keeps the unused slice; a wake queues again and is no arrival',
  async (t) => {
    const driver = new Driver({ workers: 1 });
    const sleeper = driver.start(burnSleepBurn(5, 30, 10));
    const other = driver.start(burn(8));
    driver.runFor(100);
    t.same(driver.log.kindsOf(sleeper), ['arrived', 'promoted', 'blocked', 'woken', 'promoted', 'ended']);
    t.match(driver.log.of('blocked')[0], { at: 8000, value: 15_000, cpuTime: 5000, worker: 0 });
    t.match(driver.log.of('promoted')[1], { key: other, at: 8000 });
    t.match(driver.log.of('woken')[0], { at: 36_000, value: 15_000, extra: 28_000 });
    t.match(driver.log.of('promoted')[2], { key: sleeper, extra: 0 });
    t.equal(driver.scheduler.view.counters.arrivals, 2);
  },
);

t.test('a wake counts its queue delay from the wake', async (t) => {
  const driver = new Driver({ workers: 1, sliceFixed: fromMs(10) });
  const sleeper = driver.start(burnSleepBurn(1, 200, 1));
  driver.runFor(200);
  driver.start(burn(8));
  driver.runFor(100);
  t.same(driver.log.kindsOf(sleeper), ['arrived', 'promoted', 'blocked', 'woken', 'promoted', 'ended']);
});

t.test('an invocation that sleeps when it is picked up takes no worker', async (t) => {
  const driver = new Driver({ workers: 1 });
  const sleeper = driver.start(burnSleepBurn(0, 30, 10));
  const other = driver.start(burn(8));
  t.same(driver.log.kindsOf(sleeper), ['arrived', 'blocked']);
  t.same(driver.log.kindsOf(other), ['arrived', 'promoted']);
  driver.runFor(100);
  t.same(driver.log.kindsOf(sleeper), ['arrived', 'blocked', 'woken', 'promoted', 'ended']);
});

t.test('a wake with next to nothing left of the slice is a demotion', async (t) => {
  const driver = new Driver();
  const key = driver.start(burnSleepBurn(19.6, 30, 10));
  driver.runFor(100);
  t.same(driver.log.kindsOf(key), ['arrived', 'promoted', 'blocked', 'demoted', 'ended']);
});

t.test('without ioAware a sleeping invocation keeps its worker', async (t) => {
  const driver = new Driver({ workers: 1, ioAware: false });
  const sleeper = driver.start(burnSleepBurn(5, 12, 10));
  const other = driver.start(burn(30));
  driver.runFor(60);
  t.same(driver.log.kindsOf(sleeper), ['arrived', 'promoted', 'ended']);
  t.equal(driver.log.of('promoted')[1]?.key, other);
  t.equal(driver.log.of('promoted')[1]?.at, 27_000);
});

t.test('blocked invocations beyond blockedPerPollMax take turns', async (t) => {
  const driver = new Driver({ workers: 4, blockedPerPollMax: 1 });
  for (let count = 0; count < 4; count += 1) driver.start(burnSleepBurn(1, 5, 20));
  driver.runFor(60);
  t.same(
    driver.log.of('woken').map((decision) => decision.at),
    [8000, 12_000, 16_000, 20_000],
  );
});

t.test('a starved function does not lose its slice', async (t) => {
  for (const observationLag of [duration(0), lag]) {
    // Three workers on two cores: the third is starved by the first two.
    const driver = new Driver({ workers: 3 }, { cores: 2, observationLag, seed: 5 });
    const keys = [1, 2, 3].map(() => driver.start(burn(60)));
    driver.runFor(200);
    t.equal(driver.log.of('demoted').length, 3);
    for (const key of keys) {
      const { chargedCpu } = driver.kernel.inspect(driver.group(key));
      t.ok(chargedCpu > 19_400 && chargedCpu <= 20_001, `used ${chargedCpu} of 20000 us`);
    }
  }
});

t.test(
  'several threads use a slice up sooner, and what one poll adds is the most they exceed it by',
  async (t) => {
    for (const observationLag of [duration(0), lag]) {
      const driver = new Driver({ workers: 2 }, { observationLag, seed: 1 });
      const key = driver.start({ tasks: [{ demand: 60_000 }, { demand: 60_000 }] });
      driver.runFor(200);
      const { chargedCpu } = driver.kernel.inspect(driver.group(key));
      t.ok(chargedCpu >= 19_500 && chargedCpu <= 21_000, `used ${chargedCpu} of 20000 us`);
      t.ok((driver.log.of('demoted')[0]?.at ?? 0) <= 11_000);
    }
  },
);

t.test('threads that wake in mid-slice bring its end forward', async (t) => {
  const driver = new Driver({ workers: 4 });
  const late = { demand: 60_000, sleeps: [{ atCpu: 0, length: 8000 }] };
  const key = driver.start({ tasks: [{ demand: 60_000 }, late, late, late] });
  driver.runFor(200);
  const { chargedCpu } = driver.kernel.inspect(driver.group(key));
  t.ok(chargedCpu >= 19_500 && chargedCpu <= 20_000 + 4 * 500, `used ${chargedCpu} of 20000 us`);
});

t.test('at the budget all step down for one gap and keep their workers and slices', async (t) => {
  const driver = new Driver({
    budgetShare: 0.93,
    sliceInitial: fromMs(150),
    overloadFactor: Number.POSITIVE_INFINITY,
  });
  const keys = [driver.start(burn(400)), driver.start(burn(400))];
  driver.runFor(96);
  t.equal(driver.scheduler.view.paused, true);
  const meanwhile = driver.start(burn(1));
  t.same(Array.from(driver.scheduler.view.workers).sort(), keys);
  driver.runFor(300);
  t.match(driver.log.of('paused')[0], { at: 93_000, value: 93_000, key: 0 });
  t.match(driver.log.of('resumed')[0], { at: 100_000, value: 7000, key: 0 });
  // They get the cores in the pause too, while nobody of the host's wants them, and are charged for it.
  t.same(
    driver.log.of('demoted').map((decision) => decision.at),
    [150_000, 150_000],
  );
  t.equal(driver.kernel.inspect(driver.group(keys[0] ?? meanwhile)).chargedCpu, 150_000);
  t.equal(driver.scheduler.view.counters.promotions, 3);
});

t.test(
  'a pause lasts until the fair scheduler has had its gap beside the daemon, twice the gap at most',
  async (t) => {
    const pauseOf = (overheadShare: number) => {
      const driver = new Driver({ budgetShare: 0.93, sliceInitial: fromMs(400) }, { overheadShare });
      driver.start(burn(300));
      driver.runFor(120);
      return driver.log.of('resumed')[0]?.value ?? 0;
    };
    t.equal(pauseOf(0), 7000);
    // A sixteenth of the gap more at most: it is not looked at more often.
    t.ok(pauseOf(0.3) >= 10_000 && pauseOf(0.3) <= 10_437);
    t.ok(pauseOf(2) >= 14_000 && pauseOf(2) <= 14_437);
  },
);

t.test('in a pause an idle worker picks up, and what it takes is promoted when the pause ends', async (t) => {
  const driver = new Driver({ budgetShare: 0.5, workers: 2, sliceInitial: fromMs(500) });
  driver.start(burn(400));
  driver.runFor(60);
  t.equal(driver.scheduler.view.paused, true);
  const late = driver.start(burn(100));
  t.same(driver.log.kindsOf(late), ['arrived', 'promoted']);
  t.match(driver.kernel.inspect(driver.group(late)), { promoted: false, paused: true });
  driver.runFor(50);
  t.match(driver.kernel.inspect(driver.group(late)), { promoted: true, paused: false, chargedCpu: 50_000 });
  driver.runFor(200);
  t.same(driver.log.kindsOf(late), ['arrived', 'promoted', 'ended']);
});

t.test('an invocation that exits in a pause is ended, one that falls asleep is blocked', async (t) => {
  const driver = new Driver({ budgetShare: 0.93, sliceInitial: fromMs(500) });
  const exits = driver.start(burn(95));
  const sleeps = driver.start(burnSleepBurn(94, 10, 20));
  driver.runFor(99);
  t.same(driver.log.kindsOf(exits), ['arrived', 'promoted', 'ended']);
  t.same(driver.log.kindsOf(sleeps), ['arrived', 'promoted', 'blocked']);
  driver.runFor(100);
  t.same(driver.log.kindsOf(sleeps), ['arrived', 'promoted', 'blocked', 'woken', 'promoted', 'ended']);
});

t.test('a group killed unseen is found gone by the next poll', async (t) => {
  const driver = new Driver();
  const key = driver.start(burn(50));
  driver.runFor(1);
  driver.kernel.kill(driver.group(key));
  driver.kernel.takeExits();
  driver.runFor(4);
  t.match(driver.log.of('ended')[0], { key, at: 4000, value: 0 });
});

t.test('polls that were missed count once, and nothing is pending when nothing is held', async (t) => {
  const driver = new Driver();
  const key = driver.start(burn(15));
  driver.kernel.advanceTo(instant(14_000));
  driver.tick();
  t.equal(driver.scheduler.view.counters.polls, 1);
  driver.runFor(10);
  t.equal(driver.log.kindsOf(key).at(-1), 'ended');
  t.equal(driver.scheduler.tick(), undefined);
});
