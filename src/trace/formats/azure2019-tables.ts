/**
 * The three tables of the Azure Functions 2019 trace, each read by header name:
 *
 *   invocations  HashOwner,HashApp,HashFunction,Trigger,1..1440   counts per minute; `1`, `minute_1`, `1_minute` all mean minute 1,
 *                                                                 and samples start at other minutes (480, 540)
 *   durations    HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_{0,1,25,50,75,99,100}
 *   memory       HashOwner,HashApp[,HashFunction],SampleCount,AverageAllocatedMb,...     per app; samples also per function
 */
import { type Durations, percentileRanks, soundDurations } from './azure2019-durations.js';
import { type Header, numberOf, type Row, type TableReader } from './csv.js';
import type { FileReport } from './report.js';
import type { FindingList, Place } from './validation.js';

export type TableKind = 'invocations' | 'durations' | 'memory';

/** Where one table's rows go. Keys are `owner/app/function`; memory per app is `owner/app`. */
export interface TableSink {
  invocations(key: string, place: Place, row: CountRow): void;
  durations(key: string, place: Place, durations: Durations): void;
  /** A key whose row was met but refused. */
  refused(kind: TableKind, key: string): void;
  memory(key: string, averageMb: number): void;
}

export const triggers: readonly string[] = [
  'http',
  'timer',
  'event',
  'queue',
  'storage',
  'orchestration',
  'others',
];

export interface CountRow {
  readonly counts: Uint32Array;
  readonly trigger: string;
}

interface Columns {
  readonly kind: TableKind;
  readonly key: readonly number[];
  /** invocations: minutes in order; durations: Average, Count, Minimum, Maximum, percentiles; memory: AverageAllocatedMb. */
  readonly values: readonly number[];
  readonly trigger: number;
}

const countMax = 2 ** 32 - 1;

/** Reads one file of any of the three kinds; the header says which. */
export class AzureTable implements TableReader {
  readonly #file: string;
  readonly #findings: FindingList;
  readonly #sink: TableSink;
  readonly #minMs: number;
  readonly #seen = new Set<string>();
  #columns: Columns | undefined;
  #rows = 0;
  #accepted = 0;

  constructor(
    file: string,
    {
      findings,
      sink,
      minMs,
    }: { readonly findings: FindingList; readonly sink: TableSink; readonly minMs: number },
  ) {
    this.#file = file;
    this.#findings = findings;
    this.#sink = sink;
    this.#minMs = minMs;
  }

  get report(): FileReport | undefined {
    if (this.#columns === undefined) return undefined;
    return { file: this.#file, kind: this.#columns.kind, rows: this.#rows, accepted: this.#accepted };
  }

  /** Minute columns; 0 for other kinds. */
  get minutes(): number {
    return this.#columns?.kind === 'invocations' ? this.#columns.values.length : 0;
  }

  header(header: Header): boolean {
    this.#columns = this.#columnsOf(header);
    return this.#columns !== undefined;
  }

  refused(): void {
    this.#rows += 1;
    if (this.#columns?.kind === 'invocations') this.#sink.refused('invocations', '');
  }

  row(row: Row): void {
    const columns = this.#columns;
    if (columns === undefined) return;
    this.#rows += 1;
    const key = columns.key.map((position) => row.cells[position]?.trim() ?? '').join('/');
    if (this.#seen.has(key)) {
      this.#findings.add('duplicate-key', { file: this.#file, line: row.line }, key);
      return;
    }
    this.#seen.add(key);
    if (this.#take(columns, row, key)) this.#accepted += 1;
    else this.#sink.refused(columns.kind, key);
  }

  #take(columns: Columns, row: Row, key: string): boolean {
    if (columns.kind === 'invocations') return this.#takeCounts(columns, row, key);
    const numbers = this.#numbers(columns, row);
    if (numbers === undefined) return false;
    if (columns.kind === 'memory') return this.#takeMemory(numbers[0] ?? 0, row, key);
    return this.#takeDurations(numbers, row, key);
  }

  #takeCounts(columns: Columns, row: Row, key: string): boolean {
    const counts = new Uint32Array(columns.values.length);
    for (const [minute, position] of columns.values.entries()) {
      const cell = row.cells[position] ?? '';
      if (cell === '0') continue;
      const count = numberOf(cell);
      if (!this.#isCount(count, row.line, cell)) return false;
      counts[minute] = count;
    }
    const trigger = row.cells[columns.trigger]?.trim() ?? '';
    if (!triggers.includes(trigger)) this.#add('trigger-unknown', row.line, trigger);
    this.#sink.invocations(key, { file: this.#file, line: row.line }, { counts, trigger });
    return true;
  }

  #isCount(count: number, line: number, cell: string): boolean {
    if (Number.isNaN(count) || count > countMax) return this.#add('not-a-number', line, cell);
    if (count < 0) return this.#add('count-negative', line, cell);
    return Number.isInteger(count) || this.#add('count-fractional', line, cell);
  }

  #takeDurations(numbers: readonly number[], row: Row, key: string): boolean {
    const [average = 0, count = 0, minimum = 0, maximum = 0, ...percentiles] = numbers;
    if (!this.#isCount(count, row.line, String(count))) return false;
    const place = { file: this.#file, line: row.line };
    const durations = soundDurations(
      { average, count, minimum, maximum, percentiles },
      { findings: this.#findings, place, minMs: this.#minMs },
    );
    if (durations === undefined) return false;
    this.#sink.durations(key, place, durations);
    return true;
  }

  #takeMemory(averageMb: number, row: Row, key: string): boolean {
    if (averageMb < 0) this.#add('value-negative', row.line, `${averageMb}, clamped to 0`);
    this.#sink.memory(key, Math.max(0, averageMb));
    return true;
  }

  #numbers(columns: Columns, row: Row): readonly number[] | undefined {
    const numbers = columns.values.map((position) => numberOf(row.cells[position] ?? ''));
    const wrong = numbers.findIndex((number) => !Number.isFinite(number));
    if (wrong === -1) return numbers;
    this.#add('not-a-number', row.line, row.cells[columns.values[wrong] ?? 0] ?? '');
    return undefined;
  }

  #columnsOf(header: Header): Columns | undefined {
    const kind = kindOf(header);
    if (kind === undefined) {
      this.#add('format-unknown', 1, header.names.slice(0, 8).join(','));
      return undefined;
    }
    const perApp = kind === 'memory' && header.position('HashFunction') === -1;
    const keyNames = perApp ? ['HashOwner', 'HashApp'] : ['HashOwner', 'HashApp', 'HashFunction'];
    const valueNames = valueNamesOf(kind);
    const needed = kind === 'invocations' ? [...keyNames, 'Trigger'] : [...keyNames, ...valueNames];
    const faulty = needed.filter((name) => occurrences(header, name) !== 1);
    for (const name of faulty) this.#add('column-missing', 1, `${name}: ${occurrences(header, name)} times`);
    const values =
      kind === 'invocations' ? this.#minutesOf(header) : valueNames.map((name) => header.position(name));
    if (faulty.length > 0 || values === undefined) return undefined;
    const key = keyNames.map((name) => header.position(name));
    return { kind, key, values, trigger: header.position('Trigger') };
  }

  /** Positions of the minute columns, by minute. */
  #minutesOf(header: Header): readonly number[] | undefined {
    const minutes = header.names
      .map((name, position) => ({ position, minute: minuteOf(name) }))
      .filter((column): column is { position: number; minute: number } => column.minute !== undefined)
      .sort((left, right) => left.minute - right.minute);
    const first = minutes[0]?.minute ?? 0;
    const wrong = minutes.findIndex((column, index) => column.minute !== first + index);
    if (wrong === -1 && minutes.length > 0) return minutes.map((column) => column.position);
    const seen =
      minutes.length === 0 ? 'none' : `minute ${minutes[wrong]?.minute} after ${first + wrong - 1}`;
    this.#add('minutes-not-contiguous', 1, seen);
    return undefined;
  }

  /** Always false, so that a check can end with it. */
  #add(code: Parameters<FindingList['add']>[0], line: number, detail: string): false {
    this.#findings.add(code, { file: this.#file, line }, detail.slice(0, detailLengthMax));
    return false;
  }
}

const detailLengthMax = 200;

function kindOf(header: Header): TableKind | undefined {
  if (header.names.some((name) => name.startsWith('percentile_average'))) return 'durations';
  if (header.position('AverageAllocatedMb') !== -1) return 'memory';
  if (header.position('Trigger') !== -1 || header.names.some((name) => minuteOf(name) !== undefined)) {
    return 'invocations';
  }
  return undefined;
}

function valueNamesOf(kind: TableKind): readonly string[] {
  if (kind === 'invocations') return [];
  if (kind === 'memory') return ['AverageAllocatedMb'];
  const percentiles = percentileRanks.map((rank) => `percentile_Average_${rank}`);
  return ['Average', 'Count', 'Minimum', 'Maximum', ...percentiles];
}

function minuteOf(name: string): number | undefined {
  const digits = /^(?:minute_?)?(\d{1,4})(?:_?minute)?$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function occurrences(header: Header, name: string): number {
  return header.names.filter((known) => known === name.toLowerCase()).length;
}
