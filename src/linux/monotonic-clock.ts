/**
 * The host's CLOCK_MONOTONIC in integer microseconds: the same time line in every thread of the daemon and in C programs,
 * which process.hrtime (whose base is libuv's) does not promise. One read allocates nothing: the two 64-bit words are read
 * as 32-bit halves, because a BigInt is an object.
 */
import type { Clock, Instant } from '../contracts/time.js';
import { ClockReader, clockMonotonic } from './clock-reader.js';
import type { Libc } from './libc.js';

export class MonotonicClock implements Clock {
  readonly #reader: ClockReader;

  constructor(libc: Libc) {
    this.#reader = new ClockReader(libc);
  }

  now(): Instant {
    // Rounded down, so that nothing is ever seen to be due before it is.
    return this.#reader.microseconds(clockMonotonic) as Instant;
  }
}
