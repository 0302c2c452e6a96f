/**
 * The Azure Functions 2019 trace (Shahrad et al., USENIX ATC 2020; CC-BY 4.0): invocations, durations and memory, joined by
 * (owner, app, function). Several invocations files are consecutive days in the order given. Rows stream; what is kept is one
 * typed array of counts a function, 270 MB for a real day, and nothing of it when only a report is asked for.
 */
import type { Durations } from './azure2019-durations.js';
import { AzureTable, type CountRow, type TableSink } from './azure2019-tables.js';
import { readTable } from './csv.js';
import type { FileReport, ValidationReport } from './report.js';
import { FindingList, type Place, passOrThrow, type RowPolicy, reportOf } from './validation.js';

export interface AzureFunction {
  /** `owner/app/function`. */
  readonly key: string;
  readonly trigger: string;
  /** Invocations in each minute of all days; empty when counts were not asked for. */
  readonly counts: Uint32Array;
  readonly invocations: number;
  readonly durations: Durations;
  /** The app's, or the function's where the table is per function; the median of all where it is missing. */
  readonly memoryMb: number;
}

export interface AzureTrace {
  /** In the order of the invocations files. */
  readonly functions: readonly AzureFunction[];
  readonly minutes: number;
  readonly report: ValidationReport;
}

export interface AzureOptions extends Partial<RowPolicy> {
  /** What a duration that cannot be true is raised to, ms; default 1. */
  readonly minMs?: number;
  /** False: totals only. */
  readonly keepCounts?: boolean;
}

interface Draft {
  trigger: string;
  place: Place;
  invocations: number;
  readonly days: { readonly day: number; readonly counts: Uint32Array }[];
}

/**
 * Reads all files (each says by its header what it is) and never throws for what is in them: see `report.passed`.
 * Throws SFSD_ERR_FILE when one cannot be read, SFSD_ERR_TRACE_INVALID when one is no text at all.
 */
export async function readAzure2019(
  files: readonly string[],
  options: AzureOptions = {},
): Promise<AzureTrace> {
  const { strict = false, onBad = 'fail', minMs = 1, keepCounts = true } = options;
  const findings = new FindingList();
  const join = new Join(findings, keepCounts);
  const reports: FileReport[] = [];
  for (const file of files) {
    const table = new AzureTable(file, { findings, sink: join.sink, minMs });
    await readTable(file, findings, table);
    join.endFile(table.minutes);
    if (table.report !== undefined) reports.push(table.report);
  }
  const { functions, lostFunctions, lostInvocations } = join.functions();
  const invocations = functions.reduce((total, one) => total + one.invocations, 0);
  const totals = { files: reports, functions: functions.length, invocations, lostFunctions, lostInvocations };
  const report = reportOf(findings.sorted(), totals, { strict, onBad });
  return { functions, minutes: join.minutes, report };
}

/** As `readAzure2019`, and throws SFSD_ERR_TRACE_INVALID naming every finding that refuses the trace. */
export async function loadAzure2019(
  files: readonly string[],
  options: AzureOptions = {},
): Promise<AzureTrace> {
  const trace = await readAzure2019(files, options);
  passOrThrow(trace.report, options);
  return trace;
}

class Join {
  readonly #findings: FindingList;
  readonly #keepCounts: boolean;
  readonly #drafts = new Map<string, Draft>();
  readonly #durations = new Map<string, Durations>();
  readonly #durationPlaces = new Map<string, Place>();
  readonly #refused = new Set<string>();
  readonly #memory = new Map<string, number>();
  readonly #dayMinutes: number[] = [];
  #lostRows = 0;

  readonly sink: TableSink = {
    invocations: (key, place, row) => this.#invocations(key, place, row),
    durations: (key, place, durations) => {
      this.#durations.set(key, durations);
      this.#durationPlaces.set(key, place);
    },
    refused: (kind, key) => {
      if (kind === 'durations') this.#refused.add(key);
      if (kind === 'invocations') this.#lostRows += 1;
    },
    memory: (key, averageMb) => void this.#memory.set(key, averageMb),
  };

  constructor(findings: FindingList, keepCounts: boolean) {
    this.#findings = findings;
    this.#keepCounts = keepCounts;
  }

  get minutes(): number {
    return this.#dayMinutes.reduce((total, day) => total + day, 0);
  }

  /** @param minutes of an invocations file; 0 for the others, which are no day. */
  endFile(minutes: number): void {
    if (minutes > 0) this.#dayMinutes.push(minutes);
  }

  #invocations(key: string, place: Place, { counts, trigger }: CountRow): void {
    const total = counts.reduce((sum, count) => sum + count, 0);
    const day = { day: this.#dayMinutes.length, counts };
    const known = this.#drafts.get(key);
    if (known === undefined) {
      const days = this.#keepCounts ? [day] : [];
      this.#drafts.set(key, { trigger, place, invocations: total, days });
      return;
    }
    if (known.trigger !== trigger) {
      this.#findings.add('trigger-changed', place, `${known.trigger} became ${trigger}`);
    }
    known.trigger = trigger;
    known.invocations += total;
    if (this.#keepCounts) known.days.push(day);
  }

  functions(): { functions: readonly AzureFunction[]; lostFunctions: number; lostInvocations: number } {
    const functions: AzureFunction[] = [];
    let lostFunctions = this.#lostRows;
    let lostInvocations = 0;
    const median = medianOf([...this.#memory.values()]);
    for (const [key, draft] of this.#drafts) {
      const durations = this.#durations.get(key);
      if (durations === undefined) {
        lostFunctions += 1;
        lostInvocations += draft.invocations;
        if (!this.#refused.has(key)) {
          this.#findings.add(
            'counts-without-duration',
            draft.place,
            `${key}: ${draft.invocations} invocations`,
          );
        }
        continue;
      }
      const memoryMb = this.#memory.get(key) ?? this.#memory.get(appOf(key));
      if (memoryMb === undefined && this.#memory.size > 0) {
        this.#findings.add('app-without-memory', draft.place, `${appOf(key)}: ${median} MB`);
      }
      const { trigger, invocations } = draft;
      const counts = this.#countsOf(draft);
      functions.push({ key, trigger, counts, invocations, durations, memoryMb: memoryMb ?? median });
    }
    for (const [key, place] of this.#durationPlaces) {
      if (!this.#drafts.has(key)) this.#findings.add('duration-without-counts', place, key);
    }
    return { functions, lostFunctions, lostInvocations };
  }

  #countsOf(draft: Draft): Uint32Array {
    const [only] = draft.days;
    if (only === undefined) return new Uint32Array(0);
    if (this.#dayMinutes.length === 1) return only.counts;
    const counts = new Uint32Array(this.minutes);
    for (const { day, counts: dayCounts } of draft.days) {
      const start = this.#dayMinutes.slice(0, day).reduce((total, minutes) => total + minutes, 0);
      counts.set(dayCounts, start);
    }
    return counts;
  }
}

function appOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? high) + high) / 2;
}
