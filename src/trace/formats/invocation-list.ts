/**
 * Traces that name each invocation, instead of counts per minute: Azure Functions 2021 (azure2021.ts) and the request lists of the SFS
 * evaluation (sfs-list.ts). Each format turns a row into a start and a duration; what is common is here.
 *
 * Invocations are put in the order of start; those of one microsecond keep the order of their rows. Kept in columns of numbers: the
 * two weeks of 2021 are two million rows.
 */
import { SfsdError } from '../../contracts/errors.js';
import { type Header, type Layout, type Row, readTable, type TableReader } from './csv.js';
import type { FileReport, ValidationReport } from './report.js';
import { FindingList, passOrThrow, type RowPolicy, type RuleCode, reportOf } from './validation.js';

export type ListFormatName = 'azure2021' | 'sfs';

/** What a row says. */
export interface ListedInvocation {
  readonly startUs: number;
  readonly durationMs: number;
  /** Tells functions apart. */
  readonly functionKey: string;
  /** Short, for the workload. */
  readonly functionName: string;
  /** Unique in its file, where the format has one. */
  readonly id?: string;
}

export interface RowFault {
  readonly code: RuleCode;
  readonly detail: string;
}

export interface ListFormat {
  readonly name: ListFormatName;
  readonly layout: Layout;
  /** Names of the columns, in the order in which `parse` takes the cells. */
  readonly columns: readonly string[];
  parse(cells: readonly string[]): ListedInvocation | RowFault;
}

export interface ListTrace {
  readonly format: ListFormatName;
  /** us, ascending; parallel to `durationsMs` and `functionOf`. */
  readonly starts: Float64Array;
  readonly durationsMs: Float64Array;
  /** Position in `functionNames`. */
  readonly functionOf: Uint32Array;
  readonly functionNames: readonly string[];
  /** From the first start to the last, rounded up. */
  readonly minutes: number;
  readonly report: ValidationReport;
}

export interface ListOptions extends Partial<RowPolicy> {
  /** What a duration of 0 is raised to, ms; default 1. */
  readonly minMs?: number;
}

/** Two and a half times the published two weeks. */
export const listedMax = 5_000_000;

const usPerMinute = 60_000_000;

/** Never throws for what is in the files: see `report.passed`. Throws SFSD_ERR_FILE, or SFSD_ERR_TRACE_INVALID for what is no text. */
export async function readLists(
  files: readonly string[],
  format: ListFormat,
  options: ListOptions = {},
): Promise<ListTrace> {
  const { strict = false, onBad = 'fail', minMs = 1 } = options;
  const columns = new Columns();
  const findings = new FindingList();
  const reports: FileReport[] = [];
  for (const [index, file] of files.entries()) {
    const table = new ListTable(file, { format, findings, columns, minMs, index });
    await readTable(file, findings, table, format.layout);
    reports.push(table.report);
  }
  const order = columns.order();
  columns.noteOrder(order, { files, findings });
  const totals = {
    files: reports,
    functions: columns.functionNames.length,
    invocations: order.length,
    lostFunctions: 0,
    lostInvocations: reports.reduce((lost, { rows, accepted }) => lost + rows - accepted, 0),
  };
  const report = reportOf(findings.sorted(), totals, { strict, onBad });
  const starts = Float64Array.from(order, (row) => columns.starts[row] ?? 0);
  return {
    format: format.name,
    starts,
    durationsMs: Float64Array.from(order, (row) => columns.durationsMs[row] ?? 0),
    functionOf: Uint32Array.from(order, (row) => columns.functionOf[row] ?? 0),
    functionNames: columns.functionNames,
    minutes: Math.ceil(((starts.at(-1) ?? 0) - (starts[0] ?? 0) + 1) / usPerMinute),
    report,
  };
}

/** As `readLists`, and throws SFSD_ERR_TRACE_INVALID naming every finding that refuses the trace. */
export async function loadLists(
  files: readonly string[],
  format: ListFormat,
  options: ListOptions = {},
): Promise<ListTrace> {
  const trace = await readLists(files, format, options);
  passOrThrow(trace.report, options);
  return trace;
}

class Columns {
  readonly starts: number[] = [];
  readonly durationsMs: number[] = [];
  readonly functionOf: number[] = [];
  readonly functionNames: string[] = [];
  readonly #fileOf: number[] = [];
  readonly #lineOf: number[] = [];
  readonly #functions = new Map<string, number>();

  add(invocation: ListedInvocation, durationMs: number, place: { file: number; line: number }): void {
    if (this.starts.length >= listedMax) {
      const reason = `more than ${listedMax} invocations`;
      throw new SfsdError('SFSD_ERR_TRACE_INVALID', { file: `line ${place.line}`, reason });
    }
    let position = this.#functions.get(invocation.functionKey);
    if (position === undefined) {
      position = this.functionNames.length;
      this.#functions.set(invocation.functionKey, position);
      this.functionNames.push(invocation.functionName);
    }
    this.starts.push(invocation.startUs);
    this.durationsMs.push(durationMs);
    this.functionOf.push(position);
    this.#fileOf.push(place.file);
    this.#lineOf.push(place.line);
  }

  /** Rows in the order of start. */
  order(): Uint32Array {
    const rows = Uint32Array.from(this.starts.keys());
    return rows.sort((left, right) => (this.starts[left] ?? 0) - (this.starts[right] ?? 0) || left - right);
  }

  noteOrder(
    order: Uint32Array,
    { files, findings }: { readonly files: readonly string[]; readonly findings: FindingList },
  ): void {
    const placeOf = (row: number) => ({
      file: files[this.#fileOf[row] ?? 0] ?? '',
      line: this.#lineOf[row] ?? 0,
    });
    for (let row = 1; row < this.starts.length; row += 1) {
      const backUs = (this.starts[row - 1] ?? 0) - (this.starts[row] ?? 0);
      if (backUs > roundingUs && this.#fileOf[row] === this.#fileOf[row - 1]) {
        findings.add('start-unordered', placeOf(row), `${backUs} us before the row above; sorted`);
      }
    }
    for (let index = 1; index < order.length; index += 1) {
      const [earlier = 0, later = 0] = [order[index - 1], order[index]];
      if (this.starts[earlier] === this.starts[later]) {
        findings.add(
          'start-duplicate',
          placeOf(later),
          `${this.starts[later]} us; kept in the order of rows`,
        );
      }
    }
  }
}

/** A start is the difference of two decimal fractions: equal ones may differ by this. */
const roundingUs = 1;
const detailLengthMax = 200;

class ListTable implements TableReader {
  readonly #file: string;
  readonly #from: {
    readonly format: ListFormat;
    readonly findings: FindingList;
    readonly columns: Columns;
    readonly minMs: number;
    readonly index: number;
  };
  readonly #seen = new Set<string>();
  #positions: readonly number[] = [];
  #rows = 0;
  #accepted = 0;

  constructor(
    file: string,
    from: {
      readonly format: ListFormat;
      readonly findings: FindingList;
      readonly columns: Columns;
      readonly minMs: number;
      readonly index: number;
    },
  ) {
    this.#file = file;
    this.#from = from;
  }

  get report(): FileReport {
    return { file: this.#file, kind: this.#from.format.name, rows: this.#rows, accepted: this.#accepted };
  }

  header(header: Header): boolean {
    const { columns } = this.#from.format;
    const faulty = columns.filter((name) => header.names.filter((known) => known === name).length !== 1);
    for (const name of faulty) this.#add('column-missing', 1, `${name} is not there exactly once`);
    this.#positions = columns.map((name) => header.position(name));
    return faulty.length === 0;
  }

  refused(): void {
    this.#rows += 1;
  }

  row({ line, cells }: Row): void {
    const { format, columns, minMs, index } = this.#from;
    this.#rows += 1;
    const parsed = format.parse(this.#positions.map((position) => cells[position]?.trim() ?? ''));
    if ('code' in parsed) {
      this.#add(parsed.code, line, parsed.detail);
      return;
    }
    if (parsed.id !== undefined) {
      if (this.#seen.has(parsed.id)) {
        this.#add('duplicate-key', line, parsed.id);
        return;
      }
      this.#seen.add(parsed.id);
    }
    if (parsed.durationMs === 0) this.#add('duration-zero', line, `clamped to ${minMs} ms`);
    columns.add(parsed, parsed.durationMs === 0 ? minMs : parsed.durationMs, { file: index, line });
    this.#accepted += 1;
  }

  #add(code: RuleCode, line: number, detail: string): void {
    this.#from.findings.add(code, { file: this.#file, line }, detail.slice(0, detailLengthMax));
  }
}
