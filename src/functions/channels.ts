/**
 * The three pipes of an instance. The program's ends are handed to the spawner, which takes them over. Our ends are read when the
 * program has ended, or as it speaks once it was found speaking (output-pipe.ts).
 *
 * Most bodies are small, and an empty pipe takes PIPE_BUF bytes without blocking (pipe(7)): such a body is written before the
 * program exists, and the pipe closed. That saves a third stream object for each launch. No body at all is no pipe: the spawner has a
 * /dev/null for it.
 */
import { Socket } from 'node:net';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { Libc } from '../linux/libc.js';
import type { Output } from './output.js';
import { OutputPipe } from './output-pipe.js';
import type { OutputWatch } from './output-watch.js';

/** PIPE_BUF: the least that an empty pipe holds. */
const bodyAtOnceMaxBytes = 4096;
export type ProgramFds = readonly [number, number, number] | readonly [number, number];

export interface ChannelOptions {
  readonly libc: Libc;
  readonly body: Uint8Array;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly watch: OutputWatch;
  /** Shared by all channels: what is read is copied out before the next read. */
  readonly readBuffer: Uint8Array;
  readonly onClosed: () => void;
}

export class Channels {
  /** The program's ends: standard input, output, error; output and error alone when it has no input. Whoever calls this owns them. */
  readonly programFds: ProgramFds;
  readonly #outputs: OutputPipe[] = [];
  #input: Socket | undefined;

  /** Throws SFSD_ERR_KERNEL when descriptors run out, with nothing left open. */
  constructor(options: ChannelOptions) {
    const { libc, stdout, stderr } = options;
    const fds: number[] = [];
    try {
      const input = options.body.length === 0 ? undefined : this.#openInput(options, fds);
      const output = openPipe(libc, fds);
      const error = openPipe(libc, fds);
      this.#read(output.readEnd, stdout, options, fds);
      this.#read(error.readEnd, stderr, options, fds);
      const outputs = [output.writeEnd, error.writeEnd] as const;
      this.programFds = input === undefined ? outputs : [input, ...outputs];
    } catch (thrown) {
      for (const fd of fds) libc.close(fd);
      this.destroy();
      throw thrown instanceof SfsdError
        ? thrown
        : new SfsdError('SFSD_ERR_KERNEL', { call: 'pipe', reason: reasonOf(thrown) }, { cause: thrown });
    }
  }

  /** Whether both outputs have ended. */
  get closed(): boolean {
    return this.#outputs.every((output) => output.closed);
  }

  /** Ends our side, whatever still holds the other. */
  destroy(): void {
    this.#input?.destroy();
    for (const output of this.#outputs) output.destroy();
  }

  /** The program has ended: reads what is left. */
  drain(): void {
    for (const output of this.#outputs) output.drain();
  }

  #openInput({ libc, body }: ChannelOptions, fds: number[]): number {
    const { readEnd, writeEnd } = openPipe(libc, fds);
    if (body.length <= bodyAtOnceMaxBytes) {
      const written = libc.write(writeEnd, body, body.length);
      if (written !== body.length) throw kernelError('write', Math.min(written, -1));
      libc.close(writeEnd);
    } else {
      const socket = new Socket({ fd: writeEnd, readable: false, writable: true });
      // EPIPE: the program ended, or closed its input, without reading all. That is its right.
      socket.on('error', () => {});
      socket.end(body);
      this.#input = socket;
    }
    fds.splice(fds.indexOf(writeEnd), 1);
    return readEnd;
  }

  /** Only our end does not block: for the program its own is a pipe like any other. */
  #read(
    readEnd: number,
    output: Output,
    { libc, readBuffer, watch, onClosed }: ChannelOptions,
    fds: number[],
  ): void {
    const result = libc.setNonBlocking(readEnd);
    if (result < 0) throw kernelError('fcntl', result);
    const whenClosed = () => {
      if (this.closed) onClosed();
    };
    this.#outputs.push(
      new OutputPipe({ libc, fd: readEnd, output, watch, readBuffer, onClosed: whenClosed }),
    );
    fds.splice(fds.indexOf(readEnd), 1);
  }
}

function openPipe(libc: Libc, fds: number[]): { readonly readEnd: number; readonly writeEnd: number } {
  const ends = new Int32Array(2);
  const result = libc.pipe(ends);
  if (result < 0) throw kernelError('pipe', result);
  const [readEnd, writeEnd] = [ends[0] ?? -1, ends[1] ?? -1];
  fds.push(readEnd, writeEnd);
  return { readEnd, writeEnd };
}

function kernelError(call: string, result: number): SfsdError {
  return new SfsdError('SFSD_ERR_KERNEL', { call, reason: `errno ${-result}` });
}
