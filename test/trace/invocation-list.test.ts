import { join } from 'node:path';
import t from 'tap';
import { azure2021 } from '../../src/trace/formats/azure2021.js';
import { detectFormat, formatOfLine } from '../../src/trace/formats/detect.js';
import { type ListOptions, loadLists, readLists } from '../../src/trace/formats/invocation-list.js';
import { fibMs, sfsList } from '../../src/trace/formats/sfs-list.js';
import { type RuleCode, rules } from '../../src/trace/formats/validation.js';
import { generateWorkload, validateTrace } from '../../src/trace/workload/generate.js';
import { loadTrace } from '../../src/trace/workload/trace-source.js';
import { isList, windowOf } from '../../src/trace/workload/window.js';

const fixture = (name: string): string => join(process.cwd(), 'test/fixtures/lists', name);

function read(name: string, options: ListOptions = {}) {
  return readLists([fixture(name)], name.endsWith('.csv') ? azure2021 : sfsList, options);
}

/** For each fixture: the rule, the line, its count, and the invocations that are left. */
const breaking: readonly (readonly [string, RuleCode, number, number, number])[] = [
  ['duration-zero.csv', 'duration-zero', 5, 1, 4],
  ['time-negative.csv', 'time-negative', 5, 1, 3],
  ['start-duplicate.csv', 'start-duplicate', 5, 2, 5],
  ['start-unordered.csv', 'start-unordered', 5, 1, 4],
  ['not-a-number.csv', 'not-a-number', 5, 2, 3],
  ['column-count.csv', 'column-count', 5, 1, 3],
  ['column-missing.csv', 'column-missing', 1, 1, 0],
  ['byte-order-mark.csv', 'byte-order-mark', 1, 1, 3],
  ['carriage-return.csv', 'carriage-return', 1, 2, 1],
  ['git-lfs-pointer.csv', 'git-lfs-pointer', 1, 1, 0],
  ['duplicate-key.list', 'duplicate-key', 4, 1, 3],
  ['fib-out-of-range.list', 'fib-out-of-range', 4, 1, 3],
  ['fib-fractional.list', 'fib-out-of-range', 4, 1, 3],
  ['time-negative.list', 'time-negative', 4, 1, 3],
  ['not-a-number.list', 'not-a-number', 4, 1, 3],
  ['column-count.list', 'column-count', 4, 1, 3],
  ['start-duplicate.list', 'start-duplicate', 4, 1, 4],
  ['start-unordered.list', 'start-unordered', 4, 1, 4],
];

for (const [name, code, line, count, left] of breaking) {
  const rule: { severity: string; action: string; row?: true; strict?: true } = rules[code];
  t.test(`${name}: ${code} is found with its file, line and count: ${rule.action}`, async (t) => {
    const { report } = await read(name);
    t.match(
      report.findings.map((finding) => finding.code),
      [code],
    );
    t.match(report.findings[0], { file: fixture(name), line, count, action: rule.action });
    t.equal(report.invocations, left);
    t.equal(report.passed, rule.severity !== 'error');
    const dropping = await read(name, { onBad: 'drop' });
    t.equal(dropping.report.passed, rule.severity !== 'error' || rule.row === true, 'under --on-bad drop');
    const strict = await read(name, { strict: true });
    t.equal(strict.report.passed, rule.severity !== 'error' && rule.strict !== true, 'under --strict');
  });
}

t.test('Azure 2021: a start is end - duration, and a function is its app and its name', async (t) => {
  const trace = await read('good.csv');
  t.same([...trace.starts], [1_000_000, 1_050_000, 2_250_000]);
  t.same([...trace.durationsMs], [500, 200, 750]);
  t.same([...trace.functionOf], [0, 1, 2], 'f of app a is not f of app b');
  t.same(trace.report.findings, []);
  t.match(trace.report, { functions: 3, invocations: 3, lostInvocations: 0 });
});

t.test('invocations that start together keep the order of their rows', async (t) => {
  const trace = await read('start-duplicate.csv');
  t.same([...trace.starts], [1_000_000, 1_050_000, 2_250_000, 2_250_000, 2_250_000]);
  t.same([...trace.durationsMs], [500, 200, 750, 1000, 500]);
});

t.test('a duration of 0 becomes --min-ms', async (t) => {
  t.equal((await read('duration-zero.csv', { minMs: 3 })).durationsMs.at(-1), 3);
});

t.test('SFS list: starts are in units of 9 ms, durations by the golden ratio from fib 31', async (t) => {
  const trace = await read('good.list');
  t.same([...trace.starts], [9_000, 18_000, 36_000]);
  t.equal(trace.durationsMs.at(-1), 346);
  t.ok(Math.abs(fibMs(34) / 1425 - 1) < 0.03, 'the paper has 1,425 ms for fib 34');
  t.same(trace.functionNames, ['fib27', 'fib30', 'fib31']);
});

t.test('a damaged list refuses to load, naming the place, unless its rows may be dropped', async (t) => {
  const files = [fixture('not-a-number.csv')];
  await t.rejects(loadLists(files, azure2021), {
    code: 'SFSD_ERR_TRACE_INVALID',
    message: /not-a-number\.csv:5 not-a-number \(end_timestamp Infinity\) and 1 more/,
  });
  const { report } = await loadLists(files, azure2021, { onBad: 'drop' });
  t.match(report, { invocations: 3, lostInvocations: 2 });
});

t.test('the format is told by the first line', async (t) => {
  t.equal(formatOfLine('{"format":"sfsd-workload"}'), 'workload');
  t.equal(formatOfLine('duration,func,app,END_TIMESTAMP'), 'azure2021');
  t.equal(formatOfLine('job1 work 27 1 1'), 'sfs');
  t.equal(formatOfLine('HashOwner,HashApp,HashFunction,Trigger,1,2'), 'azure2019');
  t.equal(formatOfLine('what is this'), 'azure2019');
  t.equal(await detectFormat([fixture('byte-order-mark.csv')]), 'azure2021');
  await t.rejects(detectFormat([fixture('good.csv'), fixture('good.list')]), {
    code: 'SFSD_ERR_TRACE_INVALID',
  });
});

t.test('validation takes the format that is named over the one that is seen', async (t) => {
  t.ok((await validateTrace([fixture('good.list')])).passed);
  const wrong = await validateTrace([fixture('good.list')], { format: 'azure2021' });
  t.equal(wrong.passed, false);
});

t.test('a list becomes a workload with its own durations and its own order', async (t) => {
  const { header, requests } = await generateWorkload({
    trace: [fixture('good.csv')],
    durations: 'azure2019',
    gaps: 'trace',
    requests: 3,
    durationScale: 1,
    load: 0.5,
    cores: 1,
  });
  t.match(header, { source: /^azure2021: good\.csv, 3 of 3 invocations of 3 of 3 functions/, gaps: 'trace' });
  t.same(
    requests.map(({ functionName, demand }) => [functionName, demand]),
    [
      ['burn-f', 500_000],
      ['burn-g', 200_000],
      ['burn-f', 750_000],
    ],
  );
  t.equal(requests.at(-1)?.arrival, 2_900_000, 'demands of 1.45 s at half load');
  t.equal(requests[1]?.arrival, 116_000, '0.05 s of 1.25 s, stretched to 2.9 s');
});

t.test('a window of a list counts minutes from its first start', async (t) => {
  const trace = await loadTrace([fixture('good.csv')], {});
  const cut = windowOf(trace, { fromMinute: 0, toMinute: 0.02 });
  t.ok(isList(cut));
  t.match(cut.report, { invocations: 2, functions: 2 });
  t.throws(() => windowOf(trace, { fromMinute: 5 }), { code: 'SFSD_ERR_WORKLOAD_INVALID' });
  t.throws(() => windowOf(trace, { fromMinute: 1, toMinute: 1 }), { code: 'SFSD_ERR_WORKLOAD_INVALID' });
});
