/**
 * The rows as one table: a line each, so that it can be pasted into an issue.
 */
import { textTable } from '../../src/cli/text-table.js';
import type { Bound, Row } from './measure.js';

/** Nothing is cut: whoever reads this wants the whole note. */
const columnsMax = 400;
const signs: Readonly<Record<Bound['kind'], string>> = { below: '<', atMost: '<=', atLeast: '>=' };

export function rowsTable(rows: readonly Row[]): string {
  return textTable({
    head: ['line', 'measure', 'figure', 'value', 'unit', 'bound', 'holds', 'note'],
    rows: [...rows].sort((left, right) => left.line - right.line).map(cellsOf),
    right: [3],
    columns: columnsMax,
  });
}

function cellsOf(row: Row): readonly string[] {
  const { bound, holds } = row;
  return [
    String(row.line),
    row.measure,
    row.name,
    valueText(row.value),
    row.unit,
    bound === undefined ? 'reported' : `${signs[bound.kind]} ${bound.value}`,
    holds === undefined ? '' : holds ? 'yes' : 'NO',
    [row.note, row.runs.length > 1 ? `runs ${row.runs.map(valueText).join(', ')}` : undefined]
      .filter((part) => part !== undefined)
      .join('; '),
  ];
}

/** Three digits that matter; whole numbers whole. */
export function valueText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return value.toFixed(0);
  return value.toPrecision(3);
}
