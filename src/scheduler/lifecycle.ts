/**
 * The steps an invocation can take, each with its kernel calls, its count and its record: lives.ts draws them. When a step is
 * taken is decided in sfs.ts; that a step is whole is settled here. Invariants:
 *
 * - an invocation is in one place only: the queue, a worker, the blocked ring, or left to the fair scheduler;
 * - what is promoted is held by a worker;
 * - what is charged to a slice is CPU time used while promoted, pauses of the budget included: both readings, after the promotion and
 *   after the demotion, are taken when a change of policy has just brought the kernel's accounts up to date;
 * - every attached group is released once, unless the kernel has rebound it to a later invocation.
 */
import { assert } from '../contracts/errors.js';
import type { EndReason } from '../contracts/invocation.js';
import type { Kernel } from '../contracts/kernel.js';
import {
  type DecisionKind,
  type DecisionLog,
  endReasons,
  type LifeState,
  lifeStates,
  type SfsParameters,
} from '../contracts/scheduler.js';
import {
  after,
  between,
  type Clock,
  type Duration,
  difference,
  duration,
  type Instant,
} from '../contracts/time.js';
import { FilterLane } from './filter-lane.js';
import { FilterPool } from './filter-pool.js';
import type { DurationHistory } from './gittins/duration-history.js';
import { sliceRest } from './limits.js';
import { type Life, Lives, noWorker } from './lives.js';
import { newCounters } from './sfs-view.js';
import { SlotRing } from './slot-ring.js';
import { Turns } from './turns.js';

export interface PolicyPorts {
  readonly clock: Clock;
  readonly kernel: Kernel;
  readonly log: DecisionLog;
  /** Of earlier runs; absent: nothing is known yet. */
  readonly history?: DurationHistory;
}

/** The global queue, in whatever order a policy keeps it: slots of those that wait for a worker. */
export interface GlobalQueue {
  readonly length: number;
  has(slot: number): boolean;
  enqueue(slot: number): void;
  /** It has been at the head before. */
  enqueueFirst(slot: number): void;
  remove(slot: number): void;
}

export class Lifecycle<Queue extends GlobalQueue = GlobalQueue> {
  readonly lives: Lives;
  readonly queue: Queue;
  readonly blocked: SlotRing;
  /** Busy periods that do not count as arrivals yet, oldest first. */
  readonly uncounted: SlotRing;
  readonly pool: FilterPool;
  readonly turns: Turns;
  readonly lanes: FilterLane[] = [];
  readonly pinned: boolean;
  readonly counters = newCounters();
  readonly #clock: Clock;
  readonly #kernel: Kernel;
  readonly #log: DecisionLog;
  readonly #budgetRule: { readonly share: number; readonly window: Duration };
  readonly #onEnd: ((life: Life, reason: EndReason) => void) | undefined;

  /** @param onEnd told of each end while the record is whole. */
  constructor(
    ports: PolicyPorts,
    parameters: SfsParameters,
    queue: Queue,
    onEnd?: (life: Life, reason: EndReason) => void,
  ) {
    this.#onEnd = onEnd;
    this.#clock = ports.clock;
    this.#kernel = ports.kernel;
    this.#log = ports.log;
    this.lives = new Lives(parameters.liveMax);
    this.queue = queue;
    this.blocked = new SlotRing(parameters.liveMax);
    this.uncounted = new SlotRing(parameters.liveMax);
    this.pool = new FilterPool(parameters.workers);
    this.turns = new Turns({
      liveMax: parameters.liveMax,
      quantum: parameters.turnQuantum,
      lag: ports.kernel.observationLagMax,
    });
    this.#budgetRule = { share: parameters.budgetShare, window: parameters.budgetWindow };
    this.pinned = parameters.pinned === true;
    this.lanesFor(parameters.workers);
  }

  /** Reads the group's state, and its CPU time into the record. The answer is reused by the next call. */
  observe(life: Life): ReturnType<Kernel['observe']> {
    this.counters.observations += 1;
    const seen = this.#kernel.observe(life.group);
    if (seen.cpuTime > life.cpuUsed) life.cpuUsed = seen.cpuTime;
    return seen;
  }

  /** CPU time of its slice that it has left by the last reading. */
  left(life: Life): Duration {
    if (!life.charging) return life.sliceLeft;
    return difference(life.sliceLeft, difference(life.cpuUsed, life.cpuAtPromotion));
  }

  /** There is a lane for each worker where they are pinned, else one for all. Lanes outlive a shrinking pool: they remember. */
  lanesFor(workers: number): void {
    const count = this.pinned ? workers : 1;
    while (this.lanes.length < count) this.lanes.push(new FilterLane(this.#budgetRule));
  }

  laneOf(worker: number): FilterLane {
    const lane = this.lanes[this.pinned ? worker : 0];
    assert(lane !== undefined, 'every worker has a lane');
    return lane;
  }

  /** More threads than cores cannot use CPU time faster than the cores give it. */
  widthOf(runnableMax: number): number {
    return this.pinned ? 1 : Math.max(1, Math.min(runnableMax, this.pool.size));
  }

  /** Sets the timer of a held invocation to when `left` of CPU time may be used up. */
  setSliceEnd(life: Life, now: Instant, left: Duration): void {
    const wall = Math.max(Math.ceil(left / life.width), sliceRest);
    this.pool.setSliceEnd(life.worker, after(now, duration(wall)));
  }

  /** The idle worker at `place` takes it. */
  pickUp(life: Life, now: Instant, pick: { readonly place: number; readonly delay: Duration }): void {
    const worker = this.pool.idleAt(pick.place);
    const held = this.laneOf(worker).paused ? this.#joinPause(life, now) : this.promote(life, now, worker);
    if (!held) return;
    this.#move(life, 'filter', pick.place);
    this.counters.promotions += 1;
    this.record('promoted', now, life, life.sliceLeft, pick.delay);
    this.setSliceEnd(life, now, life.sliceLeft);
  }

  /** Undone by `stepDown`. @returns whether it is promoted; when not, it has been dealt with. */
  promote(life: Life, now: Instant, worker = life.worker): boolean {
    if (!this.#raise(life, now, worker)) return false;
    this.#charge(life);
    return true;
  }

  /** As if it had been promoted and paused at once. */
  #joinPause(life: Life, now: Instant): boolean {
    if (this.#kernel.pause(life.group) === 'gone') {
      this.end(life, 'exited', now);
      return false;
    }
    this.#charge(life);
    return true;
  }

  /** Its slice runs from now on. */
  #charge(life: Life): void {
    const seen = this.observe(life);
    life.cpuAtPromotion = life.cpuUsed;
    life.charging = true;
    life.width = this.widthOf(seen.runnableMax);
  }

  /** Undone by `resume`. Its slice goes on. */
  pause(life: Life): void {
    this.#kernel.pause(life.group);
    if (this.turns.areCounted) {
      this.observe(life);
      this.turns.count(life);
    }
    this.#noLongerPromoted(life);
  }

  /** Its timer stands for what it had left before the pause, so it is early at worst. */
  resume(life: Life, now: Instant): void {
    this.#raise(life, now, life.worker);
  }

  #raise(life: Life, now: Instant, worker: number): boolean {
    const outcome = this.#kernel.promote(life.group, this.pinned ? worker : undefined);
    if (outcome === 'gone') this.end(life, 'exited', now);
    if (outcome === 'denied') {
      if (life.charging) this.stepDown(life);
      this.deny(life, now);
    }
    if (outcome !== 'ok') return false;
    life.promoted = true;
    const lane = this.laneOf(worker);
    if (lane.promoted === 0) lane.budget.start(now, this.#kernel.overhead());
    lane.promoted += 1;
    return true;
  }

  /** Demotes it, promoted or paused, and charges what it has used; it keeps its worker. @returns false when it is gone. */
  stepDown(life: Life): boolean {
    const outcome = this.#kernel.demote(life.group);
    const seen = this.observe(life);
    life.sliceLeft = this.left(life);
    this.#settle(life);
    return outcome === 'ok' && seen.state !== 'gone';
  }

  demoteForGood(life: Life, now: Instant): void {
    const worker = life.worker;
    this.#move(life, 'fair');
    this.counters.demotions += 1;
    this.record('demoted', now, life, Math.max(0, -life.sliceLeft), life.sliceBound, worker);
  }

  /** It sleeps, so it runs nowhere and the reading that told us is exact. */
  block(life: Life, now: Instant): void {
    const worker = life.worker;
    life.sliceLeft = this.left(life);
    life.blockedAt = now;
    if (life.charging) {
      this.#kernel.demote(life.group);
      this.#settle(life);
    }
    this.#move(life, 'blocked');
    this.counters.blocks += 1;
    this.record('blocked', now, life, Math.max(0, life.sliceLeft), 0, worker);
  }

  wake(life: Life, now: Instant): void {
    if (life.sliceLeft <= sliceRest) {
      this.demoteForGood(life, now);
      return;
    }
    this.#move(life, 'queued');
    life.waitsSince = now;
    this.counters.wakes += 1;
    this.record('woken', now, life, life.sliceLeft, between(life.blockedAt, now));
  }

  /** Its worker goes away: back to the head of the queue, its delay counted from now. */
  putBack(life: Life, now: Instant): void {
    if (life.charging && !this.stepDown(life)) this.end(life, 'exited', now);
    else if (life.sliceLeft <= sliceRest) this.demoteForGood(life, now);
    else {
      this.pool.free(life);
      this.turns.leave(life);
      life.worker = noWorker;
      life.state = 'queued';
      life.waitsSince = now;
      this.queue.enqueueFirst(life.slot);
    }
  }

  /** A better one takes its worker: stepped down before, it waits again, its delay counted from now. */
  giveWay(life: Life, now: Instant, betterRank: number): void {
    const worker = life.worker;
    this.#move(life, 'queued');
    life.waitsSince = now;
    this.counters.preemptions += 1;
    this.record('preempted', now, life, 0, betterRank, worker);
  }

  bypass(life: Life, now: Instant, delay: Duration, limit: number): void {
    this.#move(life, 'fair');
    this.counters.bypasses += 1;
    this.record('bypassed', now, life, delay, Math.round(limit));
  }

  deny(life: Life, now: Instant): void {
    this.#move(life, 'fair');
    this.counters.denials += 1;
    this.record('denied', now, life, 0, 0);
  }

  leaveFair(life: Life): void {
    this.#move(life, 'fair');
  }

  /** @param attachment `keepAttached` when the kernel is about to rebind the group to a later invocation. */
  end(life: Life, reason: EndReason, now: Instant, attachment?: 'keepAttached'): void {
    const state = life.state;
    if (life.attached) {
      if (life.charging && reason !== 'exited') this.#kernel.demote(life.group);
      this.observe(life);
      if (attachment === undefined) this.#kernel.release(life.group);
    }
    this.#settle(life);
    if (reason !== 'cancelled') this.counters.completions += 1;
    this.record('ended', now, life, endReasons.indexOf(reason), lifeStates.indexOf(state));
    if (this.uncounted.has(life.slot)) this.uncounted.remove(life.slot);
    this.#move(life, 'fair');
    this.#onEnd?.(life, reason);
    this.lives.close(life);
  }

  record(
    kind: DecisionKind,
    at: Instant,
    life: Life,
    value: number,
    extra: number,
    worker = life.worker,
  ): void {
    this.#log.record(kind, at, life.key, worker, life.cpuUsed, value, extra);
  }

  #settle(life: Life): void {
    if (life.promoted) this.#noLongerPromoted(life);
    life.charging = false;
  }

  #noLongerPromoted(life: Life): void {
    life.promoted = false;
    const lane = this.laneOf(life.worker);
    lane.promoted -= 1;
    // Read again: the budget must not believe that a demotion took effect before it did.
    if (lane.promoted === 0) lane.budget.stop(this.#clock.now(), this.#kernel.overhead());
  }

  /** Leaves the one place and enters the other. */
  #move(life: Life, to: LifeState, place = -1): void {
    if (life.state === 'blocked') this.blocked.remove(life.slot);
    if (life.state === 'filter') {
      this.pool.free(life);
      this.turns.leave(life);
    }
    if (life.state === 'queued' && this.queue.has(life.slot)) this.queue.remove(life.slot);
    life.state = to;
    life.worker = noWorker;
    if (to === 'queued') this.queue.enqueue(life.slot);
    if (to === 'blocked') this.blocked.enqueue(life.slot);
    if (to === 'filter') {
      this.pool.take(life, place);
      this.turns.enter(life);
    }
  }
}
