/**
 * What the daemon itself costs: its CPU time by part. The scheduling thread accounts for itself (plane-state.ts); the control
 * plane is the rest of this process; the spawner is another process, or several in a row when it had to be restarted.
 */
import { availableParallelism } from 'node:os';
import type { CpuStatus } from '../contracts/scheduling-plane.js';
import {
  between,
  type Clock,
  type Duration,
  difference,
  duration,
  type Instant,
  noTime,
  sum,
} from '../contracts/time.js';
import { ClockReader, processClock } from '../linux/clock-reader.js';
import type { Libc } from '../linux/libc.js';

export class CpuAccounts {
  readonly #clock: Clock;
  readonly #reader: ClockReader;
  readonly #startedAt: Instant;
  #spawnerPid: () => number | undefined = () => undefined;
  /** CPU time of spawners that have died, and the last reading of the one that lives. */
  #spawnersBefore: Duration = noTime;
  #spawnerLast: { readonly pid: number; readonly time: Duration } | undefined;

  constructor({ libc, clock }: { readonly libc: Libc; readonly clock: Clock }) {
    this.#clock = clock;
    this.#reader = new ClockReader(libc);
    this.#startedAt = clock.now();
  }

  countSpawner(pid: () => number | undefined): void {
    this.#spawnerPid = pid;
  }

  /** @param schedulingTime CPU time of the scheduling thread, which is part of this process. */
  read(schedulingTime: Duration): Pick<CpuStatus, 'cores' | 'elapsed' | 'control' | 'spawner'> {
    const whole = duration(this.#reader.microseconds(processClock(process.pid)));
    return {
      cores: availableParallelism(),
      elapsed: between(this.#startedAt, this.#clock.now()),
      control: difference(whole, schedulingTime),
      spawner: this.#spawner(),
    };
  }

  #spawner(): Duration {
    const pid = this.#spawnerPid();
    const last = this.#spawnerLast;
    if (last !== undefined && last.pid !== pid) {
      this.#spawnersBefore = sum(this.#spawnersBefore, last.time);
      this.#spawnerLast = undefined;
    }
    if (pid === undefined) return this.#spawnersBefore;
    const time = this.#reader.microseconds(processClock(pid));
    if (time >= 0) this.#spawnerLast = { pid, time: duration(time) };
    return sum(this.#spawnersBefore, this.#spawnerLast?.time ?? noTime);
  }
}
