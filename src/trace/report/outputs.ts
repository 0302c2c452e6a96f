/**
 * Writes a run folder. Each file is written beside its place and then renamed, so that no reader ever sees half of one; the summary
 * comes last, so that a folder that has one is whole, and an earlier one is removed first, so that it never sits among newer files.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import type { Summary } from '../replay/comparison.js';
import type { RequestRecord } from '../replay/record.js';
import type { ReplayRun } from '../replay/replay.js';
import { reportPage } from './html.js';
import { type RunFolder, runFiles } from './run-folder.js';

export interface WrittenFiles {
  readonly folder: string;
  readonly report: string;
  readonly summary: string;
}

/** Creates the folder and its parents when they are missing. Throws SFSD_ERR_FILE. */
export async function writeRunFolder(
  folder: string,
  { summary, runs }: { readonly summary: Summary; readonly runs: readonly ReplayRun[] },
): Promise<WrittenFiles> {
  const ordered = [...runs].sort((left, right) => left.policy.localeCompare(right.policy));
  const content: RunFolder = {
    summary,
    records: ordered.flatMap((run) => run.records),
    series: ordered.flatMap((run) => run.series),
  };
  await attempt(folder, () => mkdir(folder, { recursive: true }));
  const summaryFile = join(folder, runFiles.summary);
  await attempt(summaryFile, () => rm(summaryFile, { force: true }));
  await replaceFile(join(folder, runFiles.requests), jsonLines(content.records));
  await replaceFile(join(folder, runFiles.requestsTable), csvLines(content.records));
  await replaceFile(join(folder, runFiles.series), jsonLines(content.series));
  await writeReport(folder, content);
  await replaceFile(summaryFile, [`${JSON.stringify(summary, null, 2)}\n`]);
  return { folder, report: join(folder, runFiles.report), summary: summaryFile };
}

/** Only report.html: `sfsd report DIR` makes it anew. Throws SFSD_ERR_FILE. */
export async function writeReport(folder: string, content: RunFolder): Promise<string> {
  const file = join(folder, runFiles.report);
  await replaceFile(file, [reportPage(content)]);
  return file;
}

function* jsonLines(rows: readonly object[]): Generator<string> {
  for (const row of rows) yield `${JSON.stringify(row)}\n`;
}

/** RFC 4180 with LF: a field is quoted when it must be; null is an empty field. */
function* csvLines(records: readonly RequestRecord[]): Generator<string> {
  const [first] = records;
  if (first === undefined) return;
  const names = Object.keys(first).sort((left, right) => column(left) - column(right));
  yield `${names.join(',')}\n`;
  for (const record of records) {
    const fields: Readonly<Record<string, unknown>> = { ...record };
    yield `${names.map((name) => csvField(fields[name])).join(',')}\n`;
  }
}

/** Who, then when, then how; columns not named here follow in the records' own order. */
const columnOrder: readonly string[] = [
  'policy',
  'id',
  'functionName',
  'application',
  'fate',
  'exit',
  'arrivalMs',
  'enqueueMs',
  'pickupMs',
  'firstRunMs',
  'endMs',
  'turnaroundMs',
  'idealMs',
  'demandMs',
  'cpuMs',
];

function column(name: string): number {
  const place = columnOrder.indexOf(name);
  return place === -1 ? columnOrder.length : place;
}

function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const chunkLength = 64 * 1024;

async function replaceFile(file: string, parts: Iterable<string>): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await attempt(file, async () => {
    try {
      const handle = await open(temporary, 'w', 0o644);
      try {
        let chunk = '';
        for (const part of parts) {
          chunk += part;
          if (chunk.length < chunkLength) continue;
          await handle.appendFile(chunk);
          chunk = '';
        }
        await handle.appendFile(chunk);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, file);
    } catch (thrown) {
      await rm(temporary, { force: true });
      throw thrown;
    }
  });
}

async function attempt(file: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file, reason: reasonOf(thrown) }, { cause: thrown });
  }
}
