/**
 * One parsed JSON value to a header or a request, with every wrong field named. Unknown fields are refused: a misspelt optional
 * field would otherwise be lost in silence.
 */
import { type Duration, duration } from '../../contracts/time.js';
import {
  applications,
  gapKinds,
  type Sleep,
  type WorkloadHeader,
  type WorkloadRequest,
} from '../workload/workload.js';
import type { FaultList } from './fault-list.js';
import type { ValidationReport } from './report.js';

/** A request that sleeps more often is not a function but a poll loop. */
export const sleepsMax = 64;
const nameLengthMax = 128;

/** Reads fields of one object and names what is wrong. */
class Fields {
  readonly #record: Readonly<Record<string, unknown>>;
  readonly #faults: FaultList;
  readonly #line: number;
  readonly #before: number;
  readonly #known = new Set<string>();

  constructor(value: unknown, faults: FaultList, line: number) {
    this.#faults = faults;
    this.#line = line;
    this.#before = faults.count;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject) faults.add(line, 'not a JSON object');
    this.#record = isObject ? (value as Record<string, unknown>) : {};
  }

  get sound(): boolean {
    return this.#faults.count === this.#before;
  }

  fault(text: string): void {
    this.#faults.add(this.#line, text);
  }

  raw(name: string): unknown {
    this.#known.add(name);
    return Object.hasOwn(this.#record, name) ? this.#record[name] : undefined;
  }

  text(name: string, lengthMax: number): string {
    const value = this.raw(name);
    if (typeof value === 'string' && value.length >= 1 && value.length <= lengthMax) return value;
    this.fault(`${name} is not text of 1 to ${lengthMax} characters`);
    return '';
  }

  number(name: string, min: number): number {
    const value = this.raw(name);
    if (typeof value === 'number' && Number.isFinite(value) && value >= min) return value;
    this.fault(`${name} is not a number of at least ${min}`);
    return min;
  }

  integer(name: string, min: number): number {
    const value = this.raw(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
    this.fault(`${name} is not an integer of at least ${min}`);
    return min;
  }

  time(name: string, min: number): Duration {
    return duration(this.integer(name, min));
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word {
    const value = this.raw(name);
    const word = words.find((known) => known === value);
    if (word === undefined) this.fault(`${name} is none of ${words.join(', ')}`);
    return word ?? (words[0] as Word);
  }

  /** Call last: everything that nobody asked for is a fault. */
  refuseUnknown(): void {
    if (!this.sound) return;
    for (const name of Object.keys(this.#record)) {
      if (!this.#known.has(name)) this.fault(`unknown field ${JSON.stringify(name.slice(0, 64))}`);
    }
  }
}

export function headerOf(value: unknown, faults: FaultList): WorkloadHeader | undefined {
  const fields = new Fields(value, faults, 1);
  fields.oneOf('format', ['sfsd-workload']);
  if (fields.raw('version') !== 1) fields.fault('version is not 1');
  const validation = fields.raw('validation');
  if (validation !== undefined && (typeof validation !== 'object' || validation === null)) {
    fields.fault('validation is not an object');
  }
  const header: WorkloadHeader = {
    format: 'sfsd-workload',
    version: 1,
    requests: fields.integer('requests', 1),
    seed: fields.integer('seed', 0),
    source: fields.text('source', 4096),
    gaps: fields.oneOf('gaps', gapKinds),
    durationScale: fields.number('durationScale', Number.MIN_VALUE),
    cores: fields.integer('cores', 1),
    loadTarget: fields.number('loadTarget', 0),
    loadRealised: fields.number('loadRealised', 0),
    gapCv: fields.number('gapCv', 0),
    demandMean: fields.time('demandMeanUs', 1),
    shortBelow: fields.time('shortBelowUs', 1),
    ...(validation === undefined ? {} : { validation: validation as ValidationReport }),
  };
  fields.refuseUnknown();
  return fields.sound ? header : undefined;
}

export function requestOf(value: unknown, faults: FaultList, line: number): WorkloadRequest | undefined {
  const fields = new Fields(value, faults, line);
  const demand = fields.time('demandUs', 1);
  const request: WorkloadRequest = {
    id: fields.text('id', nameLengthMax),
    functionName: fields.text('functionName', nameLengthMax),
    application: fields.oneOf('application', applications),
    arrival: fields.time('arrivalUs', 0),
    demand,
    sleeps: sleepsOf(fields, faults, { line, demand }),
  };
  fields.refuseUnknown();
  return fields.sound ? request : undefined;
}

function sleepsOf(
  fields: Fields,
  faults: FaultList,
  { line, demand }: { readonly line: number; readonly demand: Duration },
): readonly Sleep[] {
  const list = fields.raw('sleeps');
  if (list === undefined) return [];
  if (!Array.isArray(list) || list.length > sleepsMax) {
    fields.fault(`sleeps is not a list of at most ${sleepsMax}`);
    return [];
  }
  let last = 0;
  return list.map((entry: unknown) => {
    const parts = new Fields(entry, faults, line);
    const sleep = { at: parts.time('atUs', 0), length: parts.time('lengthUs', 1) };
    parts.refuseUnknown();
    if (sleep.at < last || sleep.at >= demand) {
      parts.fault(`sleep atUs ${sleep.at} is not in order or not below the demand`);
    }
    last = sleep.at;
    return sleep;
  });
}
