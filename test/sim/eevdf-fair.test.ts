/** The slice-exact fair scheduler: slices, eligibility, switches, balancing. */
import t from 'tap';
import { fromMs } from '../../src/contracts/time.js';
import { EevdfFair } from '../../src/sim/eevdf-fair.js';
import { simulate } from '../../src/sim/fleet.js';
import { weightPaused } from '../../src/sim/machine.js';
import { TurnQueue } from '../../src/sim/turn-queue.js';
import { Bench, eevdf, fleetFor, request } from './machines.js';

function benchOf(cores: number, switchCost = 0): Bench {
  const fair = new EevdfFair({ slice: 4000, switchCost, balanceInterval: 4000 }, cores);
  return new Bench({ fair, upper: new TurnQueue({ cores, quantum: Number.POSITIVE_INFINITY }, fair) });
}

t.test('tasks of one core take turns of one slice', async (t) => {
  const run = simulate(
    [request(0, 8), request(0, 8), request(0, 4)],
    fleetFor(1, { policy: 'cfs', fair: eevdf }),
  );
  t.same([...run.endedAt], [16_000, 20_000, 12_000]);
});

t.test('who comes waits for the slice that runs, not longer', async (t) => {
  const bench = benchOf(1);
  const first = bench.start(100);
  bench.runTo(9);
  const second = bench.start(2);
  bench.runTo(30);
  t.ok(second.endedAt <= 15_000, `ended at ${second.endedAt}`);
  t.equal(bench.cpuMs(first), 28);
});

t.test('in the long run shares are by weight', async (t) => {
  const bench = benchOf(1);
  const heavy = bench.start(100_000, 'promoted');
  bench.machine.place(heavy, 'paused');
  const light = bench.start(100_000);
  bench.runTo(20_000);
  const ratio = bench.cpuMs(heavy) / bench.cpuMs(light);
  t.ok(Math.abs(ratio / weightPaused - 1) < 0.05, `${ratio}`);
});

t.test('a switch to another task costs core time, going on costs none', async (t) => {
  const bench = benchOf(1, 100);
  const tasks = [bench.start(1000), bench.start(1000)];
  bench.runTo(41);
  const used = tasks.reduce((sum, task) => sum + bench.cpuMs(task), 0);
  t.ok(Math.abs(used - 40) < 0.2, `${used} ms of 41`);
  const alone = benchOf(1, 100);
  const task = alone.start(1000);
  alone.runTo(41);
  t.equal(alone.cpuMs(task), 40.9);
});

t.test('a core that runs dry takes over a task that waits elsewhere', async (t) => {
  const bench = benchOf(2);
  const tasks = [bench.start(20), bench.start(4), bench.start(20), bench.start(4)];
  bench.runTo(100);
  t.equal(Math.max(...tasks.map((task) => task.endedAt)), 24_000, 'both cores are busy to the end');
});

t.test('tasks of a core that a real-time task takes are moved, not starved', async (t) => {
  const bench = benchOf(2);
  const fair = [bench.start(1000), bench.start(1000)];
  const hog = bench.start(1000);
  bench.machine.place(hog, 'promoted');
  bench.runTo(200);
  t.equal(bench.cpuMs(hog), 200);
  const used = fair.map((task) => bench.cpuMs(task));
  t.ok(Math.abs((used[0] ?? 0) + (used[1] ?? 0) - 200) < 1e-6, 'the other core is never idle');
  t.ok(Math.min(...used) > 80, `${used}`);
});

t.test('a promoted task stays on its core', async (t) => {
  const bench = benchOf(4);
  const tasks = [0, 1, 2, 3].map(() => bench.start(1000));
  const third = tasks[2];
  if (third === undefined) throw new Error('four tasks were started');
  const { core } = third;
  bench.machine.place(third, 'promoted');
  t.equal(third.core, core);
  bench.runTo(50);
  for (const task of tasks) t.equal(bench.cpuMs(task), 50, 'and disturbs nobody');
});

t.test('the finer the slice, the nearer to the fluid', async (t) => {
  const requests = Array.from({ length: 12 }, (_none, index) => request(index, 10 + 7 * (index % 5)));
  const apart = (sliceMs: number): number => {
    const fine = { ...eevdf, slice: fromMs(sliceMs), balanceInterval: fromMs(sliceMs) };
    const exact = simulate(requests, fleetFor(2, { policy: 'cfs', fair: fine })).endedAt;
    const limit = simulate(requests, fleetFor(2, { policy: 'cfs' })).endedAt;
    return Math.max(...exact.map((end, index) => Math.abs(end - (limit[index] ?? 0)))) / 1000;
  };
  // Three tasks on one core and two on the other are not shared evenly, however fine the slice.
  t.ok(apart(0.1) < 6, `${apart(0.1)} ms`);
  t.ok(apart(0.1) < apart(10), `${apart(10)} ms`);
});
