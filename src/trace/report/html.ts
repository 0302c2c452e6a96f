/**
 * report.html: one file that shows a comparison to people. No script, no font, no image from elsewhere, and a policy that forbids
 * them; it reads the same in ten years and on a host without a network.
 */
import type { ReportedPolicy, Summary } from '../replay/comparison.js';
import { idealSamples, rteOf, type Sample, samplesOf } from '../replay/metrics.js';
import { srtfSamples } from '../replay/srtf.js';
import { formatMs, formatRatio, formatShare } from './format.js';
import { detailSections } from './html-details.js';
import { percentileTable, slowestTable } from './html-tables.js';
import { Markup, markup, noMarkup } from './markup.js';
import { ranPolicies, referenceNotes } from './references.js';
import type { RunFolder } from './run-folder.js';
import { reportStyle } from './style.js';
import { type CdfLine, cdfChart } from './svg/cdf.js';
import { plot } from './svg/frame.js';
import { linearScale, logScale } from './svg/scale.js';
import { timelineChart } from './svg/timeline.js';
import { policyTitle } from './table.js';

export function reportPage(folder: RunFolder): string {
  const { summary } = folder;
  const title = 'sfsd replay report';
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;" />
<meta name="color-scheme" content="light dark" />
<title>${title}</title>
<style>${styleText()}</style>
</head>
<body>
<header>
<h1>${headline(summary)}</h1>
<p class="lead">${lead(summary)}</p>
</header>
<main>
${tiles(summary)}
${warnings(summary)}
<h2>Turnaround by percentile</h2>
${percentileTable(summary)}
${referenceNotes(summary).map((note) => markup`<p class="soft">${note}</p>`)}
${charts(folder)}
${slowestTable(folder)}
${detailSections(summary)}
</main>
</body>
</html>
`.text;
}

/** CSS is no place for escaped text; it is a constant of ours and holds no `<`. */
function styleText(): Markup {
  return new Markup(reportStyle);
}

function headline({ comparison }: Summary): string {
  const removed = comparison?.excessRemoved.short ?? null;
  if (removed === null) return 'Replay of one workload';
  return removed > 0
    ? `SFS removed ${formatShare(removed)} of what waiting cost short functions`
    : 'SFS did not help short functions in this run';
}

function lead({ workload, createdAt, paired }: Summary): string {
  return (
    `${paired} of ${workload.requests} requests ran identically under each policy, at load ${workload.loadTarget.toFixed(2)} ` +
    `on ${workload.cores} cores with ${workload.gaps} gaps. ${createdAt.slice(0, 16).replace('T', ' ')} UTC.`
  );
}

function tiles({ ideal, cfs, sfs, comparison }: Summary): Markup {
  if (cfs === null || sfs === null || comparison === null) return noMarkup;
  const mean = (part: 'short' | 'long') => ({
    ideal: formatMs(ideal.turnaroundMs[part]?.mean ?? null),
    cfs: formatMs(cfs.turnaroundMs[part]?.mean ?? null),
    sfs: formatMs(sfs.turnaroundMs[part]?.mean ?? null),
  });
  const short = mean('short');
  const long = mean('long');
  const daemon = sfs.daemonCpu;
  return markup`<ul class="tiles">
<li><b>${short.cfs} → ${short.sfs}</b><span>short functions, mean, CFS → SFS</span><span class="soft">IDEAL ${short.ideal}; SFS is ${formatRatio(comparison.sfsOverIdeal.short?.ratio ?? null)} of it</span></li>
<li><b>${long.cfs} → ${long.sfs}</b><span>long functions, mean, CFS → SFS</span><span class="soft">SFS is ${formatRatio(comparison.sfsOverCfs.long?.ratio ?? null)} of CFS: the price</span></li>
<li><b>${formatShare(cfs.rte.atLeast095)} → ${formatShare(sfs.rte.atLeast095)}</b><span>hardly waited (RTE from 0.95)</span><span class="soft">RTE below 0.2: ${formatShare(cfs.rte.below02)} → ${formatShare(sfs.rte.below02)}</span></li>
<li><b>${formatShare(daemon?.total ?? null)}</b><span>of the host for the daemon</span><span class="soft">polling ${formatShare(daemon?.polling ?? null)}, scheduling ${formatShare(daemon?.scheduling ?? null)}, control ${formatShare(daemon?.control ?? null)}, spawner ${formatShare(daemon?.spawner ?? null)}</span></li>
</ul>`;
}

function warnings({ warnings: texts }: Summary): Markup {
  if (texts.length === 0) return noMarkup;
  return markup`<section class="warnings"><b>Read these figures with care</b><ul>${texts.map((text) => markup`<li>${text}</li>`)}</ul></section>`;
}

interface PolicySamples {
  readonly policy: ReportedPolicy;
  readonly samples: readonly Sample[];
}

/** Requests that completed under every policy that ran: the same ones that the figures are over. */
function pairedSamples({ summary, records }: RunFolder): readonly PolicySamples[] {
  const completed = ranPolicies(summary).map((policy) => ({
    policy,
    samples: samplesOf(records.filter((record) => record.policy === policy)),
  }));
  const sets = completed.map(({ samples }) => new Set(samples.map((sample) => sample.id)));
  const paired = completed.map(({ policy, samples }) => ({
    policy,
    samples: samples.filter((sample) => sets.every((ids) => ids.has(sample.id))),
  }));
  const ideal = idealSamples(paired[0]?.samples ?? []);
  return [
    { policy: 'ideal', samples: ideal },
    ...(summary.srtf === null
      ? []
      : [{ policy: 'srtf' as const, samples: clairvoyant(ideal, { summary, records }) }]),
    ...paired,
  ];
}

function clairvoyant(ideal: readonly Sample[], { summary, records }: Pick<RunFolder, 'summary' | 'records'>) {
  const arrivals = new Map(records.map(({ id, arrivalMs }) => [id, arrivalMs]));
  return srtfSamples(ideal, { arrivals, cores: summary.workload.cores });
}

function charts(folder: RunFolder): Markup {
  const { summary, series } = folder;
  const policies = pairedSamples(folder);
  const sfsSeries = series.filter((row) => row.policy === 'sfs');
  const any = policies.some(({ samples }) => samples.length > 0);
  return markup`${any ? turnaroundFigure(policies) : noMarkup}
${any ? rteFigure(policies) : noMarkup}
${
  summary.sfs === null || sfsSeries.length === 0
    ? noMarkup
    : markup`<h2>S and queue delay over time</h2>
<figure>${timelineChart({ name: 'timeline', series: sfsSeries, overloadFactor: summary.sfs.overloadFactor })}
<figcaption>S follows the mean gap between arrivals. A pick-up whose queue delay has reached O x S is left to CFS, to drain the backlog.</figcaption></figure>`
}`;
}

function lines(policies: readonly PolicySamples[], value: (sample: Sample) => number): readonly CdfLine[] {
  return policies.map(({ policy, samples }) => ({
    name: policyTitle(policy),
    className: policy,
    values: samples.map(value),
  }));
}

function turnaroundFigure(policies: readonly PolicySamples[]): Markup {
  const drawn = lines(policies, (sample) => sample.turnaroundMs);
  const { low, high } = bounds(drawn);
  return markup`<h2>Turnaround</h2>
<figure>${cdfChart({
    name: 'turnaround',
    title: 'Turnaround, cumulative distribution on a logarithmic axis',
    description: 'Share of requests whose turnaround is at most x, for each policy. Further left is better.',
    xLabel: 'turnaround, logarithmic',
    x: logScale({ low: Math.max(low, 0.1), high }, { from: plot.left, to: plot.right }, durationTick),
    lines: drawn,
  })}
<figcaption>Share of requests done within a time. Further left is better; IDEAL is each request alone on the host.</figcaption></figure>`;
}

function rteFigure(policies: readonly PolicySamples[]): Markup {
  const drawn = lines(policies, rteOf);
  const { high } = bounds(drawn);
  return markup`<h2>Run-time effectiveness</h2>
<figure>${cdfChart({
    name: 'rte',
    title: 'Run-time effectiveness, cumulative distribution',
    description: 'Share of requests whose RTE is at most x, for each policy. Further right is better.',
    xLabel: 'RTE = CPU time needed alone / turnaround',
    x: linearScale({ low: 0, high: Math.max(1, high) }, { from: plot.left, to: plot.right }, String),
    lines: drawn,
    guides: [
      { value: 0.2, label: '0.2' },
      { value: 0.95, label: '0.95' },
    ],
  })}
<figcaption>1: the request ran without waiting. 0.2: it waited four times as long as it ran. Above 1: the calibration is off. Further right is better.</figcaption></figure>`;
}

function bounds(drawn: readonly CdfLine[]): { readonly low: number; readonly high: number } {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (const { values } of drawn) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return { low, high };
}

function durationTick(value: number): string {
  return value >= 1000 ? `${value / 1000} s` : `${value} ms`;
}
