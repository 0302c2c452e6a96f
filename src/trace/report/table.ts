/**
 * The table that `sfsd replay` ends with, at most 100 columns wide, and the sentences below it. With frames on a terminal, as
 * plain aligned lines elsewhere, so that it can be cut and grepped.
 */
import Table from 'cli-table3';
import type { ReportedPolicy, RunSummary, Summary, TimesSummary } from '../replay/comparison.js';
import { reportedPolicies } from '../replay/comparison.js';
import type { RatioInterval } from '../replay/statistics.js';
import { formatCount, formatMs, formatRatio, formatShare } from './format.js';

export interface TableOptions {
  /** Frames; false where the output is no terminal. */
  readonly frames: boolean;
}

const titles: Readonly<Record<ReportedPolicy, string>> = { ideal: 'IDEAL', cfs: 'CFS', sfs: 'SFS' };

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
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

function rowOf(summary: Summary, policy: ReportedPolicy): readonly string[] | null {
  if (policy === 'ideal') return [...timesOf(summary.ideal), '', ''];
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
  const { workload, comparison, cfs, sfs } = summary;
  const lines = [
    `${summary.paired} of ${workload.requests} requests compared; load ${workload.loadTarget.toFixed(2)} on ${workload.cores} cores, ` +
      `${workload.gaps} gaps, durations x ${workload.durationScale}; short is below ${formatMs(workload.shortBelowMs)} alone.`,
  ];
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
  for (const [name, run] of [
    ['CFS', cfs],
    ['SFS', sfs],
  ] as const) {
    if (run !== null) lines.push(runLine(name, run));
  }
  return [...lines, ...summary.warnings.map((warning) => `warning: ${warning}`)];
}

function runLine(name: string, run: RunSummary): string {
  const { counts, lagMs, daemonCpu } = run;
  const parts = [
    `${name} run: ${counts.issued} of ${counts.requested} sent, ${counts.completed} completed, ${counts.lost} lost`,
    `load ${run.loadAchieved === null ? formatRatio(null) : run.loadAchieved.toFixed(2)}`,
    `generator late ${formatMs(lagMs?.p99 ?? null)} (p99)`,
  ];
  if (daemonCpu !== null) {
    parts.push(
      `daemon ${(daemonCpu.total * 100).toFixed(2)}% of the host (polling ${(daemonCpu.polling * 100).toFixed(2)}%, ` +
        `scheduling ${(daemonCpu.scheduling * 100).toFixed(2)}%)`,
    );
  }
  return `${parts.join('; ')}.`;
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
