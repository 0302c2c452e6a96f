/**
 * Our end of a program's output.
 *
 *   silent ──look: something is there──▶ streamed by Node's loop ──▶ closed
 *      └──look, drain: end of file ──▶ closed
 *      └──drain: nothing yet, or too much ──▶ streamed
 *
 * A stream object costs more than all else in a launch. Most programs end within milliseconds and say less than a pipe holds
 * (64 KiB): theirs is read once they have ended, by a few plain reads. Until then output-watch.ts looks at it.
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Libc } from '../linux/libc.js';
import type { Output } from './output.js';
import type { OutputWatch, SilentOutput } from './output-watch.js';

/** Plain reads in one drain; a pipe holds one buffer full, so more means that somebody still writes. */
const drainReadsMax = 4;

export interface OutputPipeOptions {
  readonly libc: Libc;
  /** Non-blocking; taken over. */
  readonly fd: number;
  readonly output: Output;
  readonly watch: OutputWatch;
  /** Shared by all pipes: what is read is copied out before the next read. */
  readonly readBuffer: Uint8Array;
  /** A streamed pipe has ended. */
  readonly onClosed: () => void;
}

export class OutputPipe implements SilentOutput {
  readonly #options: OutputPipeOptions;
  #socket: Socket | undefined;
  #closed = false;

  constructor(options: OutputPipeOptions) {
    this.#options = options;
    options.watch.add(this);
  }

  get fd(): number {
    return this.#options.fd;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** From here on it is read as it comes. */
  #stream(): void {
    const { fd, output, readBuffer, onClosed, watch } = this.#options;
    watch.forget(this);
    const onread: OnReadOpts = {
      buffer: readBuffer,
      callback: (length, bytes) => {
        output.add(bytes, length);
        return true;
      },
    };
    const options: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
      fd,
      readable: true,
      writable: false,
      onread,
    };
    this.#socket = new Socket(options);
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#closed = true;
      onClosed();
    });
  }

  /** One plain read: who has said something may say more, and is streamed from here on. */
  look(): 'silent' | 'over' {
    const { libc, fd, output, readBuffer } = this.#options;
    const length = libc.read(fd, readBuffer, readBuffer.length);
    if (length < 0) return 'silent';
    if (length === 0) {
      this.destroy();
      return 'over';
    }
    output.add(readBuffer, length);
    this.#stream();
    return 'over';
  }

  /** The program has ended: reads what is there. Closed then, or streamed because somebody else still holds the other end. */
  drain(): void {
    if (this.#closed || this.#socket !== undefined) return;
    const { libc, fd, output, readBuffer } = this.#options;
    for (let reads = 0; reads < drainReadsMax; reads++) {
      const length = libc.read(fd, readBuffer, readBuffer.length);
      if (length === 0) {
        this.destroy();
        return;
      }
      if (length < 0) break;
      output.add(readBuffer, length);
    }
    this.#stream();
  }

  destroy(): void {
    const { libc, fd, watch } = this.#options;
    if (this.#socket !== undefined) this.#socket.destroy();
    else if (!this.#closed) {
      watch.forget(this);
      libc.close(fd);
    }
    this.#closed = true;
  }
}
