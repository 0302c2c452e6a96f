/**
 * Random workloads through SFS on the model kernel; the rules that must hold at every step are in workload.ts. A failure prints
 * the seed and the smallest workload that fails: set SFSD_TEST_SEED to see it again.
 */
import fc from 'fast-check';
import t from 'tap';
import { runChecked, workload } from './workload.js';

const seed = Number(process.env.SFSD_TEST_SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.SFSD_TEST_RUNS ?? 300);

t.comment(`seed ${seed}, ${numRuns} runs`);

t.test('every rule holds at every step of any workload', async (t) => {
  fc.assert(
    fc.property(workload, (load) => void runChecked(load)),
    { seed, numRuns },
  );
  t.pass();
});

t.test('the same workload gives the same decisions', async (t) => {
  fc.assert(
    fc.property(workload, (load) => {
      const first = JSON.stringify(runChecked(load));
      return JSON.stringify(runChecked(load)) === first;
    }),
    { seed, numRuns: Math.ceil(numRuns / 10) },
  );
  t.pass();
});
