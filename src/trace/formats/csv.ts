/**
 * One table of the Azure traces, row by row. The published files are plain CSV without quotes, so a row is its text between commas;
 * a quoted field would show as a wrong column count or as no number. Columns are found by name, because samples in the wild order and
 * name them differently.
 */
import { readLines } from './lines.js';
import type { FindingList } from './validation.js';

export interface Row {
  /** From 1; the header is line 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface Header {
  readonly names: readonly string[];
  /** Where a column is; -1 when the header lacks it. Names are compared without case and outer blanks. */
  position(name: string): number;
}

const gitLfsPointer = 'version https://git-lfs.github.com/spec/';

/** How a line falls into cells, and what they are where no header says it. */
export interface Layout {
  readonly separator: string | RegExp;
  readonly columnNames?: readonly string[];
}

export const commaLayout: Layout = { separator: ',' };

/** Takes the header, then the rows that have as many cells as it; blank lines are passed over. */
export interface TableReader {
  /** False: the rows are of no use, stop here. */
  header(header: Header): boolean;
  row(row: Row): void;
  /** A row with another number of cells. */
  refused(): void;
}

/** Throws SFSD_ERR_FILE, and SFSD_ERR_TRACE_INVALID for what is no text; all else goes to `findings`. */
export async function readTable(
  file: string,
  findings: FindingList,
  reader: TableReader,
  { separator, columnNames }: Layout = commaLayout,
): Promise<void> {
  let columns = 0;
  for await (const { number, text, carriageReturn, byteOrderMark } of readLines(file)) {
    const place = { file, line: number };
    if (byteOrderMark) findings.add('byte-order-mark', place, 'stripped');
    if (carriageReturn) findings.add('carriage-return', place, 'stripped');
    if (text === '') continue;
    const cells = text.split(separator);
    if (columns === 0) {
      if (text.startsWith(gitLfsPointer)) {
        findings.add('git-lfs-pointer', place, text);
        return;
      }
      const names = columnNames ?? cells;
      columns = names.length;
      if (!reader.header(headerOf(names))) return;
      if (columnNames === undefined) continue;
    }
    if (cells.length !== columns) {
      findings.add('column-count', place, `${cells.length} columns, not ${columns}`);
      reader.refused();
    } else {
      reader.row({ line: number, cells });
    }
  }
  if (columns === 0) findings.add('format-unknown', { file, line: 1 }, 'the file is empty');
}

function headerOf(cells: readonly string[]): Header {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  return { names, position: (name) => names.indexOf(name.toLowerCase()) };
}

const numberText = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** `71`, `71.0` and `7.1e1` are one number; NaN for everything else, the words NaN and Infinity included. */
export function numberOf(cell: string): number {
  const text = cell.trim();
  return numberText.test(text) ? Number(text) : Number.NaN;
}
