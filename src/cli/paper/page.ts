/**
 * paper.html: each claim of the paper beside our figures, simulated and real, with its verdict, its rule and, where it is not
 * reproduced, the reason; then the plots. One file without scripts, as report.html is.
 */
import { formatMs, noFigure } from '../../trace/report/format.js';
import { Markup, markup, noMarkup } from '../../trace/report/markup.js';
import { reportStyle } from '../../trace/report/style.js';
import { type FigureName, formatClaim } from './claims.js';
import type { Evidence } from './evidence.js';
import type { AllEvidence, Judged, Measured } from './judge.js';
import * as plots from './plots.js';
import { durationScaleReal, loadSpiky, type PaperSize, seed, sigma, sleepShare } from './size.js';
import { speedup, spikes } from './spikes.js';
import { paperValue, ruleText } from './verdict.js';

export interface PaperPage {
  readonly judged: readonly Judged[];
  readonly evidence: AllEvidence;
  readonly size: PaperSize;
  /** That the replays gave themselves. */
  readonly warnings: readonly string[];
  readonly createdAt: string;
  readonly elapsedMs: number;
  /** Of this host, in a line. */
  readonly host: string;
}

const titles: Readonly<Record<FigureName, string>> = {
  'Figure 7': 'turnaround and run-time effectiveness at 50 to 100% load',
  'Figure 8': 'medians and tails against the load',
  'Figure 11': 'the adaptive slice over time, and fixed slices',
  'Figure 12': 'transient overload, with and without the bypass',
  'Figure 14': 'OpenLambda on 72 cores: turnaround',
  'Figure 16': 'OpenLambda on 72 cores: p99 and context switches',
  'Table II': 'what the scheduler itself costs',
};

export function paperPage(page: PaperPage): string {
  const { judged } = page;
  const count = judged.filter(({ verdict }) => verdict === 'reproduced').length;
  const title = 'SFS: the paper’s figures, rerun';
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;" />
<meta name="color-scheme" content="light dark" />
<title>${title}</title>
<style>${new Markup(reportStyle + plots.plotStyle)}</style>
</head>
<body>
<header>
<h1>${count} of ${judged.length} claims of the SFS paper reproduced</h1>
<p class="lead">${lead(page)}</p>
</header>
<main>
${warningList(page.warnings)}
${missedList(judged)}
${setup(page)}
${(Object.keys(titles) as FigureName[]).map((figure) => section(figure, page))}
</main>
</body>
</html>
`.text;
}

function lead({ evidence, size, createdAt, elapsedMs }: PaperPage): string {
  const sizes = [...evidence.simulated.keys()].join(' and ');
  const real =
    evidence.real === undefined
      ? 'this host was not measured (--sim-only)'
      : `and replayed with ${size.requestsReal} requests a run on the ${evidence.real.cores} cores of this host`;
  return (
    `Simulated with the daemon’s own policy object on ${sizes} cores, ${size.requests} requests a run, ${real}. ` +
    `${createdAt.slice(0, 16).replace('T', ' ')} UTC, in ${formatMs(elapsedMs)}.`
  );
}

function warningList(warnings: readonly string[]): Markup {
  if (warnings.length === 0) return noMarkup;
  return markup`<section class="warnings"><b>Read the figures of this host with care</b><ul>${warnings.map((text) => markup`<li>${text}</li>`)}</ul></section>`;
}

function missedList(judged: readonly Judged[]): Markup {
  const missed = judged.filter(({ reason }) => reason !== null);
  if (missed.length === 0) return noMarkup;
  return markup`<h2>Not reproduced, and why</h2>
<dl>${missed.map(
    ({ claim, verdict, reason }) =>
      markup`<dt>${claim.figure}</dt><dd><b>${claim.text}</b>${verdict === 'reproduced' ? ' (reproduced in simulation)' : ''}. ${reason ?? ''}</dd>
`,
  )}</dl>`;
}

function setup({ size, host }: PaperPage): Markup {
  const entry = (name: string, value: string): Markup => markup`<dt>${name}</dt><dd>${value}</dd>
`;
  return markup`<h2>What was run</h2>
<dl>
${entry('workload', `durations of Table I, each varied by a log-normal factor (sigma ${sigma}), Poisson gaps scaled to the load; seed ${seed}`)}
${entry('72 cores', `Figures 14 and 16: ${Math.round(sleepShare * 100)}% of the requests block once for 10 to 100 ms, as md and sa do; OpenLambda itself is not simulated`)}
${entry('fair scheduler', `a fluid; context switches from ${size.requestsSliceExact} requests slice by slice (EEVDF, 2.8 ms, 5 us a switch)`)}
${entry('spikes', `Figure 12: load ${loadSpiky}; ${spikes} times in a run, each for 2% of the requests, arrivals come ${speedup} times as fast`)}
${entry('this host', `${host}; durations times ${durationScaleReal}, CPU only, processes started by a private daemon`)}
</dl>`;
}

function section(figure: FigureName, page: PaperPage): Markup {
  const judged = page.judged.filter(({ claim }) => claim.figure === figure);
  return markup`<h2>${figure}: ${titles[figure]}</h2>
${claimTable(judged)}
${hostsOf(page.evidence).map(({ evidence, host, key }) => plotsOf(figure, evidence, { host, key }))}
`;
}

function claimTable(judged: readonly Judged[]): Markup {
  const measured = judged[0]?.measured ?? [];
  const heads = measured.map((one) => markup`<th scope="col">${hostTitle(one)}</th>`);
  const rows = judged.map(({ claim, measured: values, verdict }) => {
    const paper = paperValue(claim.rule);
    const cells = values.map((one) => markup`<td>${formatClaim(claim, one.value)}${mark(one)}</td>`);
    return markup`<tr class="${verdict === 'reproduced' ? 'held' : 'missed'}"><td class="text claim">${claim.text} <span class="soft">(section ${claim.section})</span></td><td>${paper === null ? 'direction' : formatClaim(claim, paper)}</td>${cells}<td class="text">${ruleText(claim.rule, (value) => formatClaim(claim, value))}; ${judgedOnText(claim.judgedOn)}</td><td class="text verdict">${verdict === 'none' ? 'no figure' : verdict}</td></tr>
`;
  });
  return markup`<div class="scroll"><table>
<thead><tr><th class="text" scope="col">claim</th><th scope="col">paper</th>${heads}<th class="text" scope="col">rule</th><th class="text" scope="col">verdict</th></tr></thead>
<tbody>
${rows}</tbody></table></div>`;
}

function judgedOnText(judgedOn: number | 'real'): string {
  return judgedOn === 'real' ? 'this host' : `${judgedOn} cores`;
}

function hostTitle({ host, cores }: Measured): string {
  return host === 'real' ? `this host, ${cores}` : `simulated, ${cores}`;
}

function mark({ verdict }: Measured): string {
  if (verdict === 'none') return '';
  return verdict === 'reproduced' ? ' ✓' : ' ✗';
}

interface ShownHost {
  readonly evidence: Evidence;
  readonly host: string;
  /** For names of charts. */
  readonly key: string;
}

function hostsOf({ simulated, real }: AllEvidence): readonly ShownHost[] {
  const shown = [...simulated.values()].map((evidence) => ({
    evidence,
    host: `Simulated, ${evidence.cores} cores`,
    key: `simulated${evidence.cores}`,
  }));
  return real === undefined
    ? shown
    : [...shown, { evidence: real, host: `This host, ${real.cores} cores`, key: 'real' }];
}

const tails = [
  { q: 0.5, label: 'median' },
  { q: 0.999, label: 'p99.9' },
];
const highs = [
  { q: 0.5, label: 'median' },
  { q: 0.99, label: 'p99' },
];

function plotsOf(
  figure: FigureName,
  evidence: Evidence,
  { host, key }: { readonly host: string; readonly key: string },
): Markup {
  const at = (name: string): plots.PlotPlace => ({ name: `${key}-${name}`, host });
  const { plain, blocking, spiky, switches } = evidence;
  switch (figure) {
    case 'Figure 7':
      return markup`${plots.turnaroundByLoad(plain, 'sfs', at('f7-sfs'))}${plots.turnaroundByLoad(plain, 'cfs', at('f7-cfs'))}${plots.rteByLoad(plain, [0.65, 0.8, 1], at('f7-rte'))}`;
    case 'Figure 8':
      return plots.quantilesByLoad(plain, tails, at('f8'));
    case 'Figure 11':
      return markup`${plots.timeline(plain.get(1)?.sfs, at('f11-time'), 'S over time, load 100%.')}${plots.fixedSlices(evidence, at('f11-fixed'))}`;
    case 'Figure 12':
      return markup`${plots.timeline(spiky?.bypassOn, at('f12-on'), 'queue delays through spikes, with the bypass.')}${plots.timeline(spiky?.bypassOff, at('f12-off'), 'the same without.', false)}${plots.bypassCdf(evidence, at('f12-cdf'))}`;
    case 'Figure 14':
      return markup`${plots.turnaroundByLoad(blocking, 'sfs', at('f14-sfs'))}${plots.turnaroundByLoad(blocking, 'cfs', at('f14-cfs'))}${plots.rteByLoad(blocking, [0.8, 1], at('f14-rte'))}`;
    case 'Figure 16':
      return markup`${plots.quantilesByLoad(blocking, highs, at('f16-p99'))}${plots.switchesCdf(switches, at('f16-switches'))}`;
    case 'Table II':
      return daemonTable(evidence);
  }
}

function daemonTable({ daemon }: Evidence): Markup {
  if (daemon.size === 0) return noMarkup;
  const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
  const rows = [...daemon].map(
    ([load, shares]) =>
      markup`<tr><th class="text" scope="row">${Math.round(load * 100)}%</th><td>${percent(shares.polling)}</td><td>${percent(shares.scheduling)}</td><td>${percent(shares.control)}</td><td>${percent(shares.spawner)}</td><td>${percent(shares.total)}</td></tr>
`,
  );
  return markup`<div class="scroll"><table><caption>CPU time of the daemon on this host, as shares of all its cores</caption>
<thead><tr><th class="text" scope="col">load</th><th scope="col">polling</th><th scope="col">scheduling</th><th scope="col">control</th><th scope="col">spawner</th><th scope="col">all</th></tr></thead>
<tbody>
${rows}</tbody></table></div>`;
}

/** For a cell of the terminal's table. */
export function valueText(judged: Judged, host: Measured['host'], cores?: number): string {
  const one = judged.measured.find(
    (measured) => measured.host === host && (cores === undefined || measured.cores === cores),
  );
  return one === undefined ? noFigure : formatClaim(judged.claim, one.value);
}
