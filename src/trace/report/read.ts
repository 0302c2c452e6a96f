/**
 * Reads a run folder back, for `sfsd report DIR`. Every fault of every file is named with its line and field; figures are not
 * computed anew, so that an old folder shows what it showed when it was made.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import { replayPolicies } from '../../contracts/replay.js';
import { FaultList } from '../formats/fault-list.js';
import { readLines } from '../formats/lines.js';
import type { Summary } from '../replay/comparison.js';
import type { RequestRecord } from '../replay/record.js';
import { type RunFolder, runFiles } from './run-folder.js';
import { runFolderSchemas } from './schema.js';
import { upgraded } from './upgrade.js';

/** Two policies of the largest workload, and as many pick-ups again. */
const linesMax = 8_000_000;

/**
 * Throws SFSD_ERR_FILE when a file cannot be read, SFSD_ERR_TRACE_INVALID with all faults (the first 20 in words) when one does not
 * hold what it should.
 */
export async function readRunFolder(folder: string): Promise<RunFolder> {
  const schemas = runFolderSchemas();
  const faults = new FaultList();
  const summary = await readSummary(join(folder, runFiles.summary), schemas.summary, faults);
  const records = await readRows(folder, runFiles.requests, schemas.record, faults);
  const series = await readRows(folder, runFiles.series, schemas.seriesRow, faults);
  if (summary !== undefined && faults.count === 0) checkTogether(summary, records, faults);
  if (summary === undefined || faults.count > 0) {
    throw new SfsdError('SFSD_ERR_TRACE_INVALID', { file: folder, reason: faults.text() });
  }
  return { summary, records, series };
}

async function readSummary(
  file: string,
  validate: ValidateFunction<Summary>,
  faults: FaultList,
): Promise<Summary | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file, reason: reasonOf(thrown) }, { cause: thrown });
  }
  const fault = (words: string) => faults.add(undefined, `${runFiles.summary}: ${words}`);
  return checked(text, validate, fault, upgraded);
}

async function readRows<Row>(
  folder: string,
  name: string,
  validate: ValidateFunction<Row>,
  faults: FaultList,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const line of readLines(join(folder, name))) {
    if (line.number > linesMax) {
      faults.add(undefined, `${name}: more than ${linesMax} lines`);
      break;
    }
    if (line.text === '') continue;
    const row = checked(line.text, validate, (fault) =>
      faults.add(undefined, `${name} line ${line.number}: ${fault}`),
    );
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

function checked<Value>(
  text: string,
  validate: ValidateFunction<Value>,
  fault: (text: string) => void,
  prepared: (value: unknown) => unknown = (value) => value,
): Value | undefined {
  let value: unknown;
  try {
    value = prepared(JSON.parse(text));
  } catch (thrown) {
    fault(`not JSON: ${reasonOf(thrown)}`);
    return undefined;
  }
  if (validate(value)) return value;
  for (const error of (validate.errors ?? []).filter(isPlain)) fault(wordsOf(error));
  return undefined;
}

/** Of "a number or null" both halves are reported, and then that neither held: the halves say enough. */
function isPlain(error: ErrorObject): boolean {
  return error.keyword !== 'anyOf' && error.keyword !== 'oneOf';
}

function wordsOf({ instancePath, keyword, message, params }: ErrorObject): string {
  const where = instancePath === '' ? 'the whole' : instancePath.slice(1).replaceAll('/', '.');
  const allowed: unknown = keyword === 'const' ? params.allowedValue : params.allowedValues;
  const values = allowed === undefined ? '' : `: ${JSON.stringify(allowed)}`;
  return `${where} ${message ?? `breaks ${keyword}`}${values}`;
}

/** The summary and the records must be of the same run: a folder may have been copied together by hand. */
function checkTogether(summary: Summary, records: readonly RequestRecord[], faults: FaultList): void {
  for (const policy of replayPolicies) {
    const ids = new Set<string>();
    for (const record of records) {
      if (record.policy !== policy) continue;
      if (ids.has(record.id))
        faults.add(undefined, `${runFiles.requests}: id ${record.id} twice under ${policy}`);
      ids.add(record.id);
    }
    const told = summary[policy]?.counts.requested ?? 0;
    if (ids.size !== told) {
      faults.add(
        undefined,
        `${runFiles.requests}: ${ids.size} requests under ${policy}, the summary says ${told}`,
      );
    }
  }
}
