/**
 * CPU time of the calling thread, of one thread of ours, and of any process: what the daemon charges itself with.
 */
import { type Duration, duration } from '../contracts/time.js';
import { ClockReader, clockThreadCpu, ownThreadClock, processClock } from './clock-reader.js';
import type { Libc } from './libc.js';

export class ThreadClock {
  readonly #reader: ClockReader;

  constructor(libc: Libc) {
    this.#reader = new ClockReader(libc);
  }

  /** Exact at the moment of the call. */
  ofCallingThread(): Duration {
    return duration(this.#reader.microseconds(clockThreadCpu));
  }

  /** Of this process only. undefined: it has ended. */
  ofOwnThread(tid: number): Duration | undefined {
    return this.#read(ownThreadClock(tid));
  }

  /** All threads, ended ones too; a running one may lag by a tick. undefined: the process is gone. */
  ofProcess(pid: number): Duration | undefined {
    return this.#read(processClock(pid));
  }

  #read(clock: number): Duration | undefined {
    const time = this.#reader.microseconds(clock);
    return time < 0 ? undefined : duration(time);
  }
}
