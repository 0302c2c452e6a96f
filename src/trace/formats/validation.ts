/**
 * The rules that a row of a trace is held to, as one table, and the list that folds what they found.
 *
 * Two kinds of refusal. Text that is no trace (a word where a count should be, a missing column, a Git-LFS pointer) is an `error`:
 * the file is damaged and the trace is not used at all. Numbers that cannot all be true (the published trace has some) cost their own
 * row only, as a `warning`; what is lost by that is counted. `strict` names the rules whose warning fails under `--strict`; `row` those
 * whose error costs only its own row under `--on-bad drop`.
 */
import { SfsdError } from '../../contracts/errors.js';
import { faultsShownMax } from './fault-list.js';
import {
  type FileReport,
  type Finding,
  type FindingAction,
  findingLinesMax,
  type Severity,
  type ValidationReport,
} from './report.js';

interface Rule {
  readonly severity: Severity;
  readonly action: FindingAction;
  /** Fails the trace under `--strict`. */
  readonly strict?: true;
  /** The error is of one row: `--on-bad drop` leaves the row out. */
  readonly row?: true;
  readonly meaning: string;
}

export const rules = {
  'git-lfs-pointer': {
    severity: 'error',
    action: 'reject',
    meaning: 'the file is the pointer text of Git LFS, not the data; run `git lfs pull`',
  },
  'format-unknown': {
    severity: 'error',
    action: 'reject',
    meaning: 'the header names no invocations, durations or memory table',
  },
  'column-missing': {
    severity: 'error',
    action: 'reject',
    meaning: 'the header lacks a column, or names one twice',
  },
  'minutes-not-contiguous': {
    severity: 'error',
    action: 'reject',
    meaning: 'the minute columns leave a gap or repeat',
  },
  'column-count': {
    severity: 'error',
    action: 'reject',
    row: true,
    meaning: 'the row has more or fewer columns than the header',
  },
  'not-a-number': {
    severity: 'error',
    action: 'reject',
    row: true,
    meaning: 'a cell is NaN, infinite or no number',
  },
  'count-negative': { severity: 'error', action: 'reject', row: true, meaning: 'a count is negative' },
  'count-fractional': {
    severity: 'error',
    action: 'reject',
    row: true,
    meaning: 'a count is not an integer',
  },
  'time-negative': {
    severity: 'error',
    action: 'reject',
    row: true,
    meaning: 'a duration of Azure 2021 or a start of an SFS list is negative',
  },
  'fib-out-of-range': {
    severity: 'error',
    action: 'reject',
    row: true,
    meaning: 'the argument of fib in an SFS list is none that could be run',
  },
  'byte-order-mark': { severity: 'info', action: 'strip', meaning: 'the file starts with a byte order mark' },
  'carriage-return': { severity: 'info', action: 'strip', meaning: 'lines end in CR LF' },
  'duplicate-key': {
    severity: 'warning',
    action: 'keep-first',
    strict: true,
    meaning: 'the key (2019: owner, app, function; SFS list: id) was met before in this file',
  },
  'counts-without-duration': {
    severity: 'warning',
    action: 'drop',
    meaning: 'the function has counts but no duration row',
  },
  'duration-without-counts': {
    severity: 'info',
    action: 'accept',
    meaning: 'the function has a duration row but no counts',
  },
  'app-without-memory': {
    severity: 'warning',
    action: 'fill-median',
    meaning: 'the app has no memory row',
  },
  'average-zero': {
    severity: 'warning',
    action: 'use-percentiles',
    meaning: 'Average is 0 though Count is positive; some percentile is positive',
  },
  'average-zero-no-percentile': {
    severity: 'warning',
    action: 'clamp',
    meaning: 'Average is 0 though Count is positive, and no percentile is positive',
  },
  'maximum-zero': { severity: 'warning', action: 'clamp', meaning: 'Maximum is 0' },
  'minimum-zero': { severity: 'info', action: 'accept', meaning: 'Minimum is 0' },
  'average-negative': { severity: 'warning', action: 'drop', meaning: 'Average is negative' },
  'value-negative': {
    severity: 'warning',
    action: 'clamp',
    meaning: 'Minimum, Maximum, a percentile or a memory figure is negative',
  },
  'percentile-below-minimum': {
    severity: 'warning',
    action: 'accept',
    meaning: 'percentile_Average_0 is below Minimum',
  },
  'average-outside': {
    severity: 'warning',
    action: 'reject',
    meaning: 'Average is not within [Minimum, Maximum]',
  },
  'percentiles-not-monotone': {
    severity: 'warning',
    action: 'reject',
    meaning: 'the percentiles are not in ascending order',
  },
  'duration-zero': { severity: 'warning', action: 'clamp', meaning: 'a duration of Azure 2021 is 0' },
  'start-duplicate': {
    severity: 'info',
    action: 'accept',
    meaning: 'two invocations of a list start in the same microsecond; they keep the order of their rows',
  },
  'start-unordered': {
    severity: 'warning',
    action: 'accept',
    meaning: 'an invocation of a list starts before the row above it; the list is sorted',
  },
  'trigger-unknown': {
    severity: 'warning',
    action: 'accept',
    meaning: 'the trigger is none that the trace documents',
  },
  'trigger-changed': {
    severity: 'warning',
    action: 'use-last',
    meaning: 'the trigger differs from the day before',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleCode = keyof typeof rules;

export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

interface Fold {
  readonly code: RuleCode;
  readonly file: string;
  readonly detail: string;
  readonly lines: number[];
  count: number;
}

/** Folds findings per rule and file; bounded by (rules x files) entries of `findingLinesMax` lines. */
export class FindingList {
  readonly #folds = new Map<string, Fold>();

  /** @param detail what was seen; kept for the first occurrence only. */
  add(code: RuleCode, place: Place, detail: string): void {
    const key = `${code} ${place.file}`;
    const fold = this.#folds.get(key);
    if (fold === undefined) {
      this.#folds.set(key, { code, file: place.file, detail, lines: [place.line], count: 1 });
      return;
    }
    fold.count += 1;
    if (fold.lines.length < findingLinesMax && fold.lines.at(-1) !== place.line) fold.lines.push(place.line);
  }

  /** Errors first, then warnings, then the rest; within each in the order of the table and the files. */
  sorted(): readonly Finding[] {
    const rank = { error: 0, warning: 1, info: 2 };
    const order = Object.keys(rules);
    const findings = [...this.#folds.values()].map(({ code, file, detail, lines, count }): Finding => {
      const { severity, action } = rules[code];
      return { code, severity, action, file, line: lines[0] ?? 0, lines, count, detail };
    });
    return findings.sort(
      (left, right) =>
        rank[left.severity] - rank[right.severity] || order.indexOf(left.code) - order.indexOf(right.code),
    );
  }
}

export interface Totals {
  readonly files: readonly FileReport[];
  readonly functions: number;
  readonly invocations: number;
  readonly lostFunctions: number;
  readonly lostInvocations: number;
}

export function reportOf(findings: readonly Finding[], totals: Totals, options: RowPolicy): ValidationReport {
  return {
    strict: options.strict,
    passed: !findings.some((found) => fails(found, options)),
    ...totals,
    findings,
  };
}

/** What a user forgives. */
export interface RowPolicy {
  /** Warnings of the rules marked strict refuse the trace too. */
  readonly strict: boolean;
  /** What a row that is damaged does: refuse the trace, or cost itself. Default `fail`. */
  readonly onBad?: OnBad;
}

export type OnBad = 'fail' | 'drop';

export const onBadKinds: readonly OnBad[] = ['fail', 'drop'];

/** Whether the trace is refused because of this finding. */
export function fails(finding: Finding, { strict, onBad = 'fail' }: RowPolicy): boolean {
  const rule: Rule | undefined = (rules as Readonly<Record<string, Rule>>)[finding.code];
  if (finding.severity === 'error') return onBad === 'fail' || rule?.row !== true;
  return strict && rule?.strict === true;
}

/** Throws SFSD_ERR_TRACE_INVALID naming every finding that refuses the trace. */
export function passOrThrow(
  { passed, findings, strict }: ValidationReport,
  { onBad = 'fail' }: Partial<RowPolicy>,
): void {
  if (passed) return;
  const refusals = findings.filter((finding) => fails(finding, { strict, onBad }));
  const words = refusals.map(
    ({ file, line, code, count, detail }) =>
      `${file}:${line} ${code} (${detail})${count > 1 ? ` and ${count - 1} more` : ''}`,
  );
  throw new SfsdError('SFSD_ERR_TRACE_INVALID', {
    file: refusals[0]?.file ?? '',
    reason: words.slice(0, faultsShownMax).join('; '),
  });
}
