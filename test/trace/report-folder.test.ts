/**
 * Run folders: what is written is read back, and every fault of a broken one is named.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import { compare, type Summary } from '../../src/trace/replay/comparison.js';
import type { SeriesRow } from '../../src/trace/replay/series.js';
import { reportPage } from '../../src/trace/report/html.js';
import { writeRunFolder } from '../../src/trace/report/outputs.js';
import { readRunFolder } from '../../src/trace/report/read.js';
import { sampleContext, samplePair } from './replay-samples.js';

const series: readonly SeriesRow[] = [
  { policy: 'sfs', kind: 'slice', atMs: 0, sliceMs: 20 },
  { policy: 'sfs', kind: 'pickup', atMs: 3, id: 'r0', queueDelayMs: 3, limitMs: 60, bypassed: false },
  { policy: 'sfs', kind: 'pickup', atMs: 90, id: 'r1', queueDelayMs: 61, limitMs: null, bypassed: true },
];

const runs = samplePair().map((run) => (run.policy === 'sfs' ? { ...run, series } : run));
const summary = compare(runs, sampleContext);

async function written(folder: string): Promise<string> {
  await writeRunFolder(folder, { summary, runs });
  return folder;
}

/** The fault text of reading the folder; empty when it reads. */
async function faultsOf(folder: string): Promise<string> {
  try {
    await readRunFolder(folder);
    return '';
  } catch (thrown) {
    if (thrown instanceof SfsdError) return `${thrown.code} ${thrown.message}`;
    throw thrown;
  }
}

t.test('a folder that was written reads back the same', async (t) => {
  const folder = await written(join(t.testdir(), 'deep', 'run'));
  const back = await readRunFolder(folder);
  t.same(back.summary, summary);
  t.same(
    back.records,
    runs.flatMap((run) => run.records),
  );
  t.same(back.series, series);
});

t.test('all five files are there and nothing half-written beside them', async (t) => {
  const folder = await written(t.testdir());
  t.same(readdirSync(folder).sort(), [
    'report.html',
    'requests.csv',
    'requests.jsonl',
    'slice.jsonl',
    'summary.json',
  ]);
});

t.test('a second run replaces the first', async (t) => {
  const folder = t.testdir({ 'requests.jsonl': 'old\n', 'summary.json': '{}' });
  t.equal(await faultsOf(await written(folder)), '');
});

t.test('the cfs run comes first, in whatever order the runs are given', async (t) => {
  const folder = t.testdir();
  await writeRunFolder(folder, { summary, runs: [...runs].reverse() });
  const { records } = await readRunFolder(folder);
  t.same(
    records.map((record) => record.policy),
    ['cfs', 'cfs', 'cfs', 'sfs', 'sfs', 'sfs'],
  );
});

t.test('requests.csv has a header, one line a request, and quotes what must be quoted', async (t) => {
  const folder = t.testdir();
  const odd = runs.map((run) => ({
    ...run,
    records: run.records.map((record) => ({ ...record, functionName: 'a "b", c' })),
  }));
  await writeRunFolder(folder, { summary, runs: odd });
  const lines = readFileSync(join(folder, 'requests.csv'), 'utf8').trimEnd().split('\n');
  t.equal(lines.length, 1 + 6);
  t.match(lines[0], /^policy,id,functionName,application,fate,exit,arrivalMs,/);
  t.match(lines[1], /^cfs,r0,"a ""b"", c",burn,completed,exited 0,0,0\.5,,1,40,40,10,10,10,/);
});

t.test('a folder that cannot be made is an error with its path', async (t) => {
  const folder = join(t.testdir({ file: '' }), 'file', 'run');
  await t.rejects(writeRunFolder(folder, { summary, runs }), { code: 'SFSD_ERR_FILE' });
});

t.test('a missing file is named', async (t) => {
  const folder = await written(t.testdir());
  rmSync(join(folder, 'slice.jsonl'));
  t.match(await faultsOf(folder), /^SFSD_ERR_FILE .*slice\.jsonl/);
  t.match(await faultsOf(join(folder, 'nowhere')), /^SFSD_ERR_FILE .*summary\.json/);
});

t.test('every fault is named with its file, line and field', async (t) => {
  const folder = await written(t.testdir());
  const file = join(folder, 'requests.jsonl');
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  lines[1] = '{"policy":';
  lines[2] = (lines[2] ?? '')
    .replace('"fate":"completed"', '"fate":"done"')
    .replace('"cpuMs":300', '"cpuMs":"x"');
  writeFileSync(file, `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'slice.jsonl'), '{"kind":"slice","policy":"sfs","atMs":0}\n{"kind":"odd"}\n');
  const faults = await faultsOf(folder);
  t.match(faults, /^SFSD_ERR_TRACE_INVALID/);
  t.match(faults, /requests\.jsonl line 2: not JSON/);
  t.match(faults, /requests\.jsonl line 3: fate must be equal to one of the allowed values: \["completed"/);
  t.match(faults, /requests\.jsonl line 3: cpuMs must be number/);
  t.match(faults, /slice\.jsonl line 1: the whole must have required property 'sliceMs'/);
  t.match(faults, /slice\.jsonl line 2: /);
});

t.test('a summary of version 1 reads back, without what it did not have', async (t) => {
  const folder = await written(t.testdir());
  const { srtf, fifo, rr, cfs, sfs, host, ...rest } = summary;
  const before = <Run extends object>(run: Run | null) => {
    const { settings, ...fields } = { settings: null, ...run };
    return fields;
  };
  const { roundRobinQuantumMs, ...hostBefore } = host;
  const old = { ...rest, version: 1, host: hostBefore, cfs: before(cfs), sfs: before(sfs) };
  writeFileSync(join(folder, 'summary.json'), JSON.stringify(old));
  const { summary: back } = await readRunFolder(folder);
  t.same(back, { ...summary, srtf: null, host: { ...host, roundRobinQuantumMs: null } });
  const page = reportPage(await readRunFolder(folder));
  t.notMatch(page, /NaN|undefined|null/);
  t.notMatch(page, /clairvoyant/);
});

t.test('a summary of another version, or with a figure missing, is refused by the field', async (t) => {
  const folder = await written(t.testdir());
  const broken: Record<string, unknown> = { ...summary, version: 3, paired: undefined };
  writeFileSync(join(folder, 'summary.json'), JSON.stringify(broken));
  const faults = await faultsOf(folder);
  t.match(faults, /summary\.json: version must be equal to constant: 2/);
  t.match(faults, /summary\.json: the whole must have required property 'paired'/);
});

t.test('a field that a later release added within the version is accepted', async (t) => {
  const folder = await written(t.testdir());
  writeFileSync(join(folder, 'summary.json'), JSON.stringify({ ...summary, added: 1 }));
  t.equal(await faultsOf(folder), '');
});

t.test('files of two different runs in one folder are noticed', async (t) => {
  const folder = await written(t.testdir());
  const file = join(folder, 'requests.jsonl');
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  writeFileSync(file, `${[lines[0], ...lines.slice(0, 5)].join('\n')}\n`);
  const faults = await faultsOf(folder);
  t.match(faults, /id r0 twice under cfs/);
  t.match(faults, /2 requests under sfs, the summary says 3/);
});

t.test('a summary with one policy and a validation report reads back', async (t) => {
  const folder = t.testdir();
  mkdirSync(folder, { recursive: true });
  const [cfs] = runs;
  if (cfs === undefined) throw new Error('no run');
  const validation = {
    strict: false,
    passed: true,
    files: [{ file: 'a.csv', kind: 'durations' as const, rows: 2, accepted: 1 }],
    findings: [
      {
        code: 'negative-count',
        severity: 'error' as const,
        action: 'reject' as const,
        file: 'a.csv',
        line: 2,
        lines: [2],
        count: 1,
        detail: '-1',
      },
    ],
    functions: 1,
    invocations: 3,
    lostFunctions: 0,
    lostInvocations: 0,
  };
  const alone = [{ ...cfs, workload: { ...cfs.workload, validation } }];
  const single: Summary = compare(alone, sampleContext);
  await writeRunFolder(folder, { summary: single, runs: alone });
  t.same((await readRunFolder(folder)).summary.workload.validation, validation);
});
