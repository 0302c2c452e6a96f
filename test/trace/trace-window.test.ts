import { join } from 'node:path';
import t from 'tap';
import { type GenerateOptions, generateWorkload } from '../../src/trace/workload/generate.js';
import { loadTrace } from '../../src/trace/workload/trace-source.js';
import { isList, windowOf } from '../../src/trace/workload/window.js';

const good = join(process.cwd(), 'test/fixtures/lists/good.csv');
const sample = ['invocations', 'durations', 'memory'].map((name) =>
  join(process.cwd(), `traces/azure2019-sample/${name}.csv`),
);

const asItIs: GenerateOptions = {
  durations: 'azure2019',
  gaps: 'trace',
  pace: 'trace',
  requests: 'all',
  durationScale: 1,
  clipMs: Number.POSITIVE_INFINITY,
  functionShareMax: 1,
  functionsMin: 1,
  cores: 1,
};

t.test('a trace at its own pace keeps its time, and its load is told', async (t) => {
  const { header, requests } = await generateWorkload({ ...asItIs, trace: [good] });
  t.same(
    requests.map(({ arrival }) => arrival),
    [0, 50_000, 1_250_000],
  );
  t.equal(header.loadRealised, 1.45 / 1.25);
  t.equal(header.loadTarget, header.loadRealised);
  t.match(header.source, /1 minutes in 1\.3 s/);
});

t.test('time and durations scale apart', async (t) => {
  const { header, requests } = await generateWorkload({
    ...asItIs,
    trace: [good],
    timeScale: 2,
    durationScale: 0.5,
  });
  t.equal(requests.at(-1)?.arrival, 2_500_000);
  t.equal(requests[0]?.demand, 250_000);
  t.equal(header.loadRealised, 0.725 / 2.5);
});

t.test('only gaps of a trace have its pace', async (t) => {
  await t.rejects(generateWorkload({ ...asItIs, gaps: 'poisson', requests: 3, trace: [good] }), {
    code: 'SFSD_ERR_WORKLOAD_INVALID',
  });
});

t.test('a target load stretches time until the load of so many cores is met', async (t) => {
  const { header } = await generateWorkload({ ...asItIs, pace: 'load', load: 0.9, cores: 4, trace: sample });
  t.ok(Math.abs(header.loadRealised / 0.9 - 1) < 0.01);
});

t.test('a window of counts holds the invocations of its minutes and nothing else', async (t) => {
  const trace = await loadTrace(sample, {});
  if (isList(trace)) throw new Error('counts were read as a list');
  const inside = (from: number, to: number): number =>
    trace.functions.reduce((all, one) => all + one.counts.slice(from, to).reduce((sum, n) => sum + n, 0), 0);
  for (const [fromMinute, toMinute] of [
    [0, 1],
    [10, 12],
    [119, 500],
  ] as const) {
    const cut = windowOf(trace, { fromMinute, toMinute });
    t.equal(cut.report.invocations, inside(fromMinute, toMinute));
    t.equal(cut.minutes, Math.min(toMinute, trace.minutes) - fromMinute);
  }
  t.equal(windowOf(trace, {}), trace);
  t.throws(() => windowOf(trace, { fromMinute: 120 }), { code: 'SFSD_ERR_WORKLOAD_INVALID' });
  t.throws(() => windowOf(trace, { fromMinute: 0.5 }), { code: 'SFSD_ERR_WORKLOAD_INVALID' });
});

t.test('without --shift a minute’s equidistant arrivals start at its start', async (t) => {
  const { requests } = await generateWorkload({
    ...asItIs,
    trace: sample,
    fromMinute: 10,
    toMinute: 11,
    shift: false,
    within: 'equidistant',
  });
  const shifted = await generateWorkload({
    ...asItIs,
    trace: sample,
    fromMinute: 10,
    toMinute: 11,
    within: 'equidistant',
  });
  const atStart = (list: typeof requests): number => list.filter(({ arrival }) => arrival === 0).length;
  t.ok(atStart(requests) > 10, 'every function of the minute starts with it');
  t.equal(atStart(shifted.requests), 1);
});
