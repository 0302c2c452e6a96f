/** Who runs under Gittins: what is known of functions decides, preemption, blocks, hints, weights, aging, the budget, hotplug. */
import t from 'tap';
import { invocationKey } from '../../../src/contracts/invocation.js';
import type { SfsParameters } from '../../../src/contracts/scheduler.js';
import { duration, fromMs } from '../../../src/contracts/time.js';
import { burn, burnSleepBurn, Driver } from '../driver.js';

/** On one worker, with functions `fast` (10 ms) and `slow` (1 s) known. */
function known(parameters: Partial<SfsParameters> = {}): Driver {
  const driver = new Driver({ workers: 1, ...parameters }, {}, 'gittins');
  for (let run = 0; run < 20; run += 1) {
    driver.start(burn(10), { functionName: 'fast' });
    driver.runFor(15);
  }
  for (let run = 0; run < 20; run += 1) {
    driver.start(burn(1000), { functionName: 'slow' });
    driver.runFor(1005);
  }
  return driver;
}

t.test('what is expected to be done sooner is picked up first, whoever came first', async (t) => {
  const driver = known();
  const running = driver.start(burn(10), { functionName: 'fast' });
  const slow = driver.start(burn(1000), { functionName: 'slow' });
  const fast = driver.start(burn(10), { functionName: 'fast' });
  driver.runFor(30);
  t.same(driver.log.kindsOf(running), ['arrived', 'promoted', 'ended']);
  t.same(driver.log.kindsOf(fast), ['arrived', 'promoted', 'ended']);
  t.same(driver.log.kindsOf(slow), ['arrived', 'promoted']);
});

t.test('a short one takes the worker of a long one, which goes on with what it has used', async (t) => {
  const driver = known();
  const slow = driver.start(burn(1000), { functionName: 'slow' });
  driver.runFor(100);
  const fast = driver.start(burn(10), { functionName: 'fast' });
  driver.runFor(1100);
  t.same(driver.log.kindsOf(slow), ['arrived', 'promoted', 'preempted', 'promoted', 'ended']);
  t.same(driver.log.kindsOf(fast), ['arrived', 'promoted', 'ended']);
  t.equal(driver.log.of('preempted')[0]?.cpuTime, 100_000);
  const [promoted] = driver.log.of('promoted').filter(({ key }) => key === fast);
  t.equal(promoted?.extra, 0, 'it has not waited');
  t.equal(driver.scheduler.view.counters.preemptions, 1);
});

t.test('one that is nearly as good preempts nobody', async (t) => {
  const driver = known();
  const first = driver.start(burn(1000), { functionName: 'slow' });
  driver.runFor(2);
  driver.start(burn(1000), { functionName: 'slow' });
  driver.runFor(900);
  t.same(driver.log.kindsOf(first), ['arrived', 'promoted']);
});

t.test('one that outlives what its function uses gives way to what is known to be short', async (t) => {
  const driver = known();
  const strange = driver.start(burn(500), { functionName: 'fast' });
  driver.runFor(5);
  const slow = driver.start(burn(1000), { functionName: 'slow' });
  const fast = driver.start(burn(10), { functionName: 'fast' });
  driver.runFor(60);
  t.equal(driver.log.kindsOf(strange)[2], 'preempted');
  t.same(driver.log.kindsOf(fast), ['arrived', 'promoted', 'ended']);
  driver.runFor(2000);
  t.equal(driver.log.kindsOf(strange).at(-1), 'ended');
  t.equal(driver.log.kindsOf(slow).at(-1), 'ended');
});

t.test('asleep it gives up its worker; awake it waits by what it has used, which it keeps', async (t) => {
  const driver = known();
  const sleeper = driver.start(burnSleepBurn(6, 50, 4), { functionName: 'fast' });
  const slow = driver.start(burn(1000), { functionName: 'slow' });
  driver.runFor(40);
  t.same(driver.log.kindsOf(sleeper), ['arrived', 'promoted', 'blocked']);
  t.same(driver.log.kindsOf(slow), ['arrived', 'promoted']);
  driver.runFor(60);
  t.same(driver.log.kindsOf(sleeper), ['arrived', 'promoted', 'blocked', 'woken', 'promoted', 'ended']);
  t.equal(driver.log.kindsOf(slow)[2], 'preempted');
});

t.test('a caller who knows better is believed, until the run has outlived what was expected', async (t) => {
  const driver = known();
  const told = driver.start(burn(10), { functionName: 'slow', expected: fromMs(10) });
  driver.runFor(1);
  const lied = driver.start(burn(400), { functionName: 'slow', expected: fromMs(10) });
  const fast = driver.start(burn(10), { functionName: 'fast' });
  driver.runFor(12);
  t.same(driver.log.kindsOf(told), ['arrived', 'promoted', 'ended']);
  driver.runFor(25);
  const later = driver.start(burn(10), { functionName: 'fast' });
  driver.runFor(25);
  t.equal(driver.log.kindsOf(fast).at(-1), 'ended');
  t.equal(driver.log.kindsOf(later).at(-1), 'ended');
  t.ok(driver.log.kindsOf(lied).includes('preempted') || !driver.log.kindsOf(lied).includes('ended'));
});

t.test('a weight divides the rank', async (t) => {
  const driver = known();
  driver.start(burn(10), { functionName: 'fast' });
  const light = driver.start(burn(1000), { functionName: 'slow' });
  const heavy = driver.start(burn(1000), { functionName: 'slow', weight: 10 });
  driver.runFor(50);
  t.same(driver.log.kindsOf(light), ['arrived']);
  t.same(driver.log.kindsOf(heavy), ['arrived', 'promoted']);
});

t.test('whoever waits for a minute has its turn, though better ones keep coming', async (t) => {
  const driver = known();
  driver.start(burn(10), { functionName: 'fast' });
  const slow = driver.start(burn(1000), { functionName: 'slow' });
  for (let passed = 0; passed < 61_000; passed += 8) {
    driver.start(burn(10), { functionName: 'fast' });
    driver.runFor(8);
  }
  const [promoted] = driver.log.of('promoted').filter(({ key }) => key === slow);
  t.ok(promoted !== undefined && promoted.extra >= 60_000_000 && promoted.extra < 60_020_000);
  driver.scheduler.drain();
});

t.test('fewer workers: who loses its own waits again; all demoted: all are picked up again', async (t) => {
  const driver = new Driver({ workers: 2 }, {}, 'gittins');
  const [one, other] = [driver.start(burn(500)), driver.start(burn(500))];
  driver.runFor(10);
  driver.scheduler.setWorkers(1);
  driver.tick();
  t.same(driver.log.kindsOf(other).slice(0, 3), ['arrived', 'promoted', 'preempted']);
  driver.scheduler.takeBack();
  driver.tick();
  t.equal(driver.scheduler.view.workers.length, 1);
  t.ok([one, other].includes(invocationKey(driver.scheduler.view.workers[0] ?? 0)));
  driver.runFor(2000);
  t.equal(driver.scheduler.view.live, 0);
});

t.test('cfs under Gittins: left alone, and learned from', async (t) => {
  const driver = new Driver({ workers: 1 }, {}, 'gittins');
  for (let run = 0; run < 20; run += 1) {
    driver.start(burn(10), { functionName: 'apart', policy: 'cfs' });
    driver.runFor(15);
  }
  t.equal(driver.scheduler.view.counters.promotions, 0);
  const fresh = driver.start(burn(10), { functionName: 'apart' });
  driver.runFor(1);
  const arrived = driver.log.of('arrived').find(({ key }) => key === fresh);
  t.ok(arrived !== undefined && Math.abs(arrived.value - 10_000) < 4000, `${arrived?.value} us are expected`);
  t.equal(duration(arrived?.extra ?? 1), 0);
});
