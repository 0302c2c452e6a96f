/** The fluid fair scheduler against a model that takes small steps and fills cores by the definition of max-min fairness. */
import t from 'tap';
import { simulate } from '../../src/sim/fleet.js';
import { FluidFair } from '../../src/sim/fluid-fair.js';
import { weightPaused } from '../../src/sim/machine.js';
import type { SimulatedRequest } from '../../src/sim/task.js';
import { TurnQueue } from '../../src/sim/turn-queue.js';
import { RandomStream } from '../../src/trace/workload/random.js';
import { Bench, fleetFor, request } from './machines.js';

function benchOf(cores: number): Bench {
  const fair = new FluidFair(cores);
  return new Bench({ fair, upper: new TurnQueue({ cores, quantum: Number.POSITIVE_INFINITY }, fair) });
}

t.test('as many tasks as cores run as if each were alone', async (t) => {
  const run = simulate([request(0, 10), request(0, 30)], fleetFor(2, { policy: 'cfs' }));
  t.same([...run.endedAt], [10_000, 30_000]);
});

t.test('more tasks than cores share them evenly', async (t) => {
  const run = simulate([request(0, 10), request(0, 10), request(0, 40)], fleetFor(2, { policy: 'cfs' }));
  t.ok(Math.abs((run.endedAt[0] ?? 0) - 15_000) < 1e-3);
  t.ok(Math.abs((run.endedAt[2] ?? 0) - 45_000) < 1e-3, 'from 15 ms on it has a core of its own');
});

t.test('no task runs on more than one core, however heavy', async (t) => {
  const bench = benchOf(2);
  const heavy = bench.start(1000, 'promoted');
  bench.machine.place(heavy, 'paused');
  const light = [bench.start(1000), bench.start(1000), bench.start(1000)];
  bench.runTo(30);
  t.ok(Math.abs(bench.cpuMs(heavy) - 30) < 1e-6);
  for (const task of light) t.ok(Math.abs(bench.cpuMs(task) - 10) < 1e-6);
});

t.test('beyond the cores, shares are by weight', async (t) => {
  const bench = benchOf(1);
  const paused = bench.start(1000, 'promoted');
  bench.machine.place(paused, 'paused');
  const fair = bench.start(1000);
  bench.runTo(100);
  t.ok(Math.abs(bench.cpuMs(paused) / bench.cpuMs(fair) - weightPaused) < 1e-6);
  t.ok(Math.abs(bench.cpuMs(paused) + bench.cpuMs(fair) - 100) < 1e-6, 'no time is lost');
});

t.test('what is real-time takes whole cores, and gives them back', async (t) => {
  const bench = benchOf(2);
  const fair = [bench.start(1000), bench.start(1000)];
  const first = bench.start(10, 'promoted');
  const second = bench.start(20, 'promoted');
  bench.runTo(20);
  t.equal(first.endedAt, 10_000);
  t.equal(second.endedAt, 20_000);
  for (const task of fair) t.ok(Math.abs(bench.cpuMs(task) - 5) < 1e-6);
});

t.test('CPU time is charged to the standing in which it was used', async (t) => {
  const bench = benchOf(1);
  const task = bench.start(100);
  bench.runTo(10);
  bench.machine.place(task, 'promoted');
  bench.runTo(15);
  bench.machine.place(task, 'paused');
  bench.runTo(18);
  bench.machine.place(task, 'fair');
  bench.runTo(30);
  t.equal(task.chargedCpu, 8000);
});

/** Every step: the heaviest first while they reach a core each, the rest in proportion; here all weights are one. */
function bySmallSteps(requests: readonly SimulatedRequest[], cores: number, step: number): readonly number[] {
  const left = requests.map(({ demand }) => demand as number);
  const awakeAt = requests.map(({ arrival }) => arrival as number);
  const slept = requests.map(() => 0);
  const ended = requests.map(() => Number.NaN);
  for (let now = 0; ended.some(Number.isNaN); now += step) {
    const ready = requests.flatMap((_one, index) =>
      (awakeAt[index] ?? 0) <= now && Number.isNaN(ended[index]) ? [index] : [],
    );
    const share = Math.min(1, cores / ready.length) * step;
    for (const index of ready) {
      const { demand, sleeps } = requests[index] ?? request(0, 1);
      left[index] = (left[index] ?? 0) - share;
      const used = demand - (left[index] ?? 0);
      const sleep = sleeps[slept[index] ?? 0];
      if (sleep !== undefined && used >= sleep.at) {
        slept[index] = (slept[index] ?? 0) + 1;
        awakeAt[index] = now + step + sleep.length;
      }
      if ((left[index] ?? 0) <= 1e-9) ended[index] = now + step;
    }
  }
  return ended;
}

for (const seed of [1, 2, 3, 4]) {
  t.test(`random workload ${seed} ends as in the model of small steps`, async (t) => {
    const random = new RandomStream(seed, 'fluid');
    let arrival = 0;
    const requests = Array.from({ length: 60 }, () => {
      arrival += Math.round(random.exponential() * 8);
      const demand = 1 + random.below(40);
      const sleeps =
        random.uniform() < 0.4 ? [{ atMs: random.below(demand), lengthMs: 5 + random.below(20) }] : [];
      return request(arrival, demand, ...sleeps);
    });
    const step = 20;
    const slow = bySmallSteps(requests, 3, step);
    const fast = simulate(requests, fleetFor(3, { policy: 'cfs' })).endedAt;
    const apart = slow.map((end, index) => Math.abs(end - (fast[index] ?? 0)));
    // Each event of the model is late by up to a step, and lateness adds up over the tens of events of a busy time.
    t.ok(Math.max(...apart) < 40 * step, `at most ${Math.max(...apart)} us apart`);
  });
}
