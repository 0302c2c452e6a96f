/**
 * The lower part of report.html: what the load was and how it was issued, what validation found, where it ran, how to run
 * it again, and what the terms mean.
 */
import type { RunSummary, Summary } from '../replay/comparison.js';
import { paths } from '../replay/record.js';
import { formatCount, formatMs, formatRatio, formatShare } from './format.js';
import { type Markup, markup, noMarkup } from './markup.js';
import { ranPolicies, settingTexts } from './references.js';
import { policyTitle } from './table.js';

export function detailSections(summary: Summary): Markup {
  return markup`<h2>Load</h2>
${workloadList(summary)}
${runTable(summary)}
${validationSection(summary)}
<h2>Host</h2>
${hostList(summary)}
<h2>Run it again</h2>
<pre><code>${summary.command}</code></pre>
<h2>Terms</h2>
${terms()}`;
}

interface Entry {
  readonly name: string;
  readonly value: string;
}

function list(entries: readonly Entry[]): Markup {
  return markup`<dl>${entries.map(
    ({ name, value }) => markup`<dt>${name}</dt><dd>${value}</dd>
`,
  )}</dl>`;
}

function workloadList({ workload, spanMs }: Summary): Markup {
  return list([
    { name: 'source', value: workload.source },
    { name: 'requests', value: `${workload.requests} over ${formatMs(spanMs)}, seed ${workload.seed}` },
    { name: 'gaps', value: `${workload.gaps}, coefficient of variation ${workload.gapCv.toFixed(2)}` },
    {
      name: 'durations',
      value: `mean ${formatMs(workload.demandMeanMs)}, scale ${workload.durationScale}; short below ${formatMs(workload.shortBelowMs)}`,
    },
    {
      name: 'load',
      value: `target ${workload.loadTarget.toFixed(2)}, realised by the workload ${workload.loadRealised.toFixed(3)}, on ${workload.cores} cores`,
    },
  ]);
}

function runTable(summary: Summary): Markup {
  const ran = ranPolicies(summary);
  const runs = ran.map((policy) => summary[policy]).filter((run) => run !== null);
  if (runs.length === 0) return noMarkup;
  const row = (name: string, value: (run: RunSummary) => string) =>
    markup`<tr><th class="text" scope="row">${name}</th>${runs.map((run) => markup`<td>${value(run)}</td>`)}</tr>
`;
  const heads = ran.map((policy) => markup`<th scope="col">${policyTitle(policy)}</th>`);
  return markup`<div class="scroll"><table>
<thead><tr><th class="text" scope="col">run</th>${heads}</tr></thead>
<tbody>
${row('requested / sent', ({ counts }) => `${counts.requested} / ${counts.issued}`)}
${row('completed', ({ counts }) => formatCount(counts.completed))}
${row('failed / lost', ({ counts }) => `${counts.failed} / ${counts.lost}`)}
${row('refused by daemon / not sent', ({ counts }) => `${counts.refusedByDaemon} / ${counts.refusedByGenerator}`)}
${row('load achieved', (run) => (run.loadAchieved === null ? formatCount(null) : run.loadAchieved.toFixed(2)))}
${row('CPU time used / asked for', (run) => (run.cpuOverDemand === null ? formatCount(null) : run.cpuOverDemand.toFixed(3)))}
${row('generator late, p50 / p99 / max', ({ lagMs }) => `${formatMs(lagMs?.median ?? null)} / ${formatMs(lagMs?.p99 ?? null)} / ${formatMs(lagMs?.max ?? null)}`)}
${row('paths', pathsText)}
${row('demotions / blocks / bypasses', ({ scheduling }) => `${scheduling.demotions} / ${scheduling.blocks} / ${scheduling.bypasses}`)}
${row('S at pick-up, median / max', ({ scheduling }) => `${formatMs(scheduling.sliceMs?.median ?? null)} / ${formatMs(scheduling.sliceMs?.max ?? null)}`)}
${row('queue delay, median / p99', ({ scheduling }) => `${formatMs(scheduling.queueDelayMs?.median ?? null)} / ${formatMs(scheduling.queueDelayMs?.p99 ?? null)}`)}
${row('expected CPU time off by, median / p90', ({ scheduling }) => `${formatRatio(scheduling.predictionError?.median ?? null)} / ${formatRatio(scheduling.predictionError?.p90 ?? null)}`)}
${row('daemon CPU', (run) => formatShare(run.daemonCpu?.total ?? null))}
${row('generator CPU', (run) => formatShare(run.generatorCpu))}
${row('elapsed', (run) => formatMs(run.elapsedMs))}
</tbody></table></div>
${settingsList(summary)}`;
}

/** By policy, unless they are the same for all: one daemon runs CFS and SFS. */
function settingsList(summary: Summary): Markup {
  const entries = ranPolicies(summary).map((policy) => ({
    name: policyTitle(policy),
    value: summary[policy] === null ? '' : settingTexts(summary[policy]).join(' '),
  }));
  const groups = [...new Set(entries.map(({ value }) => value))]
    .filter((value) => value !== '')
    .map((value) => ({
      name: entries
        .filter((entry) => entry.value === value)
        .map(({ name }) => name)
        .join(', '),
      value,
    }));
  return groups.length === 0
    ? noMarkup
    : markup`<p class="soft">Configured for this replay (the form of <code>--set</code>); all else is the default:</p>
${list(groups)}`;
}

function pathsText({ scheduling }: RunSummary): string {
  return (
    paths
      .filter((path) => scheduling.paths[path] > 0)
      .map((path) => `${path} ${scheduling.paths[path]}`)
      .join(', ') || formatCount(null)
  );
}

const findingsShown = 50;

function validationSection({ workload: { validation } }: Summary): Markup {
  if (validation === null) {
    return markup`<h2>Validation</h2>
<p class="soft">The workload was generated, not compiled from a trace: there was nothing to validate.</p>`;
  }
  const files = validation.files
    .map((file) => `${file.file}: ${file.accepted} of ${file.rows} rows`)
    .join('; ');
  const rows = validation.findings.slice(0, findingsShown).map(
    (finding) =>
      markup`<tr><td class="text">${finding.severity}</td><td class="text mono">${finding.code}</td><td class="text">${finding.action}</td><td>${finding.count}</td><td class="text wrap">${finding.file}:${finding.line} ${finding.detail}</td></tr>
`,
  );
  const hidden = validation.findings.length - rows.length;
  return markup`<h2>Validation</h2>
${list([
  {
    name: 'result',
    value: `${validation.passed ? 'passed' : 'faults found'}${validation.strict ? ', strict' : ''}`,
  },
  { name: 'files', value: files },
  { name: 'used', value: `${validation.functions} functions, ${validation.invocations} invocations` },
  {
    name: 'dropped',
    value: `${validation.lostFunctions} functions, ${validation.lostInvocations} invocations`,
  },
])}
${
  rows.length === 0
    ? noMarkup
    : markup`<div class="scroll"><table>
<thead><tr><th class="text" scope="col">severity</th><th class="text" scope="col">rule</th><th class="text" scope="col">action</th><th scope="col">count</th><th class="text" scope="col">first seen</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}
${hidden > 0 ? markup`<p class="soft">and ${hidden} more; <code>summary.json</code> has them all.</p>` : noMarkup}`;
}

function hostList({ host, createdAt }: Summary): Markup {
  return list([
    { name: 'kernel', value: host.kernel },
    { name: 'CPU', value: `${host.cpuModel}, ${host.cores} cores` },
    { name: 'memory', value: `${(host.memoryBytes / 2 ** 30).toFixed(1)} GiB` },
    { name: 'versions', value: `sfsd ${host.sfsd}, Node.js ${host.node}` },
    { name: 'made', value: createdAt },
  ]);
}

function terms(): Markup {
  return list([
    {
      name: 'turnaround',
      value: 'Completion minus the intended arrival, so a late load generator counts too.',
    },
    {
      name: 'IDEAL',
      value: 'The request alone on an idle host: its CPU time plus its sleeps. Computed, not run.',
    },
    {
      name: 'SRTF',
      value:
        'Shortest remaining time first on as many cores, by someone who knows every demand. Computed, not run: sleeps take no core, and switches and launches of others no time.',
    },
    {
      name: 'FIFO',
      value:
        'A reference: SCHED_FIFO to completion in the order of arrival, one on each core; who sleeps gives its core away.',
    },
    {
      name: 'RR',
      value:
        'A reference: all real-time at once under SCHED_RR, by turns of the kernel’s quantum; up to 512, further ones wait under CFS.',
    },
    {
      name: 'CFS',
      value: 'The kernel’s fair scheduler alone (EEVDF since Linux 6.6): every function is SCHED_OTHER.',
    },
    {
      name: 'SFS',
      value:
        'Functions run under SCHED_FIFO for one slice first; what is not done by then goes on under CFS.',
    },
    { name: 'S', value: 'The slice: mean of the last 100 gaps between arrivals times the number of cores.' },
    {
      name: 'queue delay',
      value:
        'Arrival until a FILTER worker picks the request up. It is not stopped meanwhile: it runs under CFS.',
    },
    {
      name: 'bypass',
      value: 'A pick-up whose queue delay has reached O x S is left to CFS for good: overload.',
    },
    { name: 'RTE', value: 'Run-time effectiveness: CPU time needed alone divided by the turnaround.' },
    { name: 'slowdown', value: 'Turnaround divided by the IDEAL turnaround of the same request.' },
    {
      name: 'p90, p99',
      value: 'Percentiles with linear interpolation between ranks (definition 7 of Hyndman and Fan).',
    },
    { name: 'excess removed', value: '(CFS mean − SFS mean) / (CFS mean − IDEAL mean).' },
  ]);
}
