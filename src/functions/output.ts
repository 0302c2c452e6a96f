/**
 * What a program writes, kept within a bound: the first bytes of standard output (a result is read from its start), the last of
 * standard error (a failure shows at its end). The rest is read and dropped, so that the program never blocks on us.
 */
import { Buffer } from 'node:buffer';

export interface Output {
  /** Copies what it keeps of the first `length` bytes: the buffer is used again. */
  add(bytes: Uint8Array, length: number): void;
  readonly bytes: Uint8Array;
  readonly truncated: boolean;
}

export class HeadOutput implements Output {
  readonly #max: number;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #truncated = false;

  constructor(max: number) {
    this.#max = max;
  }

  add(bytes: Uint8Array, length: number): void {
    const taken = Math.min(length, this.#max - this.#kept);
    if (taken > 0) this.#chunks.push(Buffer.from(bytes.subarray(0, taken)));
    this.#kept += taken;
    if (taken < length) this.#truncated = true;
  }

  get bytes(): Uint8Array {
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks, this.#kept);
  }

  get truncated(): boolean {
    return this.#truncated;
  }
}

/** Keeps between `max` and twice `max` bytes while it grows, and hands out the last `max`. */
export class TailOutput implements Output {
  readonly #max: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #truncated = false;

  constructor(max: number) {
    this.#max = max;
  }

  add(bytes: Uint8Array, length: number): void {
    this.#chunks.push(Buffer.from(bytes.subarray(Math.max(0, length - this.#max), length)));
    this.#kept += Math.min(length, this.#max);
    this.#truncated ||= length > this.#max;
    if (this.#kept > 2 * this.#max) this.#compact();
  }

  get bytes(): Uint8Array {
    this.#compact();
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  get truncated(): boolean {
    return this.#truncated || this.#kept > this.#max;
  }

  #compact(): void {
    if (this.#chunks.length === 0) return;
    const whole = Buffer.concat(this.#chunks, this.#kept);
    this.#truncated ||= whole.length > this.#max;
    const tail = whole.length > this.#max ? Buffer.from(whole.subarray(whole.length - this.#max)) : whole;
    this.#chunks = [tail];
    this.#kept = tail.length;
  }
}
