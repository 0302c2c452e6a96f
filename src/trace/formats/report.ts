/**
 * What validation of a trace found, as plain data: it is printed by `sfsd trace validate`, kept in the header of a workload that was
 * compiled from the trace, and shown in the replay report. Findings are folded per rule and file, so a broken day of 46,412 rows
 * gives one line a rule, not one a row.
 */

/** error: the trace is refused. warning: it is used, with what the action says. info: nothing was lost. The rules are in validation.ts. */
export type Severity = 'info' | 'warning' | 'error';

/** What was done with the row. */
export type FindingAction =
  | 'accept'
  | 'strip'
  | 'keep-first'
  | 'use-last'
  | 'fill-median'
  | 'use-percentiles'
  | 'clamp'
  | 'drop'
  | 'reject';

export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  readonly action: FindingAction;
  readonly file: string;
  /** 1-based line of the first occurrence. */
  readonly line: number;
  /** Lines of further occurrences, at most `findingLinesMax` with the first. */
  readonly lines: readonly number[];
  /** Rows, or cells for rules about cells, in which it occurred. */
  readonly count: number;
  /** What was seen at the first occurrence. */
  readonly detail: string;
}

export interface FileReport {
  readonly file: string;
  readonly kind: 'invocations' | 'durations' | 'memory' | 'azure2021' | 'sfs' | 'workload';
  /** Data rows read. */
  readonly rows: number;
  /** Data rows that no rule refused. */
  readonly accepted: number;
}

export interface ValidationReport {
  readonly strict: boolean;
  /** False: something was refused as an error (a bad row, unless those are to be dropped), or `--strict` does not forgive a warning. */
  readonly passed: boolean;
  readonly files: readonly FileReport[];
  readonly findings: readonly Finding[];
  /** Functions that have counts and durations. */
  readonly functions: number;
  /** Invocations of those functions. */
  readonly invocations: number;
  /** What the rules dropped. */
  readonly lostFunctions: number;
  readonly lostInvocations: number;
}

export const findingLinesMax = 20;
