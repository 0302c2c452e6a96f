/**
 * Lines out of a stream of bytes. A line is whole bytes up to `\n`; a longer one than allowed is an error, whatever follows.
 *
 *   partial  chunks without an end of line, not copied until the line is whole
 *   rest     bytes that have not been looked at
 */
const newline = 0x0a;
const nothing = Buffer.alloc(0);

export class LineSplitter {
  readonly #lineBytesMax: number;
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #rest: Buffer = nothing;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** To be taken out by `next` before more is put in, or at least most of it: what is left is copied. */
  put(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
  }

  /** Without its end of line; undefined: none is whole yet. */
  next(): Buffer | 'too-long' | undefined {
    const end = this.#rest.indexOf(newline);
    const taken = end < 0 ? this.#rest : this.#rest.subarray(0, end);
    if (this.#partialBytes + taken.length > this.#lineBytesMax) return 'too-long';
    if (end < 0) {
      if (taken.length > 0) this.#partial.push(taken);
      this.#partialBytes += taken.length;
      this.#rest = nothing;
      return undefined;
    }
    const line = this.#partial.length === 0 ? taken : Buffer.concat([...this.#partial, taken]);
    this.#partial = [];
    this.#partialBytes = 0;
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }
}
