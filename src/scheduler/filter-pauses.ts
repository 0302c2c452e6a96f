/**
 * The gaps of the FILTER budget (filter-budget.ts), for every policy alike: at the budget's limit all promoted invocations of its lane
 * (filter-lane.ts: the pool, or one pinned worker) step down until the fair scheduler has had one gap, and keep their workers; idle
 * workers go on picking up, and what they take joins the pause. CPU time that they get meanwhile is charged like any other.
 */
import { invocationKey } from '../contracts/invocation.js';
import type { Kernel } from '../contracts/kernel.js';
import type { DecisionLog } from '../contracts/scheduler.js';
import { after, between, type Clock, type Instant, noTime } from '../contracts/time.js';
import type { FilterLane } from './filter-lane.js';
import type { Lifecycle, PolicyPorts } from './lifecycle.js';
import { never } from './limits.js';
import { type Life, noWorker } from './lives.js';

/** The key of decisions about the whole pool. */
export const poolKey = invocationKey(0);

export class FilterPauses {
  readonly #clock: Clock;
  readonly #kernel: Kernel;
  readonly #log: DecisionLog;
  readonly #lifecycle: Lifecycle;
  readonly #goOn: (life: Life, now: Instant) => void;

  /** @param goOn after the pause, for one that has stepped down for good meanwhile and still holds its worker. */
  constructor(
    { clock, kernel, log }: PolicyPorts,
    lifecycle: Lifecycle,
    goOn: (life: Life, now: Instant) => void,
  ) {
    this.#clock = clock;
    this.#kernel = kernel;
    this.#log = log;
    this.#lifecycle = lifecycle;
    this.#goOn = goOn;
  }

  start(now: Instant): void {
    for (const lane of this.#lifecycle.lanes) if (now >= lane.budget.pauseAt) this.#pause(lane, now);
  }

  /** Not before the fair scheduler has had its gap. */
  end(now: Instant): void {
    for (const lane of this.#lifecycle.lanes) {
      if (now < lane.pausedUntil) continue;
      const missing = lane.budget.missing(now, this.#kernel.overhead());
      if (missing > 0) lane.pausedUntil = after(now, missing);
      else this.#resume(lane, now);
    }
  }

  /** Place of an idle worker, one whose lane may be FIFO now if there is one; -1: all are held. */
  openPlace(now: Instant): number {
    const { pool } = this.#lifecycle;
    let inPause = -1;
    for (let place = pool.idleCount - 1; place >= 0; place -= 1) {
      const lane = this.#lifecycle.laneOf(pool.idleAt(place));
      if (!lane.paused && lane.budget.exhausted(now, this.#kernel.overhead())) this.#pause(lane, now);
      if (!lane.paused) return place;
      inPause = place;
    }
    return inPause;
  }

  /** At a drain: nothing is promoted any more. */
  forget(): void {
    for (const lane of this.#lifecycle.lanes) {
      lane.paused = false;
      lane.pausedUntil = never;
    }
  }

  #pause(lane: FilterLane, now: Instant): void {
    const { pool, counters } = this.#lifecycle;
    const used = lane.budget.used(now);
    for (let worker = 0; worker < pool.size; worker += 1) {
      if (this.#lifecycle.laneOf(worker) !== lane) continue;
      const life = pool.held(worker);
      if (life?.promoted) this.#lifecycle.pause(life);
    }
    lane.paused = true;
    lane.pausedSince = this.#clock.now();
    lane.pausedUntil = after(lane.pausedSince, lane.budget.gap);
    counters.budgetPauses += 1;
    this.#log.record('paused', now, poolKey, this.#workerOf(lane), noTime, used, 0);
  }

  #resume(lane: FilterLane, now: Instant): void {
    const { lives, turns } = this.#lifecycle;
    const length = between(lane.pausedSince, now);
    lane.paused = false;
    lane.pausedUntil = never;
    this.#log.record('resumed', now, poolKey, this.#workerOf(lane), noTime, length, 0);
    for (let left = turns.length; left > 0; left -= 1) {
      const life = lives.at(turns.rotate());
      if (this.#lifecycle.laneOf(life.worker) !== lane) continue;
      if (life.charging) this.#lifecycle.resume(life, now);
      else this.#goOn(life, now);
    }
  }

  #workerOf(lane: FilterLane): number {
    return this.#lifecycle.pinned ? this.#lifecycle.lanes.indexOf(lane) : noWorker;
  }
}
