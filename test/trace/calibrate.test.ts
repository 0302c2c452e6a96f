import t from 'tap';
import { type Duration, duration } from '../../src/contracts/time.js';
import {
  applicationsOf,
  bodyOf,
  calibrate,
  cpuTimeOf,
  idealOf,
  type MeasureAlone,
} from '../../src/trace/workload/calibrate.js';
import { generateWorkload } from '../../src/trace/workload/generate.js';
import { applicationMix } from '../../src/trace/workload/mix.js';
import type { Application, WorkloadRequest } from '../../src/trace/workload/workload.js';

/** A host on which a Python program starts in 20 ms, repeats in 50 us, and every turnaround has 3 ms on top; each third run is disturbed. */
function simulatedHost(): { measure: MeasureAlone; runs: () => number } {
  let runs = 0;
  const measure: MeasureAlone = async (application, body) => {
    runs += 1;
    const text = Buffer.from(body).toString();
    const cpuTime =
      application === 'burn'
        ? Number(text.split(' ')[0]) * 1000
        : 20_000 + 50 * (JSON.parse(text) as { repeat: number }).repeat;
    const disturbed = runs % 3 === 0 ? 40_000 : 0;
    return { cpuTime: duration(cpuTime), turnaround: duration(cpuTime + 3000 + disturbed) };
  };
  return { measure, runs: () => runs };
}

function requestOf(
  application: Application,
  demand: number,
  sleeps: WorkloadRequest['sleeps'] = [],
): WorkloadRequest {
  return {
    id: '0',
    functionName: application,
    application,
    arrival: duration(0),
    demand: duration(demand),
    sleeps,
  };
}

const textOf = (body: Uint8Array): string => Buffer.from(body).toString();

t.test('medians of few runs give the overhead and the cost of a unit', async (t) => {
  const host = simulatedHost();
  const calibration = await calibrate(['burn', 'fib', 'fib'], host.measure, 5);
  t.equal(host.runs(), 20);
  t.match(calibration.get('fib'), { cpuPerUnit: 50, turnaroundPerUnit: 50, cpuOverhead: 20_000 });
  t.equal(Math.round(calibration.get('fib')?.turnaroundOverhead ?? 0), 23_000);
  t.match(calibration.get('burn'), { cpuPerUnit: 1, cpuOverhead: 0, turnaroundOverhead: 3000 });
});

t.test('a demand becomes repetitions, and the ideal is what they take alone', async (t) => {
  const calibration = await calibrate(['burn', 'fib'], simulatedHost().measure);
  const fib = requestOf('fib', 100_000);
  t.equal(textOf(bodyOf(fib, calibration)), '{"repeat":1600}');
  t.equal(idealOf(fib, calibration), 103_000);
  t.equal(cpuTimeOf(fib, calibration), 100_000);
  const tiny = requestOf('fib', 5000);
  t.equal(textOf(bodyOf(tiny, calibration)), '{"repeat":1}');
  t.equal(cpuTimeOf(tiny, calibration), 20_050, 'a program cannot need less than its start');
});

t.test('burn is told its CPU time and its sleeps', async (t) => {
  const calibration = await calibrate(['burn'], simulatedHost().measure);
  const request = requestOf('burn', 42_500, [{ at: duration(1000) as Duration, length: duration(5000) }]);
  t.equal(textOf(bodyOf(request, calibration)), '42.500 --sleep-ms 5.000 --at-ms 1.000\n');
  t.equal(idealOf(request, calibration), 42_500 + 3000 + 5000);
});

t.test('a host that shows no difference is refused, as is a program that was not measured', async (t) => {
  const flat: MeasureAlone = async () => ({ cpuTime: duration(5000), turnaround: duration(6000) });
  await t.rejects(calibrate(['sa'], flat), {
    code: 'SFSD_ERR_WORKLOAD_INVALID',
    message: /calibration of sa/,
  });
  t.throws(() => idealOf(requestOf('md', 1000), new Map()), { code: 'SFSD_ERR_WORKLOAD_INVALID' });
});

t.test('the applications of a workload are those it has', async (t) => {
  t.same([...applicationsOf(await generateWorkload({ mix: applicationMix, stratified: true }))].sort(), [
    'fib',
    'md',
    'sa',
  ]);
});
