/**
 * The three pipes of an instance. Our ends are read and written by Node's loop; the program's ends are handed to the spawner,
 * which takes them over.
 *
 * Most bodies are small, and an empty pipe takes PIPE_BUF bytes without blocking (pipe(7)): such a body is written before the
 * program exists, and the pipe closed. That saves a third stream object for each launch. No body at all is /dev/null.
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { Libc } from '../linux/libc.js';
import type { Output } from './output.js';

/** PIPE_BUF: the least that an empty pipe holds. */
const bodyAtOnceMaxBytes = 4096;
const readOnlyCloseOnExec = 0o2000000;

export interface ChannelOptions {
  readonly libc: Libc;
  readonly body: Uint8Array;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Shared by all channels: what is read is copied out before the next read. */
  readonly readBuffer: Uint8Array;
  readonly onClosed: () => void;
}

export class Channels {
  /** The program's ends: standard input, output, error. Whoever calls this owns them. */
  readonly programFds: readonly [number, number, number];
  readonly #sockets: Socket[] = [];
  readonly #onClosed: () => void;
  #readersOpen = 0;

  /** Throws SFSD_ERR_KERNEL when descriptors run out, with nothing left open. */
  constructor(options: ChannelOptions) {
    const { libc, stdout, stderr } = options;
    this.#onClosed = options.onClosed;
    const fds: number[] = [];
    try {
      const input = this.#openInput(options, fds);
      const output = openPipe(libc, fds);
      const error = openPipe(libc, fds);
      this.#read(output.readEnd, stdout, options.readBuffer);
      fds.splice(fds.indexOf(output.readEnd), 1);
      this.#read(error.readEnd, stderr, options.readBuffer);
      this.programFds = [input, output.writeEnd, error.writeEnd];
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
    return this.#readersOpen === 0;
  }

  /** Ends our side, whatever still holds the other. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #openInput({ libc, body }: ChannelOptions, fds: number[]): number {
    if (body.length === 0) {
      const fd = libc.open('/dev/null', readOnlyCloseOnExec);
      if (fd < 0) throw kernelError('open /dev/null', fd);
      fds.push(fd);
      return fd;
    }
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
      this.#sockets.push(socket);
    }
    fds.splice(fds.indexOf(writeEnd), 1);
    return readEnd;
  }

  #read(fd: number, output: Output, buffer: Uint8Array): void {
    const onread: OnReadOpts = {
      buffer,
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
    const socket = new Socket(options);
    this.#readersOpen++;
    this.#sockets.push(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#readersOpen--;
      if (this.#readersOpen === 0) this.#onClosed();
    });
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
