/**
 * Metrics of a run against hand-computed cases.
 */
import fc from 'fast-check';
import t from 'tap';
import { compare, switchRatios } from '../../src/trace/replay/comparison.js';
import {
  achievedLoad,
  countSummary,
  cpuOverDemand,
  daemonShares,
  excessRemoved,
  groupsOf,
  rteSummary,
  samplesOf,
  slowdownOf,
  switchSummary,
  turnaroundOf,
} from '../../src/trace/replay/metrics.js';
import { sampleContext, sampleHeader, samplePair, sampleRecord, sampleRun } from './replay-samples.js';

t.test('short and long part at the ideal turnaround, not at the measured one', async (t) => {
  const samples = samplesOf([
    sampleRecord({ id: 'a', idealMs: 199.9, turnaroundMs: 5000 }),
    sampleRecord({ id: 'b', idealMs: 200, turnaroundMs: 210 }),
  ]);
  const { all, short, long } = groupsOf(samples, 200, turnaroundOf);
  t.equal(all?.count, 2);
  t.equal(short?.mean, 5000);
  t.equal(long?.mean, 210);
});

t.test('a group without requests has no figures', async (t) => {
  t.equal(groupsOf(samplesOf([sampleRecord()]), 200, turnaroundOf).long, null);
});

t.test('slowdown is to IDEAL, sleeps included; RTE is of the CPU time alone', async (t) => {
  const [sample] = samplesOf([sampleRecord({ idealMs: 40, demandMs: 30, turnaroundMs: 120 })]);
  if (sample === undefined) throw new Error('no sample');
  t.equal(slowdownOf(sample), 3);
  t.equal(rteSummary([sample]).distribution?.mean, 0.25);
});

t.test('RTE shares count their bounds as the report names them, and what lies above 1', async (t) => {
  const at = (rte: number) => sampleRecord({ demandMs: rte * 1000, turnaroundMs: 1000 });
  const rte = rteSummary(samplesOf([at(0.1), at(0.2), at(0.5), at(0.95), at(1.2)]));
  t.equal(rte.atLeast095, 0.4);
  t.equal(rte.below02, 0.2);
  t.equal(rte.aboveOne, 1);
});

t.test(
  'excess removed is 1 for IDEAL, 0 for CFS, negative when SFS is worse, none without excess',
  async (t) => {
    t.equal(excessRemoved({ ideal: 50, cfs: 250, sfs: 50 }), 1);
    t.equal(excessRemoved({ ideal: 50, cfs: 250, sfs: 250 }), 0);
    t.equal(excessRemoved({ ideal: 50, cfs: 250, sfs: 90 }), 0.8);
    t.equal(excessRemoved({ ideal: 50, cfs: 250, sfs: 350 }), -0.5);
    t.equal(excessRemoved({ ideal: 50, cfs: 50, sfs: 40 }), null);
  },
);

t.test('excess removed lies between 0 and 1 whenever SFS lies between IDEAL and CFS', async () => {
  const length = fc.double({ min: 0.001, max: 1e5, noNaN: true });
  fc.assert(
    fc.property(length, length, fc.double({ min: 0, max: 1, noNaN: true }), (ideal, excess, part) => {
      const removed = excessRemoved({ ideal, cfs: ideal + excess, sfs: ideal + excess * part });
      return removed === null || (removed >= -1e-6 && removed <= 1 + 1e-6);
    }),
  );
});

t.test('each request is counted once, by its fate and by who refused it', async (t) => {
  const run = sampleRun('sfs', [
    {},
    { fate: 'failed', exit: 'exited 1' },
    { fate: 'refused', refusedBy: 'daemon', turnaroundMs: null },
    { fate: 'refused', refusedBy: 'generator', turnaroundMs: null },
    { fate: 'lost', turnaroundMs: null },
  ]);
  t.same(countSummary(run), {
    requested: 5,
    issued: 4,
    completed: 1,
    failed: 1,
    refusedByDaemon: 1,
    refusedByGenerator: 1,
    lost: 1,
  });
  t.equal(samplesOf(run.records).length, 1, 'only what completed has a turnaround');
});

t.test('context switches are summed per invocation and normalised per id', async (t) => {
  const records = [
    sampleRecord({ voluntarySwitches: 1, involuntarySwitches: 3 }),
    sampleRecord({ voluntarySwitches: 0, involuntarySwitches: 8 }),
    sampleRecord({ voluntarySwitches: null, involuntarySwitches: null }),
  ];
  const switches = switchSummary(records);
  t.equal(switches?.perInvocation.mean, 6);
  t.equal(switches?.voluntaryMean, 0.5);
  t.equal(switches?.involuntaryMean, 5.5);
  const cfs = [sampleRecord({ id: 'a', voluntarySwitches: 0, involuntarySwitches: 19 })];
  const sfs = [
    sampleRecord({ id: 'a', voluntarySwitches: 0, involuntarySwitches: 0 }),
    sampleRecord({ id: 'unpaired' }),
  ];
  t.same(switchRatios(cfs, sfs), [20]);
});

t.test('achieved load is CPU time over cores times the time over which it was issued', async (t) => {
  // Three requests 100 ms apart stand for 300 ms of load on 2 cores: 3 x 200 ms / (300 ms x 2) = 1.
  const records = [0, 100, 200].map((arrivalMs) => sampleRecord({ arrivalMs, cpuMs: 200, lagMs: 0 }));
  t.equal(achievedLoad({ records, workload: sampleHeader({ cores: 2 }) }), 1);
  t.equal(achievedLoad({ records: records.slice(0, 1), workload: sampleHeader() }), null);
});

t.test('the calibration is CPU time used over CPU time asked for', async (t) => {
  t.equal(cpuOverDemand([sampleRecord({ demandMs: 100, cpuMs: 110 }), sampleRecord({ fate: 'lost' })]), 1.1);
  t.equal(cpuOverDemand([]), null);
});

t.test('daemon CPU is told by part as a share of all cores over the run', async (t) => {
  const at = (elapsedMs: number, factor: number) => ({
    cores: 2,
    elapsedMs,
    pollingMs: 4 * factor,
    schedulingMs: 3 * factor,
    controlMs: 2 * factor,
    spawnerMs: factor,
    hostShare: 0,
  });
  const shares = daemonShares(at(1000, 1), at(1500, 2));
  t.same(shares, { polling: 0.004, scheduling: 0.003, control: 0.002, spawner: 0.001, total: 0.01 });
  t.equal(daemonShares(at(1000, 1), at(10, 0)), null, 'restarted in between');
});

t.test('a comparison pairs requests by id and removes those that not every policy completed', async (t) => {
  const [cfs, sfs] = samplePair();
  if (cfs === undefined || sfs === undefined) throw new Error('no runs');
  const whole = compare([cfs, sfs], sampleContext);
  t.equal(whole.paired, 3);
  t.ok(Math.abs((whole.comparison?.excessRemoved.short ?? 0) - 30 / 35) < 1e-12);
  t.equal(whole.comparison?.sfsOverCfs.long?.ratio, 1.2);
  t.equal(whole.comparison?.switchesNormalised?.median, 2);
  t.same(whole.warnings, []);
  const lossy = {
    ...sfs,
    records: sfs.records.map((record, index) =>
      index === 2 ? { ...record, fate: 'lost' as const, turnaroundMs: null } : record,
    ),
  };
  const partial = compare([cfs, lossy], sampleContext);
  t.equal(partial.paired, 2);
  t.equal(partial.cfs?.turnaroundMs.all?.count, 2, 'CFS too, so that both sides ran the same');
  t.equal(partial.cfs?.turnaroundMs.long, null);
  t.match(partial.warnings, [/SFS: of 3 requests, 1 lost/]);
});

t.test('one policy alone has figures but no comparison', async (t) => {
  const [cfs] = samplePair();
  if (cfs === undefined) throw new Error('no run');
  const summary = compare([cfs], sampleContext);
  t.equal(summary.comparison, null);
  t.equal(summary.sfs, null);
  t.equal(summary.cfs?.turnaroundMs.short?.mean, 50);
  t.equal(summary.ideal.turnaroundMs.short?.mean, 15);
});

t.test('what makes figures doubtful is named', async (t) => {
  const [cfs, sfs] = samplePair();
  if (cfs === undefined || sfs === undefined) throw new Error('no runs');
  const late = { ...cfs, records: cfs.records.map((record) => ({ ...record, lagMs: 9 })) };
  const fast = {
    ...sfs,
    workload: sampleHeader({ loadRealised: 1.2 }),
    records: sfs.records.map((record) => ({ ...record, cpuMs: 1, turnaroundMs: 5 })),
  };
  const { warnings } = compare([{ ...late, workload: fast.workload }, fast], sampleContext);
  t.match(warnings, [
    /realised load 1.200 is not its target 1.00/,
    /CFS: the generator was late by 9.0 ms/,
    /SFS: programs used 0.01 times the CPU time/,
    /SFS: 3 requests ended faster than their demand/,
  ]);
});

t.test('two runs of one policy are a bug of the caller', async (t) => {
  const [cfs] = samplePair();
  if (cfs === undefined) throw new Error('no run');
  t.throws(() => compare([cfs, cfs], sampleContext), { code: 'SFSD_ERR_INTERNAL' });
});
