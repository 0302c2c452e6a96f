/**
 * The table that `sfsd replay` ends with, at most 100 columns wide, and the sentences below it. With frames on a terminal, as
 * plain aligned lines elsewhere, so that it can be cut and grepped.
 */
import Table from 'cli-table3';
import type { ReportedPolicy, RunSummary, Summary, TimesSummary } from '../replay/comparison.js';
import { reportedPolicies } from '../replay/comparison.js';
import type { RatioInterval } from '../replay/statistics.js';
import { formatCount, formatMs, formatRatio, formatShare, noFigure } from './format.js';
import { isComputed, ranPolicies, referenceNotes } from './references.js';

export interface TableOptions {
  /** Frames; false where the output is no terminal. */
  readonly frames: boolean;
}

const titles: Readonly<Record<ReportedPolicy, string>> = {
  ideal: 'IDEAL',
  srtf: 'SRTF',
  fifo: 'FIFO',
  rr: 'RR',
  cfs: 'CFS',
  sfs: 'SFS',
  gittins: 'Gittins',
};

export function policyTitle(policy: ReportedPolicy): string {
  return titles[policy];
}

const groups = [
  { content: '', colSpan: 1 },
  { content: 'all turnaround', colSpan: 4 },
  { content: 'short', colSpan: 2 },
  { content: 'long', colSpan: 2 },
  { content: 'RTE', colSpan: 2 },
  { content: 'switch', colSpan: 1 },
  { content: 'daemon', colSpan: 1 },
] as const;

const columns = [
  'policy',
  'mean',
  'median',
  'p90',
  'p99',
  'mean',
  'p99',
  'mean',
  'p99',
  '>=0.95',
  '<0.2',
  'each',
  'CPU',
] as const;

/** No trailing newline. */
export function summaryTable(summary: Summary, { frames }: TableOptions): string {
  const table = new Table({
    ...(frames ? {} : { chars: noFrames }),
    style: { head: [], border: [], 'padding-left': frames ? 0 : 1, 'padding-right': 0, compact: true },
    colAligns: columns.map((_, index) => (index === 0 ? 'left' : 'right')),
  });
  table.push(
    groups.map((group) => ({ ...group, hAlign: 'center' as const })),
    [...columns],
    ...reportedPolicies.flatMap((policy) => {
      const row = rowOf(summary, policy);
      return row === null ? [] : [[titles[policy], ...row]];
    }),
  );
  const lines = table.toString().split('\n');
  if (!frames) return lines.map((line) => line.trimEnd().replace(/^ /, '')).join('\n');
  return lines.toSpliced(headLines, 0, ruleLike(lines.at(-1) ?? '')).join('\n');
}

/** The upper frame and the two lines of heads: below them a rule, which cli-table3 draws below every row or none. */
const headLines = 3;

function ruleLike(bottom: string): string {
  return bottom.replace('└', '├').replaceAll('┴', '┼').replace('┘', '┤');
}

function rowOf(summary: Summary, policy: ReportedPolicy): readonly string[] | null {
  const times = summary[policy];
  if (times === null) return null;
  if (isComputed(policy)) return [...timesOf(times), '', ''];
  const run = summary[policy];
  if (run === null) return null;
  return [
    ...timesOf(run),
    formatCount(run.switches?.perInvocation.mean ?? null),
    formatShare(run.daemonCpu?.total ?? null),
  ];
}

function timesOf({ turnaroundMs: { all, short, long }, rte }: TimesSummary): readonly string[] {
  return [
    formatMs(all?.mean ?? null),
    formatMs(all?.median ?? null),
    formatMs(all?.p90 ?? null),
    formatMs(all?.p99 ?? null),
    formatMs(short?.mean ?? null),
    formatMs(short?.p99 ?? null),
    formatMs(long?.mean ?? null),
    formatMs(long?.p99 ?? null),
    formatShare(rte.atLeast095),
    formatShare(rte.below02),
  ];
}

/** What the table means for a reader in a hurry; one sentence a line, warnings last. */
export function summaryLines(summary: Summary): readonly string[] {
  const { workload, comparison } = summary;
  const lines = [
    `${summary.paired} of ${workload.requests} requests compared; load ${workload.loadTarget.toFixed(2)} on ${workload.cores} cores, ` +
      `${workload.gaps} gaps, durations x ${Number(workload.durationScale.toPrecision(4))}; short is below ${formatMs(workload.shortBelowMs)} alone.`,
  ];
  lines.push(...referenceNotes(summary));
  if (comparison !== null) {
    lines.push(
      `Short functions: SFS removed ${formatShare(comparison.excessRemoved.short)} of what CFS adds to IDEAL; mean ${interval(comparison.sfsOverIdeal.short)} of IDEAL.`,
      `Long functions: mean ${interval(comparison.sfsOverCfs.long)} of CFS.`,
    );
    const { switchesNormalised: switches } = comparison;
    if (switches !== null) {
      lines.push(
        `Context switches, CFS to SFS: median ${formatRatio(switches.median)}, p90 ${formatRatio(switches.p90)}.`,
      );
    }
  }
  lines.push(...distanceNotes(summary));
  for (const policy of ranPolicies(summary)) {
    const run = summary[policy];
    if (run !== null) lines.push(...runLines(titles[policy], run));
  }
  return [...lines, ...summary.warnings.map((warning) => `warning: ${warning}`)];
}

/** How far from the clairvoyant each is. */
function distanceNotes(summary: Summary): readonly string[] {
  const best = summary.srtf?.turnaroundMs.all?.mean ?? 0;
  if (best <= 0) return [];
  const ratios = ranPolicies(summary).map((policy) => {
    const mean = summary[policy]?.turnaroundMs.all?.mean ?? null;
    return `${titles[policy]} ${formatRatio(mean === null ? null : mean / best)}`;
  });
  return [`Mean turnaround of all, to SRTF's: ${ratios.join(', ')}.`];
}

function runLines(name: string, run: RunSummary): readonly string[] {
  const { counts, lagMs, daemonCpu, scheduling } = run;
  const load = run.loadAchieved === null ? noFigure : run.loadAchieved.toFixed(2);
  const sent =
    `${name} run: ${counts.issued} of ${counts.requested} sent, ${counts.completed} completed, ${counts.lost} lost; ` +
    `load ${load}; generator late ${formatMs(lagMs?.p99 ?? null)} (p99).`;
  const { predictionError } = scheduling;
  const expected =
    predictionError == null
      ? []
      : [
          `${name} run: expected CPU time off by a factor of ${formatRatio(predictionError.median)} (median), ${formatRatio(predictionError.p90)} (p90).`,
        ];
  if (daemonCpu === null) return [sent, ...expected];
  const percent = (share: number) => `${(share * 100).toFixed(2)}%`;
  return [
    sent,
    ...expected,
    `${name} run: daemon ${percent(daemonCpu.total)} of the host: polling ${percent(daemonCpu.polling)}, ` +
      `scheduling ${percent(daemonCpu.scheduling)}, control ${percent(daemonCpu.control)}, spawner ${percent(daemonCpu.spawner)}.`,
  ];
}

/** 1.21x (1.15x to 1.28x). */
export function interval(ratio: RatioInterval | null): string {
  if (ratio === null) return formatRatio(null);
  return `${formatRatio(ratio.ratio)} (${formatRatio(ratio.low)} to ${formatRatio(ratio.high)})`;
}

const noFrames = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};
