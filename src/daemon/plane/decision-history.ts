/**
 * What was decided about each invocation that is remembered, outside of the garbage collector's heap.
 *
 *   records (f64 x 8): [ kind | at | worker | cpuTime | value | extra | next | - ]
 *   a chain:           first ─▶ next ─▶ ... ─▶ last       one for each invocation, its ends kept by the invocation's entry
 *   free records:      a chain too; records that were never used come after those given back
 *
 * Rejected: an array of objects for each invocation. At 1,000 invocations a second they were 1 MB a second that is young and lives on,
 * which a scavenge copies: 8 to 11 ms in which no request was answered. Half of that was first touches of fresh pages.
 */
import type { InvocationKey } from '../../contracts/invocation.js';
import { type Decision, type DecisionKind, decisionKinds } from '../../contracts/scheduler.js';
import { duration, instant } from '../../contracts/time.js';

/** A life that blocks and wakes forever must not grow without bound: the first and the last decisions are kept. */
export const decisionsPerInvocationMax = 128;
const keptFromTheStart = decisionsPerInvocationMax / 2;

const fields = 8;
const nextField = 6;
const none = -1;

/** The ends of an invocation's chain, as numbers of records; `none` when it is empty. */
export interface DecisionChain {
  first: number;
  last: number;
  /** The last of those that are kept from the start, once there are so many. */
  middle: number;
  length: number;
}

export class EmptyChain implements DecisionChain {
  first = none;
  last = none;
  middle = none;
  length = 0;
}

export class DecisionHistory {
  readonly #records: Float64Array;
  readonly #recordsMax: number;
  readonly #kindCodes: ReadonlyMap<DecisionKind, number> = new Map(
    decisionKinds.map((kind, code) => [kind, code]),
  );
  #firstFree = none;
  #neverUsed = 0;

  constructor(options: { readonly recordsMax: number }) {
    this.#recordsMax = options.recordsMax;
    this.#records = new Float64Array(options.recordsMax * fields);
  }

  /**
   * Adds a decision at the chain's end; of a chain that is as long as may be, one in the middle goes.
   * @returns 'full' when no record is free: nothing has changed.
   */
  append(chain: DecisionChain, decision: Decision): 'ok' | 'dropped' | 'full' {
    const dropped = chain.length === decisionsPerInvocationMax;
    if (dropped) this.#dropAfter(chain, chain.middle);
    const record = this.#take();
    if (record === none) return 'full';
    this.#write(record, decision);
    if (chain.length === 0) chain.first = record;
    else this.#setNext(chain.last, record);
    chain.last = record;
    chain.length += 1;
    if (chain.length === keptFromTheStart) chain.middle = record;
    return dropped ? 'dropped' : 'ok';
  }

  /** Oldest first. */
  list(chain: DecisionChain, key: InvocationKey): Decision[] {
    const decisions: Decision[] = [];
    let record = chain.first;
    for (let count = 0; count < chain.length; count += 1) {
      decisions.push(this.#read(record, key));
      record = this.#next(record);
    }
    return decisions;
  }

  /** Gives all its records back; the chain is empty afterwards. */
  release(chain: DecisionChain): void {
    if (chain.length === 0) return;
    this.#setNext(chain.last, this.#firstFree);
    this.#firstFree = chain.first;
    chain.first = none;
    chain.last = none;
    chain.middle = none;
    chain.length = 0;
  }

  #take(): number {
    const given = this.#firstFree;
    if (given !== none) {
      this.#firstFree = this.#next(given);
      return given;
    }
    if (this.#neverUsed === this.#recordsMax) return none;
    this.#neverUsed += 1;
    return this.#neverUsed - 1;
  }

  #dropAfter(chain: DecisionChain, record: number): void {
    const dropped = this.#next(record);
    this.#setNext(record, this.#next(dropped));
    this.#setNext(dropped, this.#firstFree);
    this.#firstFree = dropped;
    chain.length -= 1;
  }

  #write(record: number, { kind, at, worker, cpuTime, value, extra }: Decision): void {
    const records = this.#records;
    const base = record * fields;
    records[base] = this.#kindCodes.get(kind) ?? 0;
    records[base + 1] = at;
    records[base + 2] = worker;
    records[base + 3] = cpuTime;
    records[base + 4] = value;
    records[base + 5] = extra;
    records[base + nextField] = none;
  }

  #read(record: number, key: InvocationKey): Decision {
    const records = this.#records;
    const base = record * fields;
    return {
      kind: decisionKinds[records[base] ?? 0] ?? 'arrived',
      at: instant(records[base + 1] ?? 0),
      key,
      worker: records[base + 2] ?? -1,
      cpuTime: duration(records[base + 3] ?? 0),
      value: records[base + 4] ?? 0,
      extra: records[base + 5] ?? 0,
    };
  }

  /** A small integer, so that a chain that keeps it needs no boxed number. */
  #next(record: number): number {
    return (this.#records[record * fields + nextField] ?? none) | 0;
  }

  #setNext(record: number, next: number): void {
    this.#records[record * fields + nextField] = next;
  }
}
