import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { readWorkload, writeWorkload } from '../../src/trace/formats/json-lines.js';
import { readDurationTable, tableSource } from '../../src/trace/workload/durations.js';
import { burstyCv, cvOf } from '../../src/trace/workload/gaps.js';
import {
  bundledSample,
  type GenerateOptions,
  generateWorkload,
  validateTrace,
} from '../../src/trace/workload/generate.js';
import { applicationMix } from '../../src/trace/workload/mix.js';
import { isShort, type Workload } from '../../src/trace/workload/workload.js';

const folder = t.testdir({});

function loadOf({ header, requests }: Workload): number {
  const total = requests.reduce((all, request) => all + request.demand, 0);
  return total / ((requests.at(-1)?.arrival ?? 0) * header.cores);
}

function shareOf({ requests }: Workload, fromMs: number, toMs: number): number {
  const inside = requests.filter(({ demand }) => demand >= fromMs * 1000 && demand < toMs * 1000);
  return inside.length / requests.length;
}

async function bytesOf(options: GenerateOptions): Promise<Buffer> {
  const file = join(folder, 'bytes.jsonl');
  await writeWorkload(file, await generateWorkload(options));
  return readFileSync(file);
}

const variants: readonly GenerateOptions[] = [
  { durations: 'table', gaps: 'poisson' },
  { durations: 'table', gaps: 'bursty', stratified: true, durationScale: 0.5 },
  { durations: 'lognormal', gaps: 'uniform', clipMs: 60_000 },
  { durations: 'azure2019', gaps: 'trace', stratified: true },
  { durations: 'azure2019', gaps: 'poisson', load: 0.8, cores: 4 },
  { durations: 'table', gaps: 'trace', mix: applicationMix, sleepShare: 0.5 },
];

for (const options of variants) {
  const name = `${options.durations} ${options.gaps}${options.stratified === true ? ' stratified' : ''}`;
  t.test(`${name}: the same seed gives the same bytes, another seed others`, async (t) => {
    const first = await bytesOf({ ...options, seed: 5 });
    t.ok(first.equals(await bytesOf({ ...options, seed: 5 })));
    t.notOk(first.equals(await bytesOf({ ...options, seed: 6 })));
  });

  t.test(
    `${name}: arrivals start at 0, ascend and realise the load; demands are at least 1 ms`,
    async (t) => {
      const workload = await generateWorkload({ ...options, seed: 12 });
      const { header, requests } = workload;
      t.equal(requests.length, 400);
      t.equal(requests[0]?.arrival, 0);
      t.ok(requests.every((request, index) => request.arrival >= (requests[index - 1]?.arrival ?? 0)));
      t.ok(requests.every((request) => Number.isInteger(request.demand) && request.demand >= 1000));
      t.equal(new Set(requests.map((request) => request.id)).size, 400);
      t.ok(requests.every((request) => /^[-a-zA-Z0-9_.]{1,128}$/.test(request.functionName)));
      t.ok(Math.abs(loadOf(workload) / (options.load ?? 1) - 1) < 1e-4, `load ${loadOf(workload)}`);
      t.ok(Math.abs(header.loadRealised - loadOf(workload)) < 1e-9);
      t.equal(header.shortBelow, Math.round(400_000 * header.durationScale));
      const file = join(folder, 'whole.jsonl');
      await writeWorkload(file, workload);
      t.same(await readWorkload(file), JSON.parse(JSON.stringify(workload)));
    },
  );
}

t.test('the mean of the bundled table is near the 370 ms of the paper workload', (t) => {
  const source = tableSource(readDurationTable());
  let sum = 0;
  for (let index = 0; index < 10_000; index += 1) sum += source.at((index + 0.5) / 10_000).ms;
  t.ok(Math.abs(sum / 10_000 - 370) < 5, `${sum / 10_000} ms`);
  t.end();
});

t.test('a stratified table workload has the exact share in each bucket, whatever the seed', async (t) => {
  for (const seed of [1, 2, 3]) {
    const workload = await generateWorkload({ requests: 1000, stratified: true, seed });
    const edges = [0, 50, 100, 200, 400, 1550, 10_000];
    const shares = edges.slice(1).map((to, index) => shareOf(workload, edges[index] ?? 0, to));
    t.same(shares, [0.429, 0.106, 0.077, 0.235, 0.077, 0.076]);
  }
  const small = await generateWorkload({ requests: 400, stratified: true, durationScale: 0.5 });
  t.equal(small.requests.filter((request) => isShort(request, small.header)).length, 339);
});

t.test('two stratified workloads differ in their order only', async (t) => {
  const demands = async (seed: number): Promise<number[]> =>
    (await generateWorkload({ stratified: true, seed })).requests.map((request) => request.demand);
  const [first, second] = [await demands(1), await demands(2)];
  t.notSame(first, second);
  const ascending = (left: number, right: number): number => left - right;
  t.same(first.toSorted(ascending), second.toSorted(ascending));
});

t.test('drawn table demands keep their shares within chance', async (t) => {
  const workload = await generateWorkload({ requests: 20_000, seed: 4 });
  const table = readDurationTable();
  const chiSquare = table.buckets.reduce((sum, { fromMs, toMs, sharePercent }) => {
    const expected = sharePercent * 200;
    return sum + (shareOf(workload, fromMs, toMs) * 20_000 - expected) ** 2 / expected;
  }, 0);
  t.ok(chiSquare < 20.5, `chi-square ${chiSquare} of 5 degrees is below its 0.1% tail`);
});

t.test('log-normal demands have their median and quartile', async (t) => {
  const { requests } = await generateWorkload({ durations: 'lognormal', clipMs: 1e9, requests: 20_000 });
  const sorted = requests.map((request) => request.demand / 1e6).sort((left, right) => left - right);
  const median = sorted[10_000] ?? 0;
  t.ok(Math.abs(Math.log(median) + 0.38) < 0.08, `${median} s`);
  const quartile = sorted[15_000] ?? 0;
  t.ok(Math.abs(Math.log(quartile) - (-0.38 + 0.6745 * 2.36)) < 0.08, `${quartile} s`);
});

t.test('realised gaps have the CV that was asked for, and the header says it', async (t) => {
  const { header, requests } = await generateWorkload({ gaps: 'bursty', requests: 5000 });
  const gaps = requests.slice(1).map((request, index) => request.arrival - (requests[index]?.arrival ?? 0));
  t.ok(Math.abs(cvOf(gaps) - burstyCv) < 0.1);
  t.equal(header.gapCv, cvOf(gaps));
});

t.test('a mean that is asked for is reached by the scale', async (t) => {
  const { header } = await generateWorkload({ durations: 'lognormal', meanMs: 250, seed: 3 });
  t.ok(Math.abs(header.demandMean - 250_000) < 1000);
});

t.test(
  'variation keeps the mean and the arrivals’ order, and is log-normal about the same durations',
  async (t) => {
    const plain = { durations: 'table', stratified: true, requests: 20_000, seed: 4 } as const;
    const before = await generateWorkload(plain);
    const after = await generateWorkload({ ...plain, sigma: 0.5 });
    t.ok(Math.abs(after.header.demandMean / before.header.demandMean - 1) < 0.02);
    t.match(after.header.source, /varied with sigma 0\.5/);
    const logs = after.requests.map((request, index) =>
      Math.log(request.demand / (before.requests[index]?.demand ?? 1)),
    );
    const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
    const spread = Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length);
    t.ok(Math.abs(mean + 0.125) < 0.02 && Math.abs(spread - 0.5) < 0.02, `${mean} ${spread}`);
  },
);

t.test('the application mix is 60/20/20, exactly when stratified', async (t) => {
  const { requests } = await generateWorkload({ mix: applicationMix, stratified: true, requests: 1000 });
  const count = (application: string): number =>
    requests.filter((request) => request.application === application).length;
  t.same([count('fib'), count('md'), count('sa'), count('burn')], [600, 200, 200, 0]);
  t.ok(requests.every((request) => request.functionName.startsWith(`${request.application}-`)));
});

t.test('sleeps lie inside the demand and have their share and length', async (t) => {
  const { requests } = await generateWorkload({
    sleepShare: 0.25,
    requests: 4000,
    sleepMinMs: 5,
    sleepMaxMs: 20,
  });
  const sleepers = requests.filter((request) => request.sleeps.length > 0);
  t.ok(Math.abs(sleepers.length / 4000 - 0.25) < 0.03);
  for (const { sleeps, demand } of sleepers) {
    t.ok(sleeps.every(({ at, length }) => at < demand && length >= 5000 && length <= 20_000));
  }
});

t.test('all faulty options are named at once', async (t) => {
  await t.rejects(generateWorkload({ requests: 1, load: 0, cores: 1.5, seed: -1, mix: { burn: 0 } }), {
    code: 'SFSD_ERR_WORKLOAD_INVALID',
    message: /requests.*seed.*load.*cores.*mix names no application/,
  });
  await t.rejects(generateWorkload({ sigma: -1 }), /sigma is not 0 to 3/);
  await t.rejects(generateWorkload({ durationScale: 1, meanMs: 10 }), /exclude each other/);
  await t.rejects(generateWorkload({ durations: 'azure2019', requests: 100_000 }), /has 77790 invocations/);
  await t.rejects(generateWorkload({ durations: 'azure2019', trace: [join(folder, 'none')] }), {
    code: 'SFSD_ERR_FILE',
  });
});

t.test('a faulty duration table is refused with its reason', async (t) => {
  const file = join(folder, 'table.json');
  for (const [text, reason] of [
    ['{}', /buckets is not a list/],
    ['{"buckets":[{"fromMs":1,"toMs":2,"sharePercent":99}]}', /sum to 99 percent/],
    ['{"buckets":[{"fromMs":2,"toMs":1,"sharePercent":100}]}', /bucket 1 is not ascending/],
    ['nonsense', /JSON/],
  ] as const) {
    writeFileSync(file, text);
    await t.rejects(generateWorkload({ table: file }), { code: 'SFSD_ERR_TRACE_INVALID', message: reason });
  }
  writeFileSync(file, '{"buckets":[{"fromMs":10,"toMs":20,"sharePercent":100}]}');
  t.equal(shareOf(await generateWorkload({ table: file }), 10, 20.001), 1);
});

t.test('any options that are accepted realise their load and sort their arrivals', async (t) => {
  const property = fc.asyncProperty(
    fc.record({
      requests: fc.integer({ min: 2, max: 300 }),
      seed: fc.maxSafeNat(),
      gaps: fc.constantFrom('poisson', 'bursty', 'uniform'),
      durations: fc.constantFrom('table', 'lognormal'),
      load: fc.double({ min: 0.05, max: 3, noNaN: true }),
      cores: fc.integer({ min: 1, max: 64 }),
      durationScale: fc.double({ min: 0.01, max: 2, noNaN: true }),
      stratified: fc.boolean(),
    }),
    async (options) => {
      const workload = await generateWorkload({ ...options, gaps: options.gaps as 'poisson' });
      t.ok(Math.abs(loadOf(workload) / options.load - 1) < 0.01);
      const { requests } = workload;
      t.ok(requests.every((request, index) => request.arrival >= (requests[index - 1]?.arrival ?? 0)));
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

t.test('the bundled sample is sound and small', async (t) => {
  const report = await validateTrace([bundledSample]);
  t.ok(report.passed);
  t.match(report, { functions: 100, invocations: 77_790, lostFunctions: 0 });
  const bytes = ['invocations', 'durations', 'memory'].map(
    (name) => readFileSync(join(bundledSample, `${name}.csv`)).length,
  );
  t.ok(bytes.reduce((all, size) => all + size, 0) < 200_000);
});
