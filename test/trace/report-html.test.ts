/**
 * report.html: well-formed, self-contained, and harmless whatever a function is called.
 */
import fc from 'fast-check';
import t from 'tap';
import type { ReplayPolicy } from '../../src/contracts/replay.js';
import { compare } from '../../src/trace/replay/comparison.js';
import type { ReplayRun } from '../../src/trace/replay/replay.js';
import type { SeriesRow } from '../../src/trace/replay/series.js';
import { reportPage } from '../../src/trace/report/html.js';
import { markup } from '../../src/trace/report/markup.js';
import type { RunFolder } from '../../src/trace/report/run-folder.js';
import { linearScale, logScale } from '../../src/trace/report/svg/scale.js';
import { sampleContext, samplePair } from './replay-samples.js';

const hostile = `"><script>alert('x')</script><img src=//evil.example/x onerror=alert(1)>&\u0000\u202e`;

const seriesOf = (id: string): readonly SeriesRow[] => [
  { policy: 'sfs', kind: 'slice', atMs: 0, sliceMs: 20 },
  { policy: 'sfs', kind: 'slice', atMs: 80, sliceMs: 40 },
  { policy: 'sfs', kind: 'pickup', atMs: 3, id: 'r0', queueDelayMs: 0, limitMs: 60, bypassed: false },
  { policy: 'sfs', kind: 'pickup', atMs: 90, id, queueDelayMs: 161, limitMs: 120, bypassed: true },
];

function folderNamed(name: string): RunFolder {
  const series = seriesOf(name);
  const runs = samplePair().map((run) => ({
    ...run,
    workload: { ...run.workload, source: name },
    records: run.records.map((record) => ({ ...record, functionName: name, id: `${name}${record.id}` })),
    series: run.policy === 'sfs' ? series : [],
  }));
  const summary = compare(runs, { ...sampleContext, command: `sfsd replay ${name}` });
  return { summary, records: runs.flatMap((run) => run.records), series };
}

/** Names of elements that stay open or close another; empty for a well-formed page. */
function faultsOf(page: string): readonly string[] {
  const faults: string[] = [];
  const open: string[] = [];
  const rest = page.replace(/^<!doctype html>/, '').replace(/<style>[^<]*<\/style>/, '');
  const text = rest.replace(
    /<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_, closing: string, name: string, _attributes: string, empty: string) => {
      if (closing === '/') {
        const last = open.pop();
        if (last !== name) faults.push(`</${name}> closes <${last}>`);
      } else if (empty === '') {
        open.push(name);
      }
      return '';
    },
  );
  if (/[<>]/.test(text)) faults.push(`stray: ${text.slice(text.search(/[<>]/), text.search(/[<>]/) + 40)}`);
  if (/&(?!(?:amp|lt|gt|quot|#39);)/.test(text)) faults.push('a bare ampersand');
  return [...faults, ...open.map((name) => `<${name}> is never closed`)];
}

t.test('the page is well-formed', async (t) => {
  t.same(faultsOf(reportPage(folderNamed('burn-1'))), []);
});

t.test('the check itself sees what it is for', async (t) => {
  t.not(faultsOf('<p><b></p>').length, 0);
  t.not(faultsOf('<p>a < b</p>').length, 0);
  t.not(faultsOf('<p>a & b</p>').length, 0);
});

t.test('the page needs nothing from elsewhere and runs nothing', async (t) => {
  const page = reportPage(folderNamed('burn-1'));
  t.notMatch(page, /https?:|\/\/|src=|href=|url\(|@import|<script|<link|<iframe|\son\w+=/i);
  t.match(page, /Content-Security-Policy/);
});

t.test('hostile names are text, wherever they appear', async (t) => {
  const page = reportPage(folderNamed(hostile));
  t.same(faultsOf(page), []);
  t.notMatch(page, /<script|<img/);
  t.notOk(page.includes('\u0000') || page.includes('\u202e'));
  t.match(page, /&lt;script&gt;alert\(&#39;x&#39;\)&lt;\/script&gt;/);
});

t.test('any name leaves the page well-formed', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (name) => {
      return faultsOf(reportPage(folderNamed(name))).length === 0;
    }),
    { numRuns: 60 },
  );
});

t.test('escaping covers text and attributes, and does not escape twice', async (t) => {
  const inner = markup`<b title="${'"quoted"'}">${'a < b & c'}</b>`;
  t.equal(markup`<p>${inner}${[inner]}${1}</p>`.text.match(/&lt;/g)?.length, 2);
  t.equal(inner.text, '<b title="&quot;quoted&quot;">a &lt; b &amp; c</b>');
});

t.test('the page shows what it is asked for', async (t) => {
  const page = reportPage(folderNamed('burn-1'));
  for (const words of [
    'Turnaround by percentile',
    'turnaround, logarithmic',
    'RTE = CPU time needed alone / turnaround',
    'time since the first arrival (s)',
    'O x S (O = 3)',
    'bypassed pick-up',
    'Validation',
    '6.1.0-31-amd64',
    'Example CPU, 2 cores',
    'sfsd replay burn-1',
    'Terms',
  ]) {
    t.ok(page.includes(words), words);
  }
  t.match(page, /prefers-color-scheme: dark/);
  t.equal(page.match(/role="img"/g)?.length, 3);
  t.notMatch(page, /NaN|Infinity|undefined|null/);
});

t.test('any number of policies has a line, a row and its settings on the page', async (t) => {
  const [cfs, sfs] = samplePair();
  if (cfs === undefined || sfs === undefined) throw new Error('no runs');
  const under = (policy: ReplayPolicy): ReplayRun => ({
    ...cfs,
    policy,
    records: cfs.records.map((record) => ({ ...record, policy })),
    settings: { 'scheduler.sliceFixedMs': 60_000, 'scheduler.ioAware': policy === 'fifo' },
  });
  const runs = [cfs, sfs, under('fifo'), under('rr')];
  const records = runs.flatMap((run) => run.records);
  const page = reportPage({ summary: compare(runs, sampleContext), records, series: [] });
  t.same(faultsOf(page), []);
  for (const policy of ['ideal', 'srtf', 'fifo', 'rr', 'cfs', 'sfs'])
    t.equal(page.match(new RegExp(`class="line ${policy}" d="M[0-9]`, 'g'))?.length, 2, policy);
  t.match(
    page,
    /<th scope="col">FIFO<\/th><th scope="col">RR<\/th><th scope="col">CFS<\/th><th scope="col">SFS<\/th>/,
  );
  t.match(page, /SRTF <span class="soft">computed<\/span>/);
  t.match(page, /real-time for at most 93% of any 100 ms/);
  t.match(page, /kernel&#39;s quantum of 100 ms|kernel's quantum of 100 ms/);
  t.match(page, /scheduler\.sliceFixedMs=60000 scheduler\.ioAware=true/);
});

t.test('a run in which nothing completed still has a page', async (t) => {
  const runs = samplePair().map((run) => ({
    ...run,
    records: run.records.map((record) => ({ ...record, fate: 'lost' as const, turnaroundMs: null })),
  }));
  const summary = compare(runs, sampleContext);
  const page = reportPage({ summary, records: runs.flatMap((run) => run.records), series: [] });
  t.same(faultsOf(page), []);
  t.notMatch(page, /NaN|Infinity|undefined/);
  t.match(page, /No request completed under every policy/);
});

t.test('one policy alone has a page without a verdict', async (t) => {
  const [cfs] = samplePair();
  if (cfs === undefined) throw new Error('no run');
  const page = reportPage({ summary: compare([cfs], sampleContext), records: cfs.records, series: [] });
  t.same(faultsOf(page), []);
  t.match(page, /Replay of one workload/);
});

t.test('a large run is drawn with a bounded number of marks', async (t) => {
  const [, sfs] = samplePair();
  if (sfs === undefined) throw new Error('no run');
  const [record] = sfs.records;
  if (record === undefined) throw new Error('no record');
  const records = Array.from({ length: 20_000 }, (_, index) => ({
    ...record,
    id: `r${index}`,
    turnaroundMs: 10 + (index % 977),
  }));
  const pickups = records.map(({ id }, index) => ({
    policy: 'sfs' as const,
    kind: 'pickup' as const,
    atMs: index,
    id,
    queueDelayMs: index % 89,
    limitMs: 60,
    bypassed: index % 2 === 0,
  }));
  const page = reportPage({
    summary: compare([{ ...sfs, records }], sampleContext),
    records,
    series: pickups,
  });
  t.ok(page.length < 900_000, `${page.length} characters`);
});

t.test('a logarithmic axis has its decades evenly apart and keeps strays at its ends', async (t) => {
  const scale = logScale({ low: 1, high: 1000 }, { from: 0, to: 300 }, String);
  t.same(
    [1, 10, 100, 1000].map((value) => Math.round(scale.place(value))),
    [0, 100, 200, 300],
  );
  t.equal(scale.place(0), 0);
  t.equal(Math.round(scale.place(1e9)), 300);
  t.same(
    scale.ticks.map((tick) => tick.value),
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  );
});

t.test('a linear axis has round ticks that do not drift', async (t) => {
  const scale = linearScale({ low: 0, high: 1 }, { from: 100, to: 0 }, String);
  t.same(
    scale.ticks.map((tick) => tick.label),
    ['0', '0.2', '0.4', '0.6', '0.8', '1'],
  );
  t.equal(scale.place(0.25), 75);
});
