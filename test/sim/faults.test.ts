/**
 * Seeds with faults: tasks that end in calls, refused promotions, wake storms, late polls. The invariants are checked by the simulator after
 * each step; here it is also checked that nothing is lost, that a seed repeats itself, and that the faults did happen.
 */
import t, { type Test } from 'tap';
import { duration, fromMs, noTime } from '../../src/contracts/time.js';
import { type FaultRule, noFaults } from '../../src/sim/faults.js';
import { type FleetOptions, type FleetRun, frontNames, simulate } from '../../src/sim/fleet.js';
import { simulatedPolicies } from '../../src/sim/host.js';
import type { SimulatedRequest } from '../../src/sim/task.js';
import { RandomStream } from '../../src/trace/workload/random.js';
import { eevdf, fleetFor, fluid, parametersFor, request } from './machines.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

const manyFaults: FaultRule = {
  exitShare: 0.002,
  denialShare: 0.05,
  stormShare: 0.01,
  lateShare: 0.2,
  latenessMax: fromMs(9),
};

function workloadOf(seed: number, count: number, cores: number): readonly SimulatedRequest[] {
  const random = new RandomStream(seed, 'workload');
  let arrival = 0;
  return Array.from({ length: count }, () => {
    arrival += Math.round((random.exponential() * 25) / cores);
    const demand = Math.ceil(20 * random.exponential());
    const sleeps = Array.from({ length: random.uniform() < 0.5 ? 1 + random.below(3) : 0 }, () => ({
      atMs: random.below(demand),
      lengthMs: random.below(60),
    })).sort((left, right) => left.atMs - right.atMs);
    return request(arrival, demand, ...sleeps);
  });
}

function faulty(seed: number, cores: number, given: Partial<FleetOptions> = {}): FleetOptions {
  const random = new RandomStream(seed, 'faults');
  return fleetFor(cores, {
    policy: 'sfs',
    faults: manyFaults,
    checked: true,
    draw: () => random.uniform(),
    ...given,
  });
}

function checkComplete(t: Test, requests: readonly SimulatedRequest[], run: FleetRun): number {
  let killed = 0;
  requests.forEach(({ demand, arrival }, index) => {
    const [end = Number.NaN, cpu = Number.NaN] = [run.endedAt[index], run.cpuTime[index]];
    if (run.killed[index] === 1) killed += 1;
    const served = run.killed[index] === 1 ? cpu <= demand : Math.abs(cpu - demand) < 1e-3;
    if (!(end >= arrival && served)) t.fail(`request ${index} ended at ${end} with ${cpu} of ${demand}`);
  });
  return killed;
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  const cores = 1 + (seed % 4);
  const requests = workloadOf(seed, 400, cores);
  const variants: readonly (readonly [string, Partial<FleetOptions>])[] = [
    ['fluid', { fair: fluid }],
    ['eevdf', { fair: eevdf }],
    [
      'a lagging account',
      { observationLag: fromMs(4), pickupDelay: duration(120), tickLateness: duration(80) },
    ],
    ['no I/O awareness', { parameters: parametersFor(cores, { ioAware: false, window: 10 }) }],
    ['a fixed slice', { parameters: parametersFor(cores, { sliceFixed: fromMs(20), window: 10 }) }],
  ];
  for (const [name, given] of variants) {
    t.test(`seed ${seed}, ${name}: with faults the invariants hold and nobody is lost`, async (t) => {
      t.comment(`faults from seed ${seed}`);
      const run = simulate(requests, faulty(seed, cores, given));
      const killed = checkComplete(t, requests, run);
      t.ok(killed > 0, `${killed} ended in calls`);
      t.ok((run.counters[0]?.denials ?? 0) > 0, 'promotions were refused');
      t.ok((run.counters[0]?.budgetPauses ?? 0) > 0, 'the budget paused FILTER');
      t.same(simulate(requests, faulty(seed, cores, given)).endedAt, run.endedAt, 'and again');
    });
  }
}

for (const policy of simulatedPolicies) {
  for (const fair of [fluid, eevdf]) {
    t.test(`${policy} over ${fair.kind}: all complete, and are given what they need`, async (t) => {
      const requests = workloadOf(11, 600, 3);
      const run = simulate(requests, fleetFor(3, { policy, fair, checked: true }));
      t.equal(checkComplete(t, requests, run), 0);
      t.same(simulate(requests, fleetFor(3, { policy, fair })).endedAt, run.endedAt, 'checks change nothing');
    });
  }
}

for (const front of frontNames) {
  t.test(`behind a ${front} front, every request ends on one of the hosts`, async (t) => {
    const requests = workloadOf(5, 500, 6);
    const run = simulate(requests, faulty(5, 2, { hosts: 3, front }));
    checkComplete(t, requests, run);
    t.equal(run.counters.length, 3);
    const arrivals = run.counters.map((counters) => counters.arrivals);
    t.ok(Math.min(...arrivals) > 100, `${arrivals}`);
  });
}

t.test('the least loaded host is found: hosts of equal speed are never two apart', async (t) => {
  const requests = Array.from({ length: 9 }, () => request(0, 10));
  const run = simulate(requests, fleetFor(3, { policy: 'fifo', hosts: 3, front: 'least-loaded' }));
  t.same([...run.endedAt], new Array(9).fill(10_000));
});

t.test('without faults nothing is drawn', async (t) => {
  const draw = (): number => t.fail('a draw') as unknown as number;
  simulate([request(0, 30)], fleetFor(1, { policy: 'sfs', faults: noFaults, tickLateness: noTime, draw }));
});
