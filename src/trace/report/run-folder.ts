/**
 * A run folder: what one comparison leaves behind.
 *
 *   requests.jsonl   one RequestRecord a line: the cfs run first, each in the order of arrival
 *   requests.csv     the same, for spreadsheets
 *   slice.jsonl      S and the queue delays over time
 *   summary.json     every figure; written last, so that a folder that has it is whole
 *   report.html      the same for people; needs nothing else
 */
import type { Summary } from '../replay/comparison.js';
import type { RequestRecord } from '../replay/record.js';
import type { SeriesRow } from '../replay/series.js';

export interface RunFolder {
  readonly summary: Summary;
  readonly records: readonly RequestRecord[];
  readonly series: readonly SeriesRow[];
}

export const runFiles = {
  requests: 'requests.jsonl',
  requestsTable: 'requests.csv',
  series: 'slice.jsonl',
  summary: 'summary.json',
  report: 'report.html',
} as const;
