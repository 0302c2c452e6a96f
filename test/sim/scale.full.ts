/** A million invocations at 72 cores, and 50,000 slice by slice: each within a minute of one core, and within 1 GiB. */
import t from 'tap';
import { duration } from '../../src/contracts/time.js';
import { simulate } from '../../src/sim/fleet.js';
import { generateWorkload } from '../../src/trace/workload/generate.js';
import { eevdf, fleetFor, fluid, parametersFor } from './machines.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(600_000);

const cpuSecondsMax = 60;
const memoryKiBMax = 2 ** 20;
const cores = 72;

// The slice-exact one first: the largest memory of the process is then that of each as it ends.
const cases = [
  { name: 'slice by slice', requests: 50_000, fair: { ...eevdf, switchCost: duration(5) } },
  { name: 'fluid', requests: 1_000_000, fair: fluid },
];

for (const { name, requests, fair } of cases) {
  t.test(`${requests} invocations at load 0.9 on ${cores} cores, ${name}`, async (t) => {
    const start = process.cpuUsage();
    const workload = await generateWorkload({ durations: 'table', load: 0.9, cores, requests });
    const parameters = parametersFor(cores, { liveMax: requests });
    const run = simulate(workload.requests, fleetFor(cores, { policy: 'sfs', fair, parameters }));
    const { user, system } = process.cpuUsage(start);
    const cpuSeconds = (user + system) / 1e6;
    t.ok(run.endedAt.every(Number.isFinite), 'all complete');
    t.ok(cpuSeconds < cpuSecondsMax, `${cpuSeconds.toFixed(1)} s of CPU time`);
    const { maxRSS } = process.resourceUsage();
    t.ok(maxRSS < memoryKiBMax, `${Math.round(maxRSS / 1024)} MiB at most`);
    t.comment(`${cpuSeconds.toFixed(1)} s of CPU time, ${Math.round(maxRSS / 1024)} MiB`);
  });
}
