/**
 * The kernel calls through ffi-napi and ref-napi, for hosts that already run them; koffi-libc.ts is the default. Both packages are
 * optional peers: where they are missing or do not load, the reason is a value.
 *
 *   words   [ argument 0 | argument 1 | ... ]     64 bits each, written here as two halves: no BigInts, no rounding
 *   list    [ &words[0]  | &words[1]  | ... ]     what ffi_call(3) takes; made once for each function
 *   result  [ 64 bits ]
 *
 * ffi-napi's own way of calling (`ForeignFunction`) allocates a buffer for the result, one for the list and one for each argument
 * in every call, about 20 us; `errno()` is such a call itself, and what it allocates may change errno before it is read. The two native
 * functions beneath are called here instead, over memory that is kept, and errno is read from where the C library has it.
 *
 * An instance belongs to the thread that loaded it, because errno does.
 */
import { createRequire } from 'node:module';
import { reasonOf } from '../contracts/errors.js';
import type { Libc } from './libc.js';
import {
  type Binding,
  type CType,
  libcOver,
  type Machine,
  type MessageParts,
  machineOf,
} from './libc-calls.js';

/** The parts of ref-napi that are used. */
interface Ref {
  address(buffer: Buffer): number;
  readPointer(buffer: Buffer, offset: number, length: number): Buffer;
}

/** The parts of ffi-napi that are used. */
interface Ffi {
  readonly DynamicLibrary: new (path: null) => { get(symbol: string): Buffer };
  CIF(result: string, parameters: readonly string[]): Buffer;
}

/** ffi-napi's native part. The package has not changed since 2021 and the peer is pinned, so its inner file can be relied upon. */
interface Native {
  ffi_call(cif: Buffer, symbol: Buffer, result: Buffer, list: Buffer): void;
}

interface Packages {
  readonly ref: Ref;
  readonly ffi: Ffi;
  readonly native: Native;
}

const typeNames: Readonly<Record<CType, string>> = {
  int: 'int',
  uint32_t: 'uint32',
  int64_t: 'int64',
  size_t: 'size_t',
  'void *': 'pointer',
  str: 'pointer',
};
const wordBytes = 8;
const half = 2 ** 32;
/** PATH_MAX: the kernel refuses a longer text, and is given one byte more so that it does. */
const textBytesMax = 4096;

/** @param from file from which the packages are looked for; this one by default. */
export function loadFfiNapiLibc(
  from: string = import.meta.url,
): { readonly ok: true; readonly libc: Libc } | { readonly ok: false; readonly reason: string } {
  const machine = machineOf();
  if (typeof machine !== 'string') return { ok: false, reason: machine.reason };
  try {
    const load = createRequire(from);
    const packages: Packages = {
      ref: load('ref-napi') as Ref,
      ffi: load('ffi-napi') as Ffi,
      native: load('ffi-napi/lib/bindings') as Native,
    };
    return { ok: true, libc: libcOver('ffi-napi', bind(packages, machine)) };
  } catch (thrown) {
    // What cannot be found is followed by a list of who asked for it.
    const [reason = ''] = reasonOf(thrown).split('\n');
    return { ok: false, reason: `ffi-napi cannot be loaded: ${reason}` };
  }
}

function bind({ ref, ffi, native }: Packages, machine: Machine): Binding {
  const library = new ffi.DynamicLibrary(null);
  const addresses = new Addresses(ref);
  const declare: Binding['declare'] = (name, parameters, result = 'int') => {
    const symbol = library.get(name);
    const frame = new Frame(parameters, addresses);
    const cif = ffi.CIF(
      typeNames[result],
      parameters.map((type) => typeNames[type]),
    );
    return (...values) => {
      frame.write(values);
      native.ffi_call(cif, symbol, frame.result, frame.list);
      return result === 'int' ? frame.int() : frame.int64();
    };
  };
  const sendmsg = declare('sendmsg', ['int', 'void *', 'int'], 'int64_t');
  const message = new MessageHeader(addresses);
  return {
    declare,
    errno: errnoOf({ ref, native, ffi }, library.get('__errno_location')),
    sendmsg: (socket, parts) => sendmsg(socket, message.of(parts), parts.flags),
    view: (address, length) => {
      const pointer = new Uint32Array(2);
      put(pointer, 0, address);
      return ref.readPointer(Buffer.from(pointer.buffer), 0, length);
    },
    machine,
  };
}

/** glibc and musl both answer `int *__errno_location(void)` with this thread's errno. */
function errnoOf({ ref, native, ffi }: Packages, symbol: Buffer): () => number {
  const result = Buffer.from(new ArrayBuffer(wordBytes));
  native.ffi_call(ffi.CIF('pointer', []), symbol, result, Buffer.from(new ArrayBuffer(wordBytes)));
  const place = ref.readPointer(result, 0, Int32Array.BYTES_PER_ELEMENT);
  return () => place.readInt32LE(0);
}

/**
 * Where the memory of typed arrays lies. To ask for `buffer` takes a small array's memory out of V8's heap, and from then on it does not
 * move; an address is forgotten with its array.
 */
class Addresses {
  readonly #known = new WeakMap<ArrayBufferView, number>();
  readonly #ref: Ref;

  constructor(ref: Ref) {
    this.#ref = ref;
  }

  of(view: ArrayBufferView): number {
    const known = this.#known.get(view);
    if (known !== undefined) return known;
    const address = this.#ref.address(Buffer.from(view.buffer, view.byteOffset, view.byteLength));
    this.#known.set(view, address);
    return address;
  }
}

/** The memory of one function's calls, used by every call in turn: none of them calls back. */
class Frame {
  readonly list: Buffer;
  readonly result: Buffer;
  readonly #parameters: readonly CType[];
  readonly #addresses: Addresses;
  readonly #words: Uint32Array;
  readonly #resultWords: Int32Array;
  readonly #text: Buffer;

  constructor(parameters: readonly CType[], addresses: Addresses) {
    const count = parameters.length;
    this.#parameters = parameters;
    this.#addresses = addresses;
    this.#words = new Uint32Array(2 * Math.max(1, count));
    this.#resultWords = new Int32Array(2);
    this.result = Buffer.from(this.#resultWords.buffer);
    this.#text = Buffer.from(new ArrayBuffer(parameters.includes('str') ? textBytesMax + 1 : 0));
    const list = new Uint32Array(2 * Math.max(1, count));
    const first = addresses.of(this.#words);
    for (let index = 0; index < count; index += 1) put(list, index, first + wordBytes * index);
    this.list = Buffer.from(list.buffer);
  }

  write(values: readonly unknown[]): void {
    for (let index = 0; index < this.#parameters.length; index += 1) {
      const value = values[index];
      if (typeof value === 'number') put(this.#words, index, value);
      else if (typeof value === 'string') put(this.#words, index, this.#written(value));
      else if (value === null) put(this.#words, index, 0);
      else put(this.#words, index, this.#addresses.of(value as ArrayBufferView));
    }
  }

  int(): number {
    return this.#resultWords[0] ?? 0;
  }

  int64(): number {
    return ((this.#resultWords[0] ?? 0) >>> 0) + (this.#resultWords[1] ?? 0) * half;
  }

  #written(text: string): number {
    const bytes = this.#text.write(text, 0, textBytesMax);
    this.#text[bytes] = 0;
    return this.#addresses.of(this.#text);
  }
}

/** A typed array takes a number modulo 2^32, also a negative one: the two halves are its two's complement. */
function put(words: Uint32Array, index: number, value: number): void {
  words[2 * index] = value;
  words[2 * index + 1] = Math.floor(value / half);
}

/** struct msghdr with one struct iovec: name, its length; vectors, their count; control, its length; flags. 64 bits each. */
class MessageHeader {
  readonly #addresses: Addresses;
  readonly #vector = new Uint32Array(2 * 2);
  readonly #words = new Uint32Array(2 * 7);

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  of({ bytes, byteCount, control, controlLength }: MessageParts): Uint32Array {
    put(this.#vector, 0, this.#addresses.of(bytes));
    put(this.#vector, 1, byteCount);
    put(this.#words, 2, this.#addresses.of(this.#vector));
    put(this.#words, 3, 1);
    put(this.#words, 4, controlLength === 0 ? 0 : this.#addresses.of(control));
    put(this.#words, 5, controlLength);
    return this.#words;
  }
}
