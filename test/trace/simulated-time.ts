/**
 * Simulated time for tests of replay: timers in the order of their deadlines, a clock that jumps from one to the next.
 */
import { assert } from '../../src/contracts/errors.js';
import type { Clock, Duration, Instant } from '../../src/contracts/time.js';
import { after, instant } from '../../src/contracts/time.js';

interface Timer {
  readonly at: Instant;
  readonly fire: () => void;
}

/** Deterministic: of two timers at one instant the one set first fires first. */
export class SimulatedTime implements Clock {
  #now: Instant = instant(1_000_000_000);
  #timers: Timer[] = [];
  /** Added to each wake of `sleepUntil`: a generator that is late. */
  lateness: Duration = 0 as Duration;

  now(): Instant {
    return this.#now;
  }

  at(deadline: Instant, fire: () => void): void {
    this.#timers.push({ at: deadline, fire });
  }

  in(delay: Duration, fire: () => void): void {
    this.at(after(this.#now, delay), fire);
  }

  readonly sleepUntil = (deadline: Instant, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted === true || (deadline as number) + this.lateness <= this.#now) return resolve();
      signal?.addEventListener('abort', () => resolve(), { once: true });
      this.at(after(deadline, this.lateness), resolve);
    });

  /** Lets time pass until the work is done. */
  async drive<Result>(work: Promise<Result>): Promise<Result> {
    let settled = false;
    const mark = () => {
      settled = true;
    };
    work.then(mark, mark);
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (settled) return work;
      this.#timers.sort((left, right) => left.at - right.at);
      const timer = this.#timers.shift();
      assert(timer !== undefined, 'work that waits has a timer');
      if (timer.at > this.#now) this.#now = timer.at;
      timer.fire();
    }
  }
}
