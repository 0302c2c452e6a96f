/**
 * The ring on which the scheduling plane tells the control plane what it decided: one writer, one reader, fixed records.
 *
 *   control (Int32): [ head | tail | lost | - ]   in records, modulo 2^32
 *   records (f64 x 8): [ kind | at | key | worker | cpuTime | value | extra | - ]
 *
 * The writer never waits: when the reader is behind by half the ring, a record is dropped and counted, because a log must not
 * delay a decision. The other half is kept for `ended`, which gives a place back and must not be lost: with at least
 * 2 x liveMax records there is always room, since a place is only taken again after its `ended` was read.
 */
import { type InvocationKey, invocationKey } from '../../contracts/invocation.js';
import {
  type Decision,
  type DecisionKind,
  type DecisionLog,
  decisionKinds,
} from '../../contracts/scheduler.js';
import { type Duration, duration, type Instant, instant, noTime } from '../../contracts/time.js';

const controlBytes = 64;
const headIndex = 0;
const tailIndex = 1;
const lostIndex = 2;
const fields = 8;

/** @param records a power of two. */
export function allocateDecisionRing(records: number): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + records * fields * 8);
}

export class DecisionWriter implements DecisionLog {
  readonly #control: Int32Array;
  readonly #records: Float64Array;
  readonly #mask: number;
  readonly #kindCodes: ReadonlyMap<DecisionKind, number> = new Map(
    decisionKinds.map((kind, code) => [kind, code]),
  );
  #tail = 0;

  constructor(shared: SharedArrayBuffer) {
    this.#control = new Int32Array(shared, 0, controlBytes / 4);
    this.#records = new Float64Array(shared, controlBytes);
    this.#mask = this.#records.length / fields - 1;
  }

  record(
    kind: DecisionKind,
    at: Instant,
    key: InvocationKey,
    worker: number,
    cpuTime: Duration,
    value: number,
    extra: number,
  ): void {
    const head = Atomics.load(this.#control, headIndex) >>> 0;
    const used = (this.#tail - head) >>> 0;
    if (used > (kind === 'ended' ? this.#mask : this.#mask >>> 1)) {
      Atomics.add(this.#control, lostIndex, 1);
      return;
    }
    const records = this.#records;
    const base = (this.#tail & this.#mask) * fields;
    records[base] = this.#kindCodes.get(kind) ?? 0;
    records[base + 1] = at;
    records[base + 2] = key;
    records[base + 3] = worker;
    records[base + 4] = cpuTime;
    records[base + 5] = value;
    records[base + 6] = extra;
    this.#tail = (this.#tail + 1) >>> 0;
    Atomics.store(this.#control, tailIndex, this.#tail | 0);
  }
}

export class DecisionReader {
  readonly #control: Int32Array;
  readonly #records: Float64Array;
  readonly #mask: number;
  readonly #current: { -readonly [Field in keyof Decision]: Decision[Field] } = {
    kind: 'arrived',
    at: instant(0),
    key: invocationKey(0),
    worker: -1,
    cpuTime: noTime,
    value: 0,
    extra: 0,
  };

  constructor(shared: SharedArrayBuffer) {
    this.#control = new Int32Array(shared, 0, controlBytes / 4);
    this.#records = new Float64Array(shared, controlBytes);
    this.#mask = this.#records.length / fields - 1;
  }

  /** Records dropped since the start. */
  get lost(): number {
    return Atomics.load(this.#control, lostIndex);
  }

  /** The next one: always the same object, which holds until the next call. */
  next(): Decision | undefined {
    const head = Atomics.load(this.#control, headIndex);
    if (head === Atomics.load(this.#control, tailIndex)) return undefined;
    const records = this.#records;
    const base = ((head >>> 0) & this.#mask) * fields;
    const current = this.#current;
    current.kind = decisionKinds[records[base] ?? 0] ?? 'arrived';
    current.at = instant(records[base + 1] ?? 0);
    current.key = invocationKey(records[base + 2] ?? 0);
    current.worker = records[base + 3] ?? -1;
    current.cpuTime = duration(records[base + 4] ?? 0);
    current.value = records[base + 5] ?? 0;
    current.extra = records[base + 6] ?? 0;
    Atomics.store(this.#control, headIndex, (head + 1) | 0);
    return current;
  }
}
