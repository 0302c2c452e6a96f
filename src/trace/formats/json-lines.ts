/**
 * The compiled workload on disk, as JSON lines: the header first, then one request a line, in the order of arrival.
 *
 *   {"format":"sfsd-workload","version":1,"requests":2,"seed":1,...,"demandMeanUs":185000,"shortBelowUs":200000}
 *   {"id":"000000","functionName":"burn-042","application":"burn","arrivalUs":0,"demandUs":42000,"sleeps":[]}
 *   {"id":"000001",...,"sleeps":[{"atUs":1000,"lengthUs":5000}]}
 *
 * Field names end in their unit, because files are read by other programs too. Reading and writing stream; the bytes depend on the
 * workload alone, so that two runs of the generator with one seed can be compared with cmp.
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import type { Workload, WorkloadHeader, WorkloadRequest } from '../workload/workload.js';
import { FaultList } from './fault-list.js';
import { headerOf, requestOf } from './json-lines-fields.js';
import { readLines } from './lines.js';

/** A replay materialises all requests; more than this is no single run on one host. */
export const requestsMax = 1_000_000;

export function headerLine(header: WorkloadHeader): string {
  const { demandMean, shortBelow, validation, ...rest } = header;
  return `${JSON.stringify({
    ...rest,
    demandMeanUs: demandMean,
    shortBelowUs: shortBelow,
    ...(validation === undefined ? {} : { validation }),
  })}\n`;
}

export function requestLine(request: WorkloadRequest): string {
  return `${JSON.stringify({
    id: request.id,
    functionName: request.functionName,
    application: request.application,
    arrivalUs: request.arrival,
    demandUs: request.demand,
    sleeps: request.sleeps.map((sleep) => ({ atUs: sleep.at, lengthUs: sleep.length })),
  })}\n`;
}

/** Replaces the file. Throws SFSD_ERR_FILE. */
export async function writeWorkload(file: string, workload: Workload): Promise<void> {
  try {
    await pipeline(Readable.from(textOf(workload)), createWriteStream(file));
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

function* textOf(workload: Workload): Generator<string> {
  yield headerLine(workload.header);
  for (const request of workload.requests) yield requestLine(request);
}

/** Throws SFSD_ERR_FILE, or SFSD_ERR_TRACE_INVALID with every fault and its line (at most `faultsShownMax` of them in words). */
export async function readWorkload(file: string): Promise<Workload> {
  const faults = new FaultList();
  const requests: WorkloadRequest[] = [];
  const ids = new Set<string>();
  let header: WorkloadHeader | undefined;
  let last = 0;
  for await (const line of readLines(file)) {
    if (line.text === '') continue;
    const before = faults.count;
    const value = parsed(line.text, faults, line.number);
    if (value === undefined) continue;
    if (line.number === 1) {
      header = headerOf(value, faults);
      if (header === undefined) break;
      continue;
    }
    if (requests.length >= requestsMax) {
      faults.add(line.number, `more than ${requestsMax} requests`);
      break;
    }
    const request = requestOf(value, faults, line.number);
    if (request === undefined) continue;
    if (ids.has(request.id)) faults.add(line.number, `id ${request.id} was used before`);
    if (request.arrival < last) faults.add(line.number, `arrivalUs ${request.arrival} is before ${last}`);
    if (ids.size === 0 && request.arrival !== 0 && faults.count === 0) {
      faults.add(line.number, 'the earliest arrivalUs is not 0');
    }
    ids.add(request.id);
    last = Math.max(last, request.arrival);
    if (faults.count === before) requests.push(request);
  }
  if (header !== undefined && faults.count === 0 && header.requests !== requests.length) {
    faults.add(1, `the header says ${header.requests} requests, the file has ${requests.length}`);
  }
  if (header === undefined && faults.count === 0) faults.add(1, 'the file is empty');
  if (header === undefined || faults.count > 0) {
    throw new SfsdError('SFSD_ERR_TRACE_INVALID', { file, reason: faults.text() });
  }
  return { header, requests };
}

function parsed(text: string, faults: FaultList, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    faults.add(line, `not JSON: ${reasonOf(thrown)}`);
    return undefined;
  }
}
