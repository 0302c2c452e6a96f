import fc from 'fast-check';
import t from 'tap';
import type { AzureFunction, AzureTrace } from '../../src/trace/formats/azure2019.js';
import { quotasOf, sampleAzure, thinned } from '../../src/trace/workload/azure-sample.js';
import { generateWorkload } from '../../src/trace/workload/generate.js';
import { RandomStream } from '../../src/trace/workload/random.js';

const percentiles = [1, 1, 5, 10, 20, 50, 60];

function functionOf(name: string, counts: readonly number[]): AzureFunction {
  return {
    key: `o/a/${name}`,
    trigger: 'http',
    counts: Uint32Array.from(counts),
    invocations: counts.reduce((all, count) => all + count, 0),
    durations: { average: 10, count: 1, minimum: 1, maximum: 60, percentiles },
    memoryMb: 100,
  };
}

function traceOf(functions: readonly AzureFunction[]): AzureTrace {
  const invocations = functions.reduce((all, one) => all + one.invocations, 0);
  const report = {
    strict: false,
    passed: true,
    files: [],
    findings: [],
    lostFunctions: 0,
    lostInvocations: 0,
  };
  return { functions, minutes: 5, report: { ...report, functions: functions.length, invocations } };
}

const options = {
  requests: 100,
  functionShareMax: 0.1,
  functionsMin: 3,
  stratified: true,
  within: 'exponential',
  shift: true,
} as const;

const anyTrace = fc.array(fc.array(fc.nat(60), { minLength: 5, maxLength: 5 }), {
  minLength: 3,
  maxLength: 30,
});

t.test('quotas sum to the requests, within each function and, where others suffice, within the cap', (t) => {
  fc.assert(
    fc.property(anyTrace, fc.integer({ min: 20, max: 200 }), (counts, requests) => {
      const functions = counts
        .map((row, index) => functionOf(`f${index}`, row))
        .filter((one) => one.invocations > 0)
        .sort((left, right) => right.invocations - left.invocations);
      fc.pre(functions.reduce((all, one) => all + one.invocations, 0) >= requests);
      const { quotas, cap } = quotasOf(functions, { ...options, requests });
      t.equal(
        quotas.reduce((all, quota) => all + quota, 0),
        requests,
      );
      t.ok(quotas.every((quota, index) => quota <= Math.min(cap, functions[index]?.invocations ?? 0)));
      t.ok(quotas.slice(0, 3).every((quota) => quota >= 1));
    }),
    { numRuns: 100 },
  );
  t.end();
});

t.test('one function with most invocations stays below the cap', (t) => {
  const small = Array.from({ length: 20 }, (_, index) => functionOf(`f${index}`, [4, 4, 4, 4, 4]));
  const sample = sampleAzure(
    traceOf([functionOf('timer', [9000, 9000, 9000, 9000, 9000]), ...small]),
    options,
    new RandomStream(1, 'sample'),
  );
  t.equal(sample.invocations.filter((one) => one.draw.name === 'timer').length, 10);
  t.equal(sample.invocations.length, 100);
  t.equal(sample.functionShare, 0.1);
  t.end();
});

t.test('a thinned function keeps the proportions of its minutes', (t) => {
  t.same([...thinned(functionOf('f', [10, 0, 30, 60, 0]), 10, 0.5)], [1, 0, 3, 6, 0]);
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 10 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (counts, phase, part) => {
        const one = functionOf('f', counts);
        fc.pre(one.invocations > 0);
        const quota = Math.floor(one.invocations * part);
        const kept = thinned(one, quota, phase);
        t.equal(
          kept.reduce((all, count) => all + count, 0),
          quota,
        );
        return kept.every((count, minute) => count <= (counts[minute] ?? 0));
      },
    ),
  );
  t.end();
});

t.test('the bundled sample replays within bounds and says what was scaled', async (t) => {
  for (const seed of [1, 2, 3]) {
    const { header, requests } = await generateWorkload({ durations: 'azure2019', gaps: 'trace', seed });
    const perFunction = new Map<string, number>();
    for (const { functionName } of requests) {
      perFunction.set(functionName, (perFunction.get(functionName) ?? 0) + 1);
    }
    t.ok(perFunction.size >= 14, `${perFunction.size} functions`);
    t.ok(Math.max(...perFunction.values()) <= 40);
    t.ok(Math.abs(header.demandMean - 185_000) < 1500, `mean ${header.demandMean}`);
    t.ok((requests.at(-1)?.arrival ?? 0) < 38e6);
    t.ok(Math.max(...requests.map((request) => request.demand)) <= 10e6 * header.durationScale + 1);
    t.match(
      header.source,
      /^azure2019: azure2019-sample, 400 of 77790 invocations of \d+ of 100 functions, at most 10% from one function, 120 minutes compressed to 3[67]\.\d s, durations clipped at 10000 ms, durations x 0\.\d+$/,
    );
    t.equal(header.validation?.passed, true);
    t.equal(header.validation?.files[0]?.file, 'azure2019-sample/durations.csv');
  }
});
