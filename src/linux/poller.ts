/**
 * The one wait of a thread: epoll with nanosecond timeouts, over eventfds, pidfds, sockets alike.
 *
 *   add(fd, token) ... wait(until, now) -> n, then token(0) ... token(n - 1)
 *
 * A wait allocates nothing, and brings at most `eventsPerWaitMax` events: what is left over is level-triggered and comes with
 * the next wait. Tokens are 32-bit numbers of the caller's choosing, in ranges that the parts of one thread agree on.
 */
import { assert, SfsdError } from '../contracts/errors.js';
import type { Instant } from '../contracts/time.js';
import type { Libc } from './libc.js';

export const eventsPerWaitMax = 256;

const operationAdd = 1;
const operationRemove = 2;
const readable = 1;
/** struct epoll_event is packed on x86-64 only. */
const eventBytes = process.arch === 'x64' ? 12 : 16;
const tokenOffset = eventBytes - 8;
const errnoInterrupted = -4;
/** A longer wait would not fit a timespec written in halves; the caller's loop waits again. */
const waitMaxNs = 3_600 * 1e9;

export class Poller {
  readonly #libc: Libc;
  readonly #epoll: number;
  readonly #events = new Uint8Array(eventBytes * eventsPerWaitMax);
  readonly #words = new DataView(this.#events.buffer);
  readonly #change = new Uint8Array(eventBytes);
  readonly #changeWords = new DataView(this.#change.buffer);
  #ready = 0;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#epoll = libc.epollCreate();
    if (this.#epoll < 0) throw kernelError('epoll_create1', this.#epoll);
  }

  /** Readiness to read (for a pidfd: the process has ended) is reported as `token`, at every wait until it is taken or removed. */
  add(fd: number, token: number): void {
    this.#changeWords.setUint32(0, readable, true);
    this.#changeWords.setUint32(tokenOffset, token, true);
    const result = this.#libc.epollControl(this.#epoll, operationAdd, fd, this.#change);
    if (result < 0) throw kernelError('epoll_ctl', result);
  }

  /** To be called before the fd is closed. */
  remove(fd: number): void {
    const result = this.#libc.epollControl(this.#epoll, operationRemove, fd, this.#change);
    if (result < 0) throw kernelError('epoll_ctl', result);
  }

  /** Returns how many events are ready: 0 when `until` came first, or a signal. `undefined` waits without limit. */
  wait(until: Instant | undefined, now: Instant): number {
    const timeoutNs = until === undefined ? -1 : Math.min(Math.max((until - now) * 1000, 0), waitMaxNs);
    const result = this.#libc.epollWait(this.#epoll, this.#events, eventsPerWaitMax, timeoutNs);
    if (result < 0 && result !== errnoInterrupted) throw kernelError('epoll_pwait2', result);
    this.#ready = Math.max(result, 0);
    return this.#ready;
  }

  /** Of the last wait. */
  token(index: number): number {
    assert(index >= 0 && index < this.#ready, 'the event index is below what the last wait returned');
    return this.#words.getUint32(index * eventBytes + tokenOffset, true);
  }

  close(): void {
    this.#libc.close(this.#epoll);
  }
}

function kernelError(call: string, result: number): SfsdError {
  return new SfsdError('SFSD_ERR_KERNEL', { call, reason: `errno ${-result}` });
}
