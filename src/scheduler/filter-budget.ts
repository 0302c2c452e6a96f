/**
 * The FILTER budget: in every window of length W, wherever it starts, FILTER is idle for at least a gap G = (1 - share) x W,
 * so that the kernel's real-time throttle (950 ms of every second) never stops us and the fair scheduler gets small, even
 * pieces. Idle means that no invocation at all is promoted, which is stricter than "this core is not FIFO" and needs no
 * knowledge of which core runs what.
 *
 *   time ──▶      idle       busy                          must pause
 *            ├───[=====]──────────────────────────────────────|
 *                ▲   the newest G of idle time begins at x     x + W
 *
 * 1. `start(b)`: the first promotion after an idle time. Going back from b, find the x for which idle time within (x, b] is
 *    exactly G. While FILTER stays busy no idle time is added, so every window that ends by x + W holds G or more, and a
 *    later one would not: `pauseAt` is x + W, and stays so until FILTER is idle again.
 * 2. At `pauseAt` the policy steps all invocations down for a whole G. The end of the window loses idle time at most as fast
 *    as its front gains it, so no window in between falls short; then G lies in one piece and pauseAt is W after its start.
 *
 * Idle is what the fair scheduler could have had. The daemon itself is real-time: the CPU time it used within an idle time is taken
 * off, the whole of it, as if it had run on one core, but never more than half. Without this the kernel's throttle was measured to
 * stop every real-time task of a core for 50 ms, three times in 10 s, on 2 full cores: 93% and the daemon's work in the gaps are
 * more than 95%.
 *
 * Idle times shorter than G / idleKept are taken for busy. That errs on the safe side and bounds the memory: idleKept idle
 * times are always enough to find G, so older ones are forgotten. Time before the first promotion is idle.
 */
import { assert } from '../contracts/errors.js';
import { type Duration, duration, type Instant, instant } from '../contracts/time.js';
import { never } from './limits.js';

/** An idle time that fell short is made longer by this share of G at least: each look at it is work of the daemon, too. */
const extensionMin = 1 / 16;

/** Share of an idle time that is left to the fair scheduler whatever the daemon used. */
const idleShareMin = 0.5;

/** Most idle times that are remembered. */
const idleKept = 64;

export class FilterBudget {
  /** G: how long a pause lasts; 0 when the budget is off. */
  readonly gap: Duration;
  readonly #window: Duration;
  /** Shorter idle times count as busy. */
  readonly #idleMin: number;
  readonly #starts = new Float64Array(idleKept);
  readonly #ends = new Float64Array(idleKept);
  #newest = 0;
  #busy = false;
  #idleSince = Number.NEGATIVE_INFINITY;
  #overheadAtStop = 0;
  #pauseAt: Instant = never;

  constructor(rule: { readonly share: number; readonly window: Duration }) {
    this.#window = rule.window;
    this.gap = duration(rule.window - Math.floor(rule.share * rule.window));
    this.#idleMin = Math.max(1, Math.ceil(this.gap / idleKept));
    // Time before the first promotion fills every place, so that the walk below always finds its gap.
    this.#starts.fill(Number.NEGATIVE_INFINITY);
    this.#ends.fill(Number.NEGATIVE_INFINITY);
  }

  /** When FILTER must pause if it stays busy; `never` while it is idle. */
  get pauseAt(): Instant {
    return this.#busy ? this.#pauseAt : never;
  }

  /**
   * FILTER becomes busy. A time before that of the last `stop` says that it never was idle.
   * @param overhead CPU time that the daemon has used so far, here and below.
   */
  start(now: Instant, overhead: Duration): void {
    assert(!this.#busy, 'FILTER starts when it is idle');
    this.#busy = true;
    const idle = this.#idle(now, overhead);
    if (this.gap === 0 || idle < this.#idleMin) return;
    this.#newest = (this.#newest + 1) % idleKept;
    this.#starts[this.#newest] = now - idle;
    this.#ends[this.#newest] = now;
    this.#pauseAt = this.#limit(this.gap);
  }

  /** Nothing is promoted any more. */
  stop(now: Instant, overhead: Duration): void {
    assert(this.#busy, 'FILTER stops when it is busy');
    this.#busy = false;
    this.#idleSince = now;
    this.#overheadAtStop = overhead;
  }

  /** Whether FILTER, idle now, may not even start: the window has no time left. */
  exhausted(now: Instant, overhead: Duration): boolean {
    if (this.gap === 0 || this.#busy) return false;
    const idle = this.#idle(now, overhead);
    if (idle >= this.gap) return false;
    return (idle < this.#idleMin ? this.#pauseAt : this.#limit(this.gap - idle)) <= now;
  }

  /** How much longer FILTER, idle now, should stay so before its idle time may be worth a whole gap; 0: it is. */
  missing(now: Instant, overhead: Duration): Duration {
    const missing = this.gap - this.#idle(now, overhead);
    return duration(missing <= 0 ? 0 : Math.ceil(Math.max(missing, this.gap * extensionMin)));
  }

  /** FIFO time, counted as above, in the window that ends now. */
  used(now: Instant): Duration {
    const from = now - this.#window;
    let idle = this.#busy ? 0 : Math.max(0, now - Math.max(from, this.#idleSince));
    for (let age = 0; age < idleKept; age += 1) {
      const place = this.#place(age);
      const end = this.#ends[place] ?? from;
      if (end <= from) break;
      idle += end - Math.max(from, this.#starts[place] ?? from);
    }
    return duration(Math.max(0, this.#window - idle));
  }

  /** What the current idle time is worth. Infinite before the first promotion. */
  #idle(now: Instant, overhead: Duration): number {
    const length = now - this.#idleSince;
    return Math.max(length * idleShareMin, length - (overhead - this.#overheadAtStop));
  }

  /** x + W, where x is the start of the newest `needed` of remembered idle time. */
  #limit(needed: number): Instant {
    let missing = needed;
    for (let age = 0; age < idleKept; age += 1) {
      const place = this.#place(age);
      const end = this.#ends[place] ?? Number.NEGATIVE_INFINITY;
      if (end === Number.NEGATIVE_INFINITY) break;
      const idle = end - (this.#starts[place] ?? end);
      if (idle >= missing) return instant(end - missing + this.#window);
      missing -= idle;
    }
    assert(false, 'the remembered idle times hold a whole gap');
  }

  #place(age: number): number {
    return (this.#newest - age + idleKept) % idleKept;
  }
}
