/**
 * Lines of a text file, one at a time: a real trace day is 46,412 rows of some 4 KB, so nothing reads a file whole.
 * A line ends at LF; a CR before it and a byte order mark at the file's start are stripped and told. Every line is bounded, so that
 * a file without line ends is refused instead of filling the memory.
 */
import { createReadStream } from 'node:fs';
import { reasonOf, SfsdError } from '../../contracts/errors.js';

export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  readonly carriageReturn: boolean;
  readonly byteOrderMark: boolean;
}

/** An Azure invocations row has 1,444 columns and stays below 16 KB; a workload's header with a long report stays below 256 KB. */
export const lineBytesMax = 1024 * 1024;

const chunkBytes = 256 * 1024;
const lineFeed = 10;

/** Throws SFSD_ERR_FILE when the file cannot be read, SFSD_ERR_TRACE_INVALID when a line is too long or is not UTF-8. */
export async function* readLines(file: string): AsyncGenerator<Line> {
  const splitter = new LineSplitter(file);
  const stream = createReadStream(file, { highWaterMark: chunkBytes });
  try {
    for await (const chunk of stream) yield* splitter.push(chunk as Buffer);
    yield* splitter.end();
  } catch (thrown) {
    if (thrown instanceof SfsdError) throw thrown;
    throw new SfsdError('SFSD_ERR_FILE', { file, reason: reasonOf(thrown) }, { cause: thrown });
  } finally {
    stream.destroy();
  }
}

/** The pure part: bytes in, lines out, wherever the chunks are cut. */
export class LineSplitter {
  readonly #file: string;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #number = 0;

  constructor(file: string) {
    this.#file = file;
  }

  *push(chunk: Buffer): Generator<Line> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(lineFeed, start);
      if (end === -1) break;
      this.#keep(chunk.subarray(start, end));
      yield this.#take();
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** The last line, when the file does not end in LF. */
  *end(): Generator<Line> {
    if (this.#pendingBytes > 0) yield this.#take();
  }

  #keep(part: Buffer): void {
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > lineBytesMax) this.#refuse(`is longer than ${lineBytesMax} bytes`);
    this.#pending.push(part);
  }

  #take(): Line {
    const [only] = this.#pending;
    const bytes = this.#pending.length === 1 && only !== undefined ? only : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    let text = this.#decode(bytes);
    this.#number += 1;
    const byteOrderMark = this.#number === 1 && text.startsWith('\uFEFF');
    if (byteOrderMark) text = text.slice(1);
    const carriageReturn = text.endsWith('\r');
    if (carriageReturn) text = text.slice(0, -1);
    return { number: this.#number, text, carriageReturn, byteOrderMark };
  }

  #decode(bytes: Buffer): string {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      this.#number += 1;
      return this.#fail('is not UTF-8 text');
    }
  }

  #refuse(reason: string): void {
    this.#number += 1;
    this.#fail(reason);
  }

  #fail(reason: string): never {
    throw new SfsdError('SFSD_ERR_TRACE_INVALID', {
      file: this.#file,
      reason: `line ${this.#number} ${reason}`,
    });
  }
}
