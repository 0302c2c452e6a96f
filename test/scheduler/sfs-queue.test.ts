/** Who gets a worker: pick-ups, bypassing, entry, end, hotplug. */
import t from 'tap';
import { invocationKey } from '../../src/contracts/invocation.js';
import { duration, fromMs, instant } from '../../src/contracts/time.js';
import { burn, burnSleepBurn, Driver } from './driver.js';

t.test('a short invocation is promoted at once and runs to its end', async (t) => {
  const driver = new Driver();
  const key = driver.start(burn(5));
  driver.runFor(10);
  t.same(driver.log.kindsOf(key), ['arrived', 'promoted', 'ended']);
  t.match(driver.log.of('promoted')[0], { value: 20_000, extra: 0, cpuTime: 0 });
  t.match(driver.log.of('ended')[0], { at: 5000, cpuTime: 5000, value: 0, extra: 1 });
  t.equal(driver.scheduler.view.live, 0);
});

t.test('workers take invocations in the order of arrival, as many as there are workers', async (t) => {
  const driver = new Driver();
  const keys = [1, 2, 3, 4, 5].map(() => driver.start(burn(10)));
  t.same([...Array.from(driver.scheduler.view.workers)].sort(), [1, 2]);
  t.equal(driver.scheduler.view.queueLength, 3);
  driver.runFor(60);
  t.same(
    driver.log.of('promoted').map((decision) => decision.key),
    keys,
  );
  t.same(
    driver.log.of('arrived').map((decision) => decision.extra),
    [0, 0, 0, 1, 2],
  );
});

t.test(
  'a pick-up delayed by O x S or longer is bypassed, and so is each next until one is below',
  async (t) => {
    const driver = new Driver({ workers: 1, sliceFixed: fromMs(10), overloadFactor: 3 });
    const first = driver.start(burn(10));
    const late = instant(driver.now - 21_000);
    const exactly = driver.start(burn(100), { arrivedAt: instant(driver.now - 20_000) });
    const over = driver.start(burn(100), { arrivedAt: late });
    const below = driver.start(burn(5), { arrivedAt: instant(driver.now - 19_999) });
    driver.runFor(300);
    t.same(driver.log.kindsOf(first), ['arrived', 'promoted', 'ended']);
    t.same(driver.log.kindsOf(exactly), ['arrived', 'bypassed', 'ended']);
    t.same(driver.log.kindsOf(over), ['arrived', 'bypassed', 'ended']);
    t.same(driver.log.kindsOf(below), ['arrived', 'promoted', 'ended']);
    t.match(driver.log.of('bypassed')[0], { value: 30_000, extra: 30_000 });
    t.equal(driver.log.of('ended').find((decision) => decision.key === over)?.extra, 3);
  },
);

t.test('an infinite overload factor never bypasses', async (t) => {
  const driver = new Driver({ workers: 1, overloadFactor: Number.POSITIVE_INFINITY });
  driver.start(burn(1), { arrivedAt: instant(-1e9) });
  driver.runFor(5);
  t.equal(driver.scheduler.view.counters.bypasses, 0);
  t.equal(driver.scheduler.view.counters.promotions, 1);
});

t.test('a queued invocation that ends under the fair scheduler leaves the queue', async (t) => {
  const driver = new Driver({ workers: 1 }, { cores: 2 });
  driver.start(burn(15));
  const queued = driver.start(burn(5));
  const last = driver.start(burn(30));
  driver.runFor(12);
  t.same(driver.log.kindsOf(queued), ['arrived', 'ended']);
  t.equal(driver.scheduler.view.queueLength, 1);
  driver.runFor(30);
  t.same(driver.log.kindsOf(last).slice(0, 2), ['arrived', 'promoted']);
});

t.test(
  'a duplicate, a group that is gone and one too many are refused and leave nothing behind',
  async (t) => {
    const driver = new Driver({ liveMax: 2 });
    const group = driver.kernel.spawn(burn(10));
    driver.kernel.kill(group);
    t.equal(driver.enter(group, { key: 7 }).outcome, 'gone');
    t.equal(driver.enter(driver.kernel.spawn(burn(10)), { key: 7 }).outcome, 'ok');
    t.equal(driver.enter(driver.kernel.spawn(burn(10)), { key: 7 }).outcome, 'duplicate');
    t.equal(driver.enter(driver.kernel.spawn(burn(10)), { key: 8 }).outcome, 'ok');
    t.equal(driver.enter(driver.kernel.spawn(burn(10)), { key: 9 }).outcome, 'full');
    t.equal(driver.scheduler.view.live, 2);
    t.equal(driver.log.of('arrived').length, 2);
  },
);

t.test('an invocation of policy cfs is recorded, counted and left alone, and sets no slice', async (t) => {
  const driver = new Driver({ window: 1 });
  const key = driver.start(burn(3), { policy: 'cfs' });
  driver.runFor(1);
  driver.start(burn(3), { policy: 'cfs' });
  driver.runFor(10);
  t.same(driver.log.kindsOf(key), ['arrived', 'ended']);
  t.equal(driver.scheduler.view.counters.arrivals, 2);
  t.equal(driver.scheduler.view.slice, fromMs(20));
  t.equal(driver.kernel.events.filter((event) => event.kind === 'promote').length, 0);
});

t.test('where cfs is the default, an invocation that asks for sfs gets it', async (t) => {
  const driver = new Driver({}, {}, 'cfs');
  const fair = driver.start(burn(3));
  const asked = driver.start(burn(3), { policy: 'sfs' });
  driver.runFor(10);
  t.same(driver.log.kindsOf(fair), ['arrived', 'ended']);
  t.same(driver.log.kindsOf(asked), ['arrived', 'promoted', 'ended']);
});

t.test('a denied promotion leaves the invocation to the fair scheduler and frees the worker', async (t) => {
  const driver = new Driver({ workers: 1 });
  const denied = driver.start({ ...burn(10), promotionsAllowed: 0 });
  const next = driver.start(burn(5));
  t.same(driver.log.kindsOf(denied), ['arrived', 'denied']);
  t.same(driver.log.kindsOf(next), ['arrived', 'promoted']);
  driver.runFor(30);
  t.equal(driver.scheduler.view.live, 0);
});

t.test('a group that may not be touched is refused: nobody would see its end', async (t) => {
  const driver = new Driver();
  const key = driver.start({ ...burn(10), attach: 'denied' });
  t.same(driver.log.kindsOf(key), []);
  t.equal(driver.scheduler.view.live, 0);
});

t.test('a cancelled invocation is demoted and lives on, and its worker takes the next', async (t) => {
  const driver = new Driver({ workers: 1 });
  const key = driver.start(burn(50));
  const next = driver.start(burn(5));
  const group = driver.group(key);
  driver.runFor(3);
  driver.scheduler.end(key, 'cancelled');
  driver.tick();
  t.match(driver.kernel.inspect(group), { promoted: false, attached: false, exited: false });
  t.match(driver.log.of('ended')[0], { key, value: 2, extra: 1, cpuTime: 3000 });
  t.same(driver.log.kindsOf(next), ['arrived', 'promoted']);
  driver.scheduler.end(invocationKey(999), 'exited');
});

t.test('a busy period counts as an arrival only once it has run for arrivalAfter', async (t) => {
  const driver = new Driver({ window: 2, workers: 1, arrivalAfter: duration(1000), sliceMin: duration(1) });
  for (let call = 0; call < 5; call += 1) {
    driver.start(burn(0.2), { entry: 'begin' });
    driver.runFor(0.5);
  }
  t.equal(driver.scheduler.view.counters.arrivals, 0);
  for (let call = 0; call < 3; call += 1) {
    driver.start(burn(2), { entry: 'begin' });
    driver.runFor(5);
  }
  t.equal(driver.scheduler.view.counters.arrivals, 3);
  t.equal(driver.scheduler.view.slice, 5000);
});

t.test('a new busy period on a live group takes it over, and it is released once', async (t) => {
  const driver = new Driver();
  const group = driver.kernel.spawn(burn(100));
  const { key: first } = driver.enter(group, { entry: 'begin' });
  driver.runFor(5);
  const { key: second } = driver.enter(group, { entry: 'begin' });
  driver.runFor(6);
  driver.scheduler.end(first, 'completed');
  t.equal(driver.scheduler.view.live, 1);
  driver.scheduler.end(second, 'completed');
  t.same(
    driver.log.of('ended').map((decision) => [decision.key, decision.value, decision.cpuTime]),
    [
      [first, 1, 5000],
      [second, 1, 6000],
    ],
  );
  t.equal(driver.kernel.events.filter((event) => event.kind === 'release').length, 1);
  t.equal(driver.kernel.inspect(group).promoted, false);
});

t.test('workers that go away put what they hold back at the head, with its unused slice', async (t) => {
  const driver = new Driver({ workers: 3 });
  const keys = [1, 2, 3, 4].map(() => driver.start(burn(50)));
  driver.runFor(5);
  driver.scheduler.setWorkers(1);
  driver.tick();
  t.equal(driver.scheduler.view.workers.length, 1);
  t.equal(driver.scheduler.view.queueLength, 3);
  driver.runFor(16);
  const held = driver.scheduler.view.workers[0];
  t.equal(held, keys[1]);
  t.match(driver.log.of('promoted').at(-1), { key: keys[1], value: 15_000 });
  driver.scheduler.setWorkers(4);
  driver.tick();
  t.equal(driver.scheduler.view.queueLength, 0);
});

t.test('what a guard has demoted goes back to the head, and on with its unused slice', async (t) => {
  const driver = new Driver({ workers: 2 });
  const keys = [1, 2, 3].map(() => driver.start(burn(50)));
  driver.runFor(5);
  driver.scheduler.takeBack();
  t.same(Array.from(driver.scheduler.view.workers), [0, 0]);
  t.equal(driver.scheduler.view.queueLength, 3);
  driver.tick();
  t.same(Array.from(driver.scheduler.view.workers).sort(), keys.slice(0, 2), 'before what was queued');
  t.match(driver.log.of('promoted').at(-1), { value: 15_000 });
});

t.test('drain demotes and releases everything and takes no more', async (t) => {
  const driver = new Driver();
  for (let count = 0; count < 4; count += 1) driver.start(burnSleepBurn(2, 50, 100));
  driver.runFor(7);
  driver.scheduler.drain();
  t.equal(driver.scheduler.view.live, 0);
  t.equal(driver.scheduler.tick(), undefined);
  t.equal(driver.enter(driver.kernel.spawn(burn(1))).outcome, 'full');
  for (const group of driver.kernel.groups()) t.match(group, { promoted: false, attached: false });
});
