/**
 * The ring on which the control plane hands work to the scheduling plane: one writer, one reader, one SharedArrayBuffer.
 *
 *   control (Int32): [ head | tail | asleep | - ]      head: bytes read, tail: bytes written, both modulo 2^32
 *   data (bytes):    [ record | record | ... | skip ]  capacity a power of two; a record never wraps, a skip fills the end
 *
 *   record: i32 size, i32 type, f64 key, then by type
 *     submit, begin  f64 arrivedAt, f64 expected | -1, f64 weight | -1, f64 sliceMax | -1, i32 policy | -1, i32 kind, i32 pid, i32 tids,
 *                    i32 bytes of startTime or path, i32 bytes of functionName, tids (i32 each), the two texts (UTF-8)
 *     end            i32 reason
 *     workers        key holds the count
 *     stop           -
 *
 * Protocol: 1. the writer fills the record, then publishes it with one store of tail. 2. The reader, before it sleeps, stores
 * asleep = 1 and looks at tail once more. 3. The writer, after publishing, asks the caller to ring (eventfd) only when asleep was 1.
 * Rejected: postMessage (allocates, and its delivery needs the reader's event loop, which the scheduling thread has left).
 */
import {
  type EndReason,
  type InvocationKey,
  invocationKey,
  type PolicyName,
  policyNames,
  type Submission,
} from '../../contracts/invocation.js';
import { endReasons } from '../../contracts/scheduler.js';
import type { TaskGroup } from '../../contracts/task-group.js';
import { duration, instant } from '../../contracts/time.js';

const controlBytes = 64;
const headIndex = 0;
const tailIndex = 1;
const asleepIndex = 2;

const typeSkip = 0;
const typeSubmit = 1;
const typeBegin = 2;
const typeEnd = 3;
const typeWorkers = 4;
const typeStop = 5;

const headerBytes = 16;
const doublesBytes = 32;
const submitBytes = headerBytes + doublesBytes + 24;
const groupKinds: readonly TaskGroup['kind'][] = ['process', 'threads', 'cgroup'];

export type Message =
  | { readonly type: 'submit' | 'begin'; readonly submission: Submission }
  | { readonly type: 'end'; readonly key: InvocationKey; readonly reason: EndReason }
  | { readonly type: 'workers'; readonly count: number }
  | { readonly type: 'stop' };

/** @param capacityBytes a power of two. */
export function allocateSubmissionRing(capacityBytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + capacityBytes);
}

class Views {
  readonly control: Int32Array;
  readonly ints: Int32Array;
  readonly doubles: Float64Array;
  readonly bytes: Buffer;
  readonly capacity: number;
  readonly mask: number;

  constructor(shared: SharedArrayBuffer) {
    this.control = new Int32Array(shared, 0, controlBytes / 4);
    this.ints = new Int32Array(shared, controlBytes);
    this.doubles = new Float64Array(shared, controlBytes);
    this.bytes = Buffer.from(shared, controlBytes);
    this.capacity = shared.byteLength - controlBytes;
    this.mask = this.capacity - 1;
  }
}

export class SubmissionWriter {
  readonly #views: Views;
  #tail: number;

  constructor(shared: SharedArrayBuffer) {
    this.#views = new Views(shared);
    this.#tail = Atomics.load(this.#views.control, tailIndex) >>> 0;
  }

  /** Bytes that can be written now, at least. */
  get free(): number {
    const head = Atomics.load(this.#views.control, headIndex) >>> 0;
    return this.#views.capacity - ((this.#tail - head) >>> 0);
  }

  /** 'full' leaves nothing behind; 'ring': the reader sleeps and must be woken. */
  submit(type: 'submit' | 'begin', submission: Submission): 'ok' | 'ring' | 'full' {
    const { group } = submission;
    const text = group.kind === 'cgroup' ? group.path : group.startTime;
    const textBytes = Buffer.byteLength(text);
    const nameBytes = Buffer.byteLength(submission.functionName);
    const tids = group.kind === 'threads' ? group.tids : [];
    const size = aligned(submitBytes + tids.length * 4 + textBytes + nameBytes);
    const at = this.#claim(size, type === 'submit' ? typeSubmit : typeBegin, submission.key);
    if (at < 0) return 'full';
    const { ints, doubles, bytes } = this.#views;
    const double = (at + headerBytes) >> 3;
    doubles[double] = submission.arrivedAt;
    doubles[double + 1] = submission.expected ?? -1;
    doubles[double + 2] = submission.weight ?? -1;
    doubles[double + 3] = submission.sliceMax ?? -1;
    const int = (at + headerBytes + doublesBytes) >> 2;
    ints[int] = submission.policy === undefined ? -1 : policyNames.indexOf(submission.policy);
    ints[int + 1] = groupKinds.indexOf(group.kind);
    ints[int + 2] = group.kind === 'cgroup' ? 0 : group.pid;
    ints[int + 3] = tids.length;
    ints[int + 4] = textBytes;
    ints[int + 5] = nameBytes;
    for (let index = 0; index < tids.length; index += 1) ints[int + 6 + index] = tids[index] ?? 0;
    const texts = at + submitBytes + tids.length * 4;
    bytes.write(text, texts, textBytes, 'utf8');
    bytes.write(submission.functionName, texts + textBytes, nameBytes, 'utf8');
    return this.#publish(size);
  }

  end(key: InvocationKey, reason: EndReason): 'ok' | 'ring' | 'full' {
    const size = headerBytes + 8;
    const at = this.#claim(size, typeEnd, key);
    if (at < 0) return 'full';
    this.#views.ints[(at + headerBytes) >> 2] = endReasons.indexOf(reason);
    return this.#publish(size);
  }

  setWorkers(count: number): 'ok' | 'ring' | 'full' {
    return this.#claim(headerBytes, typeWorkers, count) < 0 ? 'full' : this.#publish(headerBytes);
  }

  stop(): 'ok' | 'ring' | 'full' {
    return this.#claim(headerBytes, typeStop, 0) < 0 ? 'full' : this.#publish(headerBytes);
  }

  /** Offset of a record of `size` bytes with its header written, or -1 when the ring is full. */
  #claim(size: number, type: number, key: number): number {
    const { capacity, mask, ints, doubles } = this.#views;
    let at = this.#tail & mask;
    const toEnd = capacity - at;
    const needed = toEnd < size ? toEnd + size : size;
    if (needed > this.free) return -1;
    if (toEnd < size) {
      ints[at >> 2] = toEnd;
      ints[(at >> 2) + 1] = typeSkip;
      this.#tail = (this.#tail + toEnd) >>> 0;
      at = 0;
    }
    ints[at >> 2] = size;
    ints[(at >> 2) + 1] = type;
    doubles[(at >> 3) + 1] = key;
    return at;
  }

  #publish(size: number): 'ok' | 'ring' {
    this.#tail = (this.#tail + size) >>> 0;
    Atomics.store(this.#views.control, tailIndex, this.#tail | 0);
    return Atomics.exchange(this.#views.control, asleepIndex, 0) === 1 ? 'ring' : 'ok';
  }
}

export class SubmissionReader {
  readonly #views: Views;

  constructor(shared: SharedArrayBuffer) {
    this.#views = new Views(shared);
  }

  /** Says that the reader is about to sleep. False: something came in meanwhile; do not sleep. */
  fallAsleep(): boolean {
    const { control } = this.#views;
    Atomics.store(control, asleepIndex, 1);
    if (Atomics.load(control, tailIndex) === Atomics.load(control, headIndex)) return true;
    Atomics.store(control, asleepIndex, 0);
    return false;
  }

  wakeUp(): void {
    Atomics.store(this.#views.control, asleepIndex, 0);
  }

  /** The next message, or undefined when the ring is empty. */
  next(): Message | undefined {
    const { control, ints, doubles, mask } = this.#views;
    for (;;) {
      const head = Atomics.load(control, headIndex);
      if (head === Atomics.load(control, tailIndex)) return undefined;
      const at = (head >>> 0) & mask;
      const size = ints[at >> 2] ?? 0;
      const type = ints[(at >> 2) + 1] ?? typeSkip;
      const key = type === typeSkip ? 0 : (doubles[(at >> 3) + 1] ?? 0);
      const message = this.#decode({ at, type, key });
      Atomics.store(control, headIndex, (head + size) | 0);
      if (message !== undefined) return message;
    }
  }

  #decode({ at, type, key }: { at: number; type: number; key: number }): Message | undefined {
    switch (type) {
      case typeSubmit:
        return { type: 'submit', submission: this.#submission(at, key) };
      case typeBegin:
        return { type: 'begin', submission: this.#submission(at, key) };
      case typeEnd: {
        const reason = endReasons[this.#views.ints[(at + headerBytes) >> 2] ?? 0] ?? 'cancelled';
        return { type: 'end', key: invocationKey(key), reason };
      }
      case typeWorkers:
        return { type: 'workers', count: key };
      case typeStop:
        return { type: 'stop' };
      default:
        return undefined;
    }
  }

  #submission(at: number, key: number): Submission {
    const { ints, doubles, bytes } = this.#views;
    const double = (at + headerBytes) >> 3;
    const expected = doubles[double + 1] ?? -1;
    const weight = doubles[double + 2] ?? -1;
    const sliceMax = doubles[double + 3] ?? -1;
    const int = (at + headerBytes + doublesBytes) >> 2;
    const policy: PolicyName | undefined = policyNames[ints[int] ?? -1];
    const tidCount = ints[int + 3] ?? 0;
    const texts = at + submitBytes + tidCount * 4;
    const textEnd = texts + (ints[int + 4] ?? 0);
    const text = bytes.toString('utf8', texts, textEnd);
    const group = groupOf({
      kind: groupKinds[ints[int + 1] ?? 0] ?? 'process',
      pid: ints[int + 2] ?? 0,
      text,
      tids: tidCount === 0 ? [] : Array.from(ints.subarray(int + 6, int + 6 + tidCount)),
    });
    return {
      key: invocationKey(key),
      functionName: bytes.toString('utf8', textEnd, textEnd + (ints[int + 5] ?? 0)),
      group,
      arrivedAt: instant(doubles[double] ?? 0),
      ...(policy === undefined ? {} : { policy }),
      ...(weight < 0 ? {} : { weight }),
      ...(expected < 0 ? {} : { expected: duration(expected) }),
      ...(sliceMax < 0 ? {} : { sliceMax: duration(sliceMax) }),
    };
  }
}

function groupOf(parts: {
  kind: TaskGroup['kind'];
  pid: number;
  text: string;
  tids: readonly number[];
}): TaskGroup {
  switch (parts.kind) {
    case 'process':
      return { kind: 'process', pid: parts.pid, startTime: parts.text };
    case 'threads':
      return { kind: 'threads', pid: parts.pid, startTime: parts.text, tids: parts.tids };
    case 'cgroup':
      return { kind: 'cgroup', path: parts.text };
  }
}

function aligned(size: number): number {
  return (size + 7) & ~7;
}
