/**
 * clock_gettime without allocation, for any clock. Used for CLOCK_MONOTONIC and for the CPU clocks of threads and processes.
 *
 * A process's CPU clock is the id (~pid << 3) | 2, one thread's (~tid << 3) | 6 (clock_getcpuclockid(3)). From outside it moves
 * in ticks while a task runs and is exact once the task has been switched out.
 */
import type { Libc } from './libc.js';

export const clockMonotonic = 1;
export const clockThreadCpu = 3;

export function processClock(pid: number): number {
  return (~pid << 3) | 2;
}

/** Of a thread of the calling process only: the kernel refuses others' threads. */
export function ownThreadClock(tid: number): number {
  return (~tid << 3) | 6;
}

export class ClockReader {
  readonly #libc: Libc;
  readonly #words = new BigInt64Array(2);
  readonly #halves = new Uint32Array(this.#words.buffer);

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Nanoseconds (exact for 104 days), or the negative errno: -22 (EINVAL) or -3 (ESRCH) for a process that is gone. */
  nanoseconds(clock: number): number {
    const result = this.#libc.clockGettime(clock, this.#words);
    if (result < 0) return result;
    return this.#seconds() * 1e9 + (this.#halves[2] ?? 0);
  }

  /** Whole microseconds, or the negative errno. */
  microseconds(clock: number): number {
    const result = this.#libc.clockGettime(clock, this.#words);
    if (result < 0) return result;
    return this.#seconds() * 1_000_000 + Math.floor((this.#halves[2] ?? 0) / 1000);
  }

  #seconds(): number {
    return (this.#halves[0] ?? 0) + (this.#halves[1] ?? 0) * 2 ** 32;
  }
}
