/**
 * The tables of report.html: percentiles by policy, and the requests that SFS served worst.
 */
import type { ReportedPolicy, Summary, TimesSummary } from '../replay/comparison.js';
import { reportedPolicies } from '../replay/comparison.js';
import type { Part } from '../replay/metrics.js';
import type { RequestRecord } from '../replay/record.js';
import { formatCount, formatMs, formatRatio, formatShare } from './format.js';
import { type Markup, markup, noMarkup } from './markup.js';
import { isComputed } from './references.js';
import type { RunFolder } from './run-folder.js';
import { policyTitle } from './table.js';

const parts: readonly { readonly part: Part; readonly name: string }[] = [
  { part: 'all', name: 'all' },
  { part: 'short', name: 'short' },
  { part: 'long', name: 'long' },
];

export function percentileTable(summary: Summary): Markup {
  const shown = reportedPolicies.filter((policy) => summary[policy] !== null);
  return markup`<div class="scroll"><table>
<caption>Short is below ${formatMs(summary.workload.shortBelowMs)} alone on the host, long from it.</caption>
<thead><tr><th class="text" rowspan="2" scope="col">requests</th><th class="text" rowspan="2" scope="col">policy</th><th class="group" colspan="5" scope="colgroup">turnaround</th><th class="group" colspan="3" scope="colgroup">slowdown to IDEAL</th></tr>
<tr>${['mean', 'median', 'p90', 'p99', 'max', 'mean', 'median', 'p99'].map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>
${parts.map(({ part, name }) => markup`${shown.map((policy, index) => percentileRow({ summary, policy, part, name, first: index === 0, rows: shown.length }))}`)}
</tbody></table></div>
${effectivenessTable(summary, shown)}`;
}

interface PercentileRow {
  readonly summary: Summary;
  readonly policy: ReportedPolicy;
  readonly part: Part;
  readonly name: string;
  readonly first: boolean;
  readonly rows: number;
}

function percentileRow({ summary, policy, part, name, first, rows }: PercentileRow): Markup {
  const times = timesUnder(summary, policy);
  const turnaround = times?.turnaroundMs[part] ?? null;
  const slowdown = times?.slowdown[part] ?? null;
  const lead = first
    ? markup`<th class="text" rowspan="${rows}" scope="rowgroup">${name} <span class="soft">(${turnaround?.count ?? 0})</span></th>`
    : noMarkup;
  const cells = [
    formatMs(turnaround?.mean ?? null),
    formatMs(turnaround?.median ?? null),
    formatMs(turnaround?.p90 ?? null),
    formatMs(turnaround?.p99 ?? null),
    formatMs(turnaround?.max ?? null),
    formatRatio(slowdown?.mean ?? null),
    formatRatio(slowdown?.median ?? null),
    formatRatio(slowdown?.p99 ?? null),
  ];
  return markup`<tr${first ? markup` class="first"` : noMarkup}>${lead}<th class="text policy" scope="row">${keyed(policy)}</th>${cells.map((cell) => markup`<td>${cell}</td>`)}</tr>
`;
}

function effectivenessTable(summary: Summary, shown: readonly ReportedPolicy[]): Markup {
  const rows = shown.map((policy) => {
    const rte = timesUnder(summary, policy)?.rte;
    const run = isComputed(policy) ? null : summary[policy];
    const cells = [
      rte?.distribution === null || rte === undefined
        ? formatRatio(null)
        : rte.distribution.median.toFixed(2),
      formatShare(rte?.atLeast095 ?? null),
      formatShare(rte?.below02 ?? null),
      formatCount(rte?.aboveOne ?? null),
      formatCount(run?.switches?.perInvocation.mean ?? null),
      formatCount(run?.switches?.voluntaryMean ?? null),
      formatCount(run?.switches?.involuntaryMean ?? null),
    ];
    return markup`<tr><th class="text" scope="row">${keyed(policy)}</th>${cells.map((cell) => markup`<td>${cell}</td>`)}</tr>
`;
  });
  return markup`<div class="scroll"><table>
<caption>Run-time effectiveness, and context switches of each invocation (mean).${normalised(summary)}</caption>
<thead><tr><th class="text" scope="col">policy</th>${[
    'RTE median',
    'RTE ≥ 0.95',
    'RTE < 0.2',
    'RTE > 1 (count)',
    'switches',
    'voluntary',
    'involuntary',
  ].map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function normalised({ comparison }: Summary): string {
  const switches = comparison?.switchesNormalised ?? null;
  if (switches === null) return '';
  return (
    ` CFS to SFS, request by request: median ${formatRatio(switches.median)}, p90 ${formatRatio(switches.p90)}; ` +
    `CFS switched ${formatShare(switches.aboveOne)} of them more often, ${formatShare(switches.atLeastTen)} ten times as often.`
  );
}

const slowestShown = 10;

/** Where to look first when a figure disappoints. */
export function slowestTable({ summary, records }: RunFolder): Markup {
  if (summary.sfs === null) return noMarkup;
  const slowdown = (record: RequestRecord) => (record.turnaroundMs ?? 0) / record.idealMs;
  const cfs = new Map(
    records.filter((record) => record.policy === 'cfs').map((record) => [record.id, record]),
  );
  const slowest = records
    .filter((record) => record.policy === 'sfs' && record.fate === 'completed')
    .sort((left, right) => slowdown(right) - slowdown(left))
    .slice(0, slowestShown);
  if (slowest.length === 0) return noMarkup;
  return markup`<h2>Requests that SFS slowed down most</h2>
<p class="soft"><code>sfsd why ID</code> tells the decisions behind one while the daemon remembers it.</p>
<div class="scroll"><table>
<thead><tr><th class="text" scope="col">id</th><th class="text" scope="col">function</th><th class="text" scope="col">path</th>${['IDEAL', 'CFS', 'SFS', 'slowdown', 'queue delay'].map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${slowest.map((record) => slowRow(record, cfs.get(record.id), slowdown(record)))}</tbody></table></div>`;
}

function slowRow(record: RequestRecord, under: RequestRecord | undefined, slowdown: number): Markup {
  const cells = [
    formatMs(record.idealMs),
    formatMs(under?.turnaroundMs ?? null),
    formatMs(record.turnaroundMs),
    formatRatio(slowdown),
    formatMs(record.queueDelayMs),
  ];
  return markup`<tr><td class="text mono">${record.id}</td><td class="text wrap mono">${record.functionName}</td><td class="text">${record.path ?? ''}</td>${cells.map((cell) => markup`<td>${cell}</td>`)}</tr>
`;
}

function timesUnder(summary: Summary, policy: ReportedPolicy): TimesSummary | null {
  return summary[policy];
}

function keyed(policy: ReportedPolicy): Markup {
  const computed = isComputed(policy) ? markup` <span class="soft">computed</span>` : noMarkup;
  return markup`<span class="key ${policy}"></span>${policyTitle(policy)}${computed}`;
}
