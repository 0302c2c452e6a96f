/**
 * Tables without borders that fit the terminal: the widest column gives way, and a cell that is cut says so with `…`.
 */
import Table from 'cli-table3';

const gap = 2;
const columnWidthMin = 6;

export interface TextTable {
  /** Absent: rows only. */
  readonly head?: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Columns of numbers, aligned right. */
  readonly right?: readonly number[];
  readonly columns: number;
}

export function textTable(table: TextTable): string {
  const lines = table.head === undefined ? table.rows : [table.head, ...table.rows];
  const natural = naturalWidths(lines);
  const widths = fit(natural, table.columns - gap * (natural.length - 1));
  const drawn = new Table({
    colWidths: widths.map((width, index) => width + (index === widths.length - 1 ? 0 : gap)),
    colAligns: widths.map((_width, index) => (table.right?.includes(index) ? 'right' : 'left')),
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    chars: noBorders,
  });
  for (const row of lines) drawn.push(row.map((cell, index) => padded(cell, { table, index, widths })));
  return `${drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

/** The gap belongs to the right of a cell, also where the text is aligned right. */
function padded(
  cell: string,
  place: { readonly table: TextTable; readonly index: number; readonly widths: readonly number[] },
): string {
  const width = place.widths[place.index] ?? 0;
  const cut = cell.length > width ? `${cell.slice(0, Math.max(0, width - 1))}…` : cell;
  if (!place.table.right?.includes(place.index)) return cut;
  return place.index === place.widths.length - 1 ? cut : `${cut}${' '.repeat(gap)}`;
}

function naturalWidths(lines: readonly (readonly string[])[]): number[] {
  const count = Math.max(0, ...lines.map((line) => line.length));
  return Array.from({ length: count }, (_none, index) =>
    Math.max(1, ...lines.map((line) => line[index]?.length ?? 0)),
  );
}

function fit(widths: readonly number[], available: number): number[] {
  const fitted = [...widths];
  for (;;) {
    const total = fitted.reduce((sum, width) => sum + width, 0);
    const widest = Math.max(...fitted);
    if (total <= available || widest <= columnWidthMin) return fitted;
    fitted[fitted.indexOf(widest)] = widest - 1;
  }
}

const noBorders = {
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
