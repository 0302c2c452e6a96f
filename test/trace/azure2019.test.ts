import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { type AzureOptions, loadAzure2019, readAzure2019 } from '../../src/trace/formats/azure2019.js';
import { bandMean, durationAt } from '../../src/trace/formats/azure2019-durations.js';
import { numberOf } from '../../src/trace/formats/csv.js';
import type { Finding, ValidationReport } from '../../src/trace/formats/report.js';
import { type RuleCode, rules } from '../../src/trace/formats/validation.js';

const folder = t.testdir({});
const malformed = join(process.cwd(), 'test/fixtures/azure2019/malformed_duration_rows.csv');

const durationHeader =
  'HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0,percentile_Average_1,' +
  'percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,percentile_Average_100';
const memoryHeader = 'HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1';
const goodCounts = 'HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,1,0,2\n';
const goodDurations = `${durationHeader}\no,a,f,20,3,10,40,10,11,15,20,25,39,40\n`;
const goodMemory = `${memoryHeader}\no,a,9,128,100\n`;

interface Texts {
  readonly counts?: string;
  readonly durations?: string;
  readonly memory?: string;
}

let made = 0;
function filesOf({ counts = goodCounts, durations = goodDurations, memory = goodMemory }: Texts): string[] {
  return Object.entries({ counts, durations, memory }).map(([name, text]) => {
    made += 1;
    const file = join(folder, `${name}-${made}.csv`);
    writeFileSync(file, text);
    return file;
  });
}

async function reportOf(texts: Texts, options: AzureOptions = {}): Promise<ValidationReport> {
  return (await readAzure2019(filesOf(texts), options)).report;
}

function found(report: ValidationReport, code: RuleCode): Finding | undefined {
  return report.findings.find((finding) => finding.code === code);
}

const durationRow = (values: string): string => `${durationHeader}\no,a,f,${values}\n`;

/** For each rule: an input that breaks it, the line, and whether the trace is still usable. */
type CountsRule = Exclude<RuleCode, ListRule>;
type ListRule =
  | 'time-negative'
  | 'fib-out-of-range'
  | 'duration-zero'
  | 'start-duplicate'
  | 'start-unordered';

/** The rules of lists are in invocation-list.test.ts. */
const breaking: Readonly<Record<CountsRule, Texts & { readonly line: number; readonly lost?: number }>> = {
  'git-lfs-pointer': {
    counts: 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n',
    line: 1,
  },
  'format-unknown': { memory: 'what,is,this\n1,2,3\n', line: 1 },
  'column-missing': { durations: 'HashOwner,HashApp,HashFunction,percentile_Average_0\no,a,f,1\n', line: 1 },
  'minutes-not-contiguous': {
    counts: 'HashOwner,HashApp,HashFunction,Trigger,1,3\no,a,f,http,1,0\n',
    line: 1,
  },
  'column-count': { counts: `${goodCounts}o,a,g,http,1,2\n`, line: 3 },
  'not-a-number': { counts: `${goodCounts}o,a,g,http,1,NaN,0\n`, line: 3, lost: 1 },
  'count-negative': { counts: `${goodCounts}o,a,g,http,1,-1,0\n`, line: 3, lost: 1 },
  'count-fractional': { counts: `${goodCounts}o,a,g,http,1,0.5,0\n`, line: 3, lost: 1 },
  'byte-order-mark': { counts: `\uFEFF${goodCounts}`, line: 1 },
  'carriage-return': { counts: goodCounts.replaceAll('\n', '\r\n'), line: 1 },
  'duplicate-key': { counts: `${goodCounts}o,a,f,timer,9,9,9\n`, line: 3 },
  'counts-without-duration': { counts: `${goodCounts}o,a,g,http,1,2,4\n`, line: 3, lost: 1 },
  'duration-without-counts': {
    durations: `${goodDurations}o,a,z,20,3,10,40,10,11,15,20,25,39,40\n`,
    line: 3,
  },
  'app-without-memory': { memory: `${memoryHeader}\no,b,9,128,100\n`, line: 2 },
  'average-zero': { durations: durationRow('0,3,0,40,0,0,0,0,2,39,40'), line: 2 },
  'average-zero-no-percentile': { durations: durationRow('0,3,0,40,0,0,0,0,0,0,0'), line: 2 },
  'maximum-zero': { durations: durationRow('0,3,0,0,0,0,0,0,0,0,0'), line: 2 },
  'minimum-zero': { durations: durationRow('20,3,0,40,10,11,15,20,25,39,40'), line: 2 },
  'average-negative': { durations: durationRow('-20,3,-70,40,10,11,15,20,25,39,40'), line: 2, lost: 1 },
  'value-negative': { durations: durationRow('20,3,-70,40,-70,11,15,20,25,39,40'), line: 2 },
  'percentile-below-minimum': { durations: durationRow('20,3,10,40,9,11,15,20,25,39,40'), line: 2 },
  'average-outside': { durations: durationRow('41,3,10,40,10,11,15,20,25,39,40'), line: 2, lost: 1 },
  'percentiles-not-monotone': { durations: durationRow('20,3,10,40,10,11,15,14,25,39,40'), line: 2, lost: 1 },
  'trigger-unknown': { counts: goodCounts.replace('http', 'telepathy'), line: 2 },
  'trigger-changed': { line: 3 },
};

for (const [code, texts] of Object.entries(breaking)) {
  const rule = rules[code as RuleCode];
  if (code === 'trigger-changed') continue;
  t.test(`${code} is found with its file and line: ${rule.action}`, async (t) => {
    const report = await reportOf(texts);
    const finding = found(report, code as RuleCode);
    t.match(finding, { line: texts.line, count: Number, severity: rule.severity, action: rule.action });
    t.match(finding?.file, folder);
    t.equal(report.passed, rule.severity !== 'error', 'only errors refuse the trace');
    if (texts.lost !== undefined) t.equal(report.lostFunctions, texts.lost);
    const strict = await reportOf(texts, { strict: true });
    t.equal(strict.passed, rule.severity !== 'error' && !('strict' in rule), 'under --strict');
  });
}

t.test('a damaged row is dropped when asked, a damaged header never is', async (t) => {
  const badRows = `${goodCounts}o,a,g,http,1,NaN,0\no,a,h,http,1,2\no,a,i,http,-1,0,0\no,a,j,http,0.5,0,0\n`;
  const dropped = await reportOf({ counts: badRows }, { onBad: 'drop' });
  t.ok(dropped.passed);
  t.match(dropped.files[0], { rows: 5, accepted: 1 });
  t.equal(dropped.lostFunctions, 4);
  t.equal(dropped.functions, 1);
  t.equal((await reportOf({ counts: badRows })).passed, false);
  const headers = ['git-lfs-pointer', 'format-unknown', 'column-missing', 'minutes-not-contiguous'] as const;
  for (const code of headers) {
    t.equal((await reportOf(breaking[code], { onBad: 'drop' })).passed, false, code);
  }
});

t.test('--min-ms is what an impossible duration is raised to', async (t) => {
  const texts = { durations: durationRow('0,3,0,0,0,0,0,0,0,0,0') };
  const trace = await readAzure2019(filesOf(texts), { minMs: 2.5 });
  t.match(trace.functions[0]?.durations, { average: 2.5, maximum: 2.5 });
});

t.test('a trace without fault has no finding', async (t) => {
  const trace = await readAzure2019(filesOf({}));
  t.same(trace.report.findings, []);
  t.ok(trace.report.passed);
  t.same(
    trace.report.files.map(({ kind, rows, accepted }) => ({ kind, rows, accepted })),
    ['invocations', 'durations', 'memory'].map((kind) => ({ kind, rows: 1, accepted: 1 })),
  );
  t.same(
    trace.functions.map(({ counts, ...rest }) => ({ ...rest, counts: [...counts] })),
    [
      {
        key: 'o/a/f',
        trigger: 'http',
        counts: [1, 0, 2],
        invocations: 3,
        memoryMb: 128,
        durations: {
          average: 20,
          count: 3,
          minimum: 10,
          maximum: 40,
          percentiles: [10, 11, 15, 20, 25, 39, 40],
        },
      },
    ],
  );
});

t.test(
  'columns are found by name: order, names of minutes and spelling of numbers do not matter',
  async (t) => {
    const plain = await readAzure2019(filesOf({}));
    const variants = [
      'HashOwner,HashApp,HashFunction,Trigger,1_minute,2_minute,3_minute\no,a,f,http,1,0,2\n',
      'HashOwner,HashApp,HashFunction,Trigger,minute_1,minute_2,minute_3\no,a,f,http,1.0,0.0,2e0\n',
      'HashOwner,HashApp,HashFunction,Trigger,480,481,482\no,a,f,http,1,0,2\n',
      'Trigger,540,542,541,HashFunction,HashApp,HashOwner\nhttp,1,2,0,f,a,o\n',
      'HASHOWNER,hashapp,HashFunction ,Trigger,1,2,3\no,a,f,http,1,0,2',
    ];
    for (const counts of variants) {
      const trace = await readAzure2019(filesOf({ counts }));
      t.same(trace.functions, plain.functions, counts.slice(0, 60));
      t.same(trace.report.findings, []);
    }
  },
);

t.test('memory may be per function', async (t) => {
  const memory =
    'HashFunction,HashOwner,HashApp,SampleCount,AverageAllocatedMb\ng,o,a,1,50\nf,o,a,1,77.5\nh,o,a,1,90\n';
  const trace = await readAzure2019(filesOf({ memory }));
  t.equal(trace.functions[0]?.memoryMb, 77.5);
});

t.test('an app without memory gets the median of the others', async (t) => {
  const memory = `${memoryHeader}\no,b,9,100,1\no,c,9,300,1\no,d,9,120,1\n`;
  t.equal((await readAzure2019(filesOf({ memory }))).functions[0]?.memoryMb, 120);
});

t.test(
  'days are joined in the order given, and a trigger that changes is told and the last one used',
  async (t) => {
    const [first = '', durations = '', memory = ''] = filesOf({});
    const [second = ''] = filesOf({
      counts: 'HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,g,http,1,1\no,a,f,timer,7,8\n',
      durations: goodDurations.replace('o,a,f', 'o,a,g'),
    });
    const trace = await readAzure2019([first, second, durations, memory]);
    const [joined] = trace.functions;
    t.same([...(joined?.counts ?? [])], [1, 0, 2, 7, 8]);
    t.equal(joined?.trigger, 'timer');
    t.equal(trace.minutes, 5);
    t.match(found(trace.report, 'trigger-changed'), { line: 3, file: second, action: 'use-last' });
    t.match(found(trace.report, 'counts-without-duration'), { line: 2, count: 1 });
    t.equal(trace.report.lostInvocations, 2);
  },
);

t.test('a duplicate key keeps the first row', async (t) => {
  const trace = await readAzure2019(filesOf({ counts: `${goodCounts}o,a,f,timer,9,9,9\n` }));
  t.equal(trace.functions[0]?.invocations, 3);
  t.equal(trace.functions[0]?.trigger, 'http');
});

t.test('findings of one rule and file are folded', async (t) => {
  const rows = Array.from({ length: 50 }, (_, index) => `o,a,x${index},http,-1,0,0\n`).join('');
  const finding = found(await reportOf({ counts: goodCounts + rows }), 'count-negative');
  t.match(finding, { line: 3, count: 50 });
  t.equal(finding?.lines.length, 20);
});

t.test('loading a damaged trace throws one coded error that names every place', async (t) => {
  const files = filesOf({ counts: `${goodCounts}o,a,g,http,1,NaN,0\no,a,h,http,1,2\n` });
  await t.rejects(loadAzure2019(files), {
    code: 'SFSD_ERR_TRACE_INVALID',
    message: /counts-\d+\.csv:4 column-count .*counts-\d+\.csv:3 not-a-number \(NaN\)/,
  });
  await t.resolves(loadAzure2019(filesOf({})));
});

t.test('the real malformed rows are each treated by their rule', async (t) => {
  const trace = await readAzure2019([malformed]);
  const counts = Object.fromEntries(trace.report.findings.map(({ code, count }) => [code, count]));
  t.same(counts, {
    'average-zero': 9,
    'average-zero-no-percentile': 3,
    'maximum-zero': 3,
    'average-negative': 1,
    'value-negative': 1,
    'percentile-below-minimum': 1,
    'minimum-zero': 12,
    'duration-without-counts': 14,
    'carriage-return': 16,
  });
  t.same(found(trace.report, 'average-negative')?.lines, [14]);
  t.same(found(trace.report, 'value-negative')?.lines, [15]);
  t.same(found(trace.report, 'percentile-below-minimum')?.lines, [16]);
});

t.test('a number is what a trace would write, and nothing else', (t) => {
  for (const [text, value] of Object.entries({ '71': 71, '71.0': 71, '-0.5': -0.5, ' 3 ': 3, '1e3': 1000 })) {
    t.equal(numberOf(text), value);
  }
  for (const text of ['', ' ', 'NaN', 'Infinity', '0x10', '1,5', '1_000', '--1', '.', 'null']) {
    t.ok(Number.isNaN(numberOf(text)), JSON.stringify(text));
  }
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (x) => numberOf(`${x}`) === x));
  t.end();
});

t.test('any counts survive being written with shuffled columns and read back', async (t) => {
  const matrix = fc
    .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 8 }))
    .chain(([functions, minutes]) =>
      fc.tuple(
        fc.array(fc.array(fc.nat(200_000), { minLength: minutes, maxLength: minutes }), {
          minLength: functions,
          maxLength: functions,
        }),
        fc.shuffledSubarray([...Array(minutes + 4).keys()], { minLength: minutes + 4 }),
        fc.integer({ min: 0, max: 1000 }),
      ),
    );
  const property = fc.asyncProperty(matrix, async ([rows, order, start]) => {
    const names = ['HashOwner', 'HashApp', 'HashFunction', 'Trigger'];
    const table = [
      [...names, ...(rows[0] ?? []).map((_, minute) => String(start + minute))],
      ...rows.map((counts, index) => ['o', 'a', `f${index}`, 'http', ...counts.map(String)]),
    ];
    const counts = table.map((cells) => order.map((position) => cells[position]).join(',')).join('\n');
    const durations = rows.map((_, index) => `o,a,f${index},20,3,10,40,10,11,15,20,25,39,40\n`).join('');
    const trace = await readAzure2019(filesOf({ counts, durations: `${durationHeader}\n${durations}` }));
    t.same(
      trace.functions.map((one) => [...one.counts]),
      rows,
    );
  });
  await fc.assert(property, { numRuns: 30 });
});

t.test('no text makes the reader throw anything but a coded error', async (t) => {
  const cell = fc.oneof(
    fc.constantFrom('o', '1', '-1', 'NaN', '', '"', 'Trigger', '\r', '1e999'),
    fc.string(),
  );
  const text = fc
    .array(fc.array(cell, { maxLength: 8 }), { maxLength: 6 })
    .map((rows) => rows.map((cells) => cells.join(',')).join('\n'));
  const property = fc.asyncProperty(text, fc.boolean(), async (body, headed) => {
    const counts = headed ? `HashOwner,HashApp,HashFunction,Trigger,1,2,3\n${body}` : body;
    try {
      await readAzure2019(filesOf({ counts }));
    } catch (thrown) {
      t.match(thrown, { code: 'SFSD_ERR_TRACE_INVALID' });
    }
  });
  await fc.assert(property, { numRuns: 100 });
  t.pass('done');
});

t.test('a quantile picks a band, then a value inside it; its mean is the band mean', (t) => {
  const percentiles = [10, 11, 15, 20, 25, 39, 40];
  t.equal(durationAt(percentiles, 0), 10);
  t.equal(durationAt(percentiles, 0.5), 20);
  t.equal(durationAt(percentiles, 1), 40);
  t.equal(durationAt(percentiles, 0.375), 17.5);
  let sum = 0;
  for (let index = 0; index < 1000; index += 1) sum += durationAt(percentiles, (index + 0.5) / 1000);
  t.ok(Math.abs(sum / 1000 - bandMean(percentiles)) < 0.01);
  t.end();
});
