/** The table of `sfsd simulate`: one line a policy, means over the seeds. */
import { formatMs, formatRatio, formatShare, noFigure } from '../../trace/report/format.js';
import { textTable } from '../text-table.js';
import type { Interval, PolicySummary } from './figures.js';

const head = [
  '',
  'mean',
  'median',
  'p99',
  'short',
  'p99',
  'long',
  'p99',
  'RTE>=.95',
  '<.2',
  'short/IDEAL',
  'long/CFS',
] as const;

export function simulationTable(
  policies: readonly PolicySummary[],
  options: { readonly columns: number; readonly seeds: number },
): string {
  const ms = (interval: Interval | null): string => formatMs(interval?.mean ?? null);
  const table = textTable({
    head,
    rows: policies.map((one) => [
      one.policy.toUpperCase(),
      ms(one.meanMs.all),
      ms(one.medianMs.all),
      ms(one.p99Ms.all),
      ms(one.meanMs.short),
      ms(one.p99Ms.short),
      ms(one.meanMs.long),
      ms(one.p99Ms.long),
      formatShare(one.rteAtLeast095?.mean ?? null),
      formatShare(one.rteBelow02?.mean ?? null),
      formatRatio(one.overIdeal.short?.mean ?? null),
      formatRatio(one.overCfs.long?.mean ?? null),
    ]),
    right: head.map((_name, index) => index).slice(1),
    columns: options.columns,
  });
  if (options.seeds === 1) return table;
  return `${table}\n95% intervals over ${options.seeds} seeds:\n${intervals(policies, options.columns)}`;
}

function intervals(policies: readonly PolicySummary[], columns: number): string {
  return textTable({
    head: ['', 'RTE>=.95', 'short/IDEAL', 'long/CFS'],
    rows: policies.map((one) => [
      one.policy.toUpperCase(),
      range(one.rteAtLeast095, (value) => `${(value * 100).toFixed(1)}%`),
      range(one.overIdeal.short, (value) => value.toFixed(3)),
      range(one.overCfs.long, (value) => value.toFixed(3)),
    ]),
    columns,
  });
}

function range(interval: Interval | null, text: (value: number) => string): string {
  if (interval === null) return noFigure;
  return `${text(interval.mean)} (${text(interval.low)} to ${text(interval.high)})`;
}
