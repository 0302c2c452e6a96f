/**
 * Gittins: the invocations with the best ranks run under SCHED_FIFO, one to a FILTER worker, all others under the fair scheduler on
 * what is left. A rank says how much CPU time an invocation is expected to cost for one completion (rank-table.ts), by what its
 * function's runs have used before (duration-history.ts) and what it has used itself.
 *
 * 1. `submit` takes hold of the tasks and puts the invocation into the global queue, by rank (ranked-queue.ts).
 * 2. `tick` gives each idle worker the best that waits. Asleep: blocked, with what it has used.
 * 3. The best that waits takes the worker of the worst that holds one, if it is better by more than a switch is worth:
 *    rank x (1 + hysteresis) + what a switch costs < rank of the holder. That one waits again. The cost is measured, and kept as a moving mean.
 * 4. A holder's rank holds for a bucket of CPU time and may rise at its end: its timer stands for the next bucket whose rank is worse.
 *    Then it is looked at as SFS looks at the end of a slice, and goes on where nobody better waits.
 * 5. Every pollInterval each holder is looked at: asleep, it gives up its worker; blocked ones that are runnable again go back into the
 *    queue. Those that wait are looked at in turns, a few each time: what the fair scheduler gave them counts.
 * 6. Aging: whoever has waited for agingMax is picked up before everybody else and keeps its worker for agingSlice, one of every
 *    four workers at a time, so that no wait is without end.
 * 7. The FILTER budget is SFS's (filter-pauses.ts). Every run that has ended by itself teaches, also one left to the fair scheduler.
 *
 * Considered and rejected: ranks at pick-up only (a short one would wait for the end of a long one); a timer for each that waits (the poll
 * finds the same, and costs nothing when nobody waits); stopping those that wait (queued is not stopped: ARCHITECTURE.md).
 *
 * Pure: no I/O, no timers. `tick` and `end` allocate nothing.
 */
import { assert } from '../../contracts/errors.js';
import type { EndReason, InvocationKey, PolicyName, Submission } from '../../contracts/invocation.js';
import type { Kernel } from '../../contracts/kernel.js';
import type { Admission, SchedulerView, SfsParameters } from '../../contracts/scheduler.js';
import {
  after,
  between,
  type Clock,
  type Duration,
  difference,
  duration,
  fromMs,
  type Instant,
  instant,
  noTime,
  sum,
} from '../../contracts/time.js';
import { Admissions, type Entry } from '../admissions.js';
import { FilterPauses } from '../filter-pauses.js';
import { Lifecycle, type PolicyPorts } from '../lifecycle.js';
import { never, sliceRest } from '../limits.js';
import type { Life } from '../lives.js';
import type { Policy } from '../policies.js';
import { SfsView } from '../sfs-view.js';
import { noSlot } from '../slot-ring.js';
import { DurationHistory } from './duration-history.js';
import { agedRank, HeldRanks } from './held-ranks.js';
import { RankedQueue } from './ranked-queue.js';
import { Ranks } from './ranks.js';

/** A better rank has to be better by this share. */
const hysteresis = 0.1;
/** What a preemption costs the two beside our own work: two switches and cold caches. */
const switchCostLeast: Duration = duration(100);
/** A new measurement of our own work counts for this share. */
const switchCostShare = 1 / 16;
/** Waiting invocations whose CPU time is read in one poll: 100 are each read every 100 ms, 1,000 every second. */
const waitingPerPollMax = 4;
const agingMaxDefault = fromMs(60_000);
const agingSlice = fromMs(250);
const agedShare = 1 / 4;

export class GittinsScheduler implements Policy {
  readonly view: SchedulerView;
  readonly #clock: Clock;
  readonly #kernel: Kernel;
  readonly #parameters: SfsParameters;
  readonly #policyDefault: PolicyName;
  readonly #ranks: Ranks;
  readonly #lifecycle: Lifecycle<RankedQueue>;
  readonly #admissions: Admissions;
  readonly #pauses: FilterPauses;
  readonly #held: HeldRanks;
  readonly #agingMax: Duration;
  /** Microseconds that a preemption has taken us lately. */
  #switchWork = 0;
  /** Holders have timers: somebody waits, or did. */
  #timed = false;
  #pollAt: Instant = never;

  constructor(ports: PolicyPorts, parameters: SfsParameters, policyDefault: PolicyName = 'gittins') {
    assert(parameters.workers >= 1, 'there is a worker');
    assert(parameters.budgetShare > 0 && parameters.budgetShare <= 1, 'the budget is a share');
    assert(parameters.pollInterval > 0 && parameters.liveMax >= 1, 'polls and live invocations are bounded');
    this.#clock = ports.clock;
    this.#kernel = ports.kernel;
    this.#parameters = parameters;
    this.#policyDefault = policyDefault;
    this.#agingMax = parameters.agingMax ?? agingMaxDefault;
    this.#ranks = new Ranks(ports.history ?? new DurationHistory());
    const queue = new RankedQueue(parameters.liveMax, (slot) =>
      this.#ranks.of(this.#lifecycle.lives.at(slot)),
    );
    const lifecycle = new Lifecycle(ports, parameters, queue, (life, reason) => this.#learn(life, reason));
    this.#lifecycle = lifecycle;
    this.#admissions = new Admissions(ports, { lifecycle, parameters }, () => undefined);
    this.#pauses = new FilterPauses(ports, lifecycle, (life, now) => this.#goOn(life, now));
    this.#held = new HeldRanks(lifecycle.pool);
    this.view = new SfsView({
      clock: this.#clock,
      lifecycle,
      estimator: { slice: noTime },
      budgetWindow: parameters.budgetWindow,
      ranks: () => this.#held.all,
    });
  }

  submit(submission: Submission): Admission {
    return this.#admit(submission, 'process');
  }

  begin(submission: Submission): Admission {
    return this.#admit(submission, 'busyPeriod');
  }

  end(key: InvocationKey, reason: EndReason): void {
    const life = this.#lifecycle.lives.find(key);
    if (life === undefined) return;
    const now = this.#clock.now();
    this.#admissions.countDue(now);
    this.#lifecycle.end(life, reason, now);
  }

  tick(): Instant | undefined {
    const now = this.#clock.now();
    this.#admissions.countDue(now);
    this.#pauses.end(now);
    this.#endTurns(now);
    if (now >= this.#pollAt) this.#poll(now);
    this.#pauses.start(now);
    this.#fill(now);
    this.#preempt(now);
    return this.#nextDue(now);
  }

  setWorkers(count: number): void {
    assert(count >= 1, 'there is a worker');
    this.#putBackFrom(count, this.#clock.now());
    this.#lifecycle.lanesFor(count);
    this.#lifecycle.pool.resize(count);
    this.#held.resize();
  }

  takeBack(): void {
    this.#putBackFrom(0, this.#clock.now());
  }

  drain(): void {
    const now = this.#clock.now();
    const { pool, lives } = this.#lifecycle;
    this.#admissions.close();
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life?.charging) this.#lifecycle.stepDown(life);
    }
    for (const life of lives.all()) this.#lifecycle.end(life, 'cancelled', now);
    this.#pauses.forget();
    this.#pollAt = never;
  }

  #putBackFrom(least: number, now: Instant): void {
    const { pool } = this.#lifecycle;
    for (let worker = pool.size - 1; worker >= least; worker -= 1) {
      const life = pool.held(worker);
      if (life === undefined) continue;
      if (life.charging && !this.#lifecycle.stepDown(life)) this.#lifecycle.end(life, 'exited', now);
      else this.#lifecycle.giveWay(life, now, 0);
    }
  }

  // Arrivals and ends

  #admit(submission: Submission, entry: Entry): Admission {
    const now = this.#clock.now();
    const life = this.#admissions.take(submission, entry, now);
    if (typeof life === 'string') return life;
    const { queue, counters } = this.#lifecycle;
    const expected = this.#ranks.open(life, submission);
    this.#lifecycle.record('arrived', now, life, expected, queue.length);
    if ((submission.policy ?? this.#policyDefault) === 'cfs') {
      counters.arrivals += 1;
      this.#lifecycle.leaveFair(life);
      return 'ok';
    }
    this.#admissions.count(life, entry, now);
    queue.enqueue(life.slot);
    return 'ok';
  }

  /** Its CPU time has been read for the last time; of one that nobody looked at while it lived nothing is known. */
  #learn(life: Life, reason: EndReason): void {
    const isKnown = life.cpuUsed > 0 || life.sliceBound > 0;
    this.#ranks.close(life, reason !== 'cancelled' && isKnown);
  }

  #isBetter(rank: number, held: number): boolean {
    return rank * (1 + hysteresis) + switchCostLeast + this.#switchWork < held;
  }

  // Pick-ups

  /** The slot that is next, noSlot when nobody waits. */
  #next(now: Instant): number {
    const { queue, lives } = this.#lifecycle;
    const { oldest } = queue;
    if (oldest === noSlot) return noSlot;
    if (this.#isAged(lives.at(oldest), now) && this.#mayAge()) return oldest;
    return queue.first;
  }

  #isAged(life: Life, now: Instant): boolean {
    return between(life.waitsSince, now) >= this.#agingMax;
  }

  #mayAge(): boolean {
    return this.#held.countAged() < Math.max(1, Math.floor(this.#lifecycle.pool.size * agedShare));
  }

  #fill(now: Instant): void {
    const { lives } = this.#lifecycle;
    for (let slot = this.#next(now); slot !== noSlot; slot = this.#next(now)) {
      const place = this.#pauses.openPlace(now);
      if (place < 0) return;
      this.#pickUp(lives.at(slot), now, place);
    }
  }

  #pickUp(life: Life, now: Instant, place: number): void {
    const lifecycle = this.#lifecycle;
    const { queue, pool } = lifecycle;
    const { state } = lifecycle.observe(life);
    if (state === 'gone') {
      lifecycle.end(life, 'exited', now);
      return;
    }
    const aged = this.#isAged(life, now);
    life.sliceLeft = aged ? agingSlice : this.#ranks.turnOf(life);
    if (state === 'blocked' && this.#parameters.ioAware) {
      lifecycle.block(life, now);
      return;
    }
    // What the fair scheduler gave it meanwhile may have made another one better.
    if (!aged && this.#ranks.of(life) > queue.rank(life.slot)) {
      queue.update(life.slot);
      if (queue.first !== life.slot) return;
    }
    const worker = pool.idleAt(place);
    const rank = aged ? agedRank : this.#ranks.of(life);
    life.sliceBound = life.sliceLeft;
    lifecycle.pickUp(life, now, { place, delay: between(life.waitsSince, now) });
    if (life.worker !== worker) return;
    this.#held.set(worker, rank);
  }

  // Preemption

  #preempt(now: Instant): void {
    const { queue, pool, lives } = this.#lifecycle;
    if (queue.length === 0) return;
    if (!this.#timed) this.#setTimers(now);
    for (let left = pool.size; left > 0; left -= 1) {
      const slot = this.#next(now);
      if (slot === noSlot) return;
      const better = this.#isAged(lives.at(slot), now) && this.#mayAge() ? agedRank : queue.rank(slot);
      const worker = this.#held.worst();
      const holder = pool.held(worker);
      if (holder === undefined || !this.#isBetter(better, this.#held.get(worker))) return;
      const began = this.#clock.now();
      if (!this.#makeRoom(holder, better, now)) continue;
      this.#fill(now);
      const work = between(began, this.#clock.now());
      this.#switchWork += (work - this.#switchWork) * switchCostShare;
    }
  }

  /** @returns whether the holder has left its worker. */
  #makeRoom(holder: Life, better: number, now: Instant): boolean {
    const lifecycle = this.#lifecycle;
    if (holder.charging && !lifecycle.stepDown(holder)) {
      lifecycle.end(holder, 'exited', now);
      return true;
    }
    const rank = this.#ranks.of(holder);
    if (this.#isBetter(better, rank)) {
      lifecycle.giveWay(holder, now, Math.round(better));
      return true;
    }
    this.#held.set(holder.worker, rank);
    this.#goOn(holder, now);
    return false;
  }

  // The turns of those that hold a worker

  /** Somebody waits now, so it matters when ranks rise. */
  #setTimers(now: Instant): void {
    const { pool } = this.#lifecycle;
    this.#timed = true;
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life?.charging && this.#held.get(worker) >= 0) this.#extend(life, now, 0);
    }
  }

  #endTurns(now: Instant): void {
    const { pool } = this.#lifecycle;
    if (pool.nextSliceEnd() > now) return;
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life !== undefined && pool.sliceEnd(worker) <= now) this.#endTurn(life, now);
    }
  }

  #endTurn(life: Life, now: Instant): void {
    const lifecycle = this.#lifecycle;
    const { state, runnableMax } = lifecycle.observe(life);
    if (state === 'gone') lifecycle.end(life, 'exited', now);
    else if (state === 'blocked' && this.#parameters.ioAware) lifecycle.block(life, now);
    else if (life.charging) {
      life.width = lifecycle.widthOf(runnableMax);
      const lag = this.#kernel.observationLagMax * life.width;
      const leftAtLeast = lifecycle.left(life) - lag;
      if (leftAtLeast > sliceRest) lifecycle.setSliceEnd(life, now, duration(leftAtLeast));
      else this.#extend(life, now, lag);
    }
  }

  /** Another turn, from what it has used and may have used beyond the reading; whoever is better takes its worker in `#preempt`. */
  #extend(life: Life, now: Instant, lag: number): void {
    const { pool, queue } = this.#lifecycle;
    this.#held.set(life.worker, this.#ranks.of(life, lag));
    const turn = this.#ranks.turnOf(life, lag);
    life.sliceLeft = sum(turn, difference(life.cpuUsed, life.cpuAtPromotion));
    this.#timed = queue.length > 0;
    if (this.#timed) this.#lifecycle.setSliceEnd(life, now, turn);
    else pool.setSliceEnd(life.worker, never);
  }

  /** After a `stepDown`: again in FILTER, after the pause if there is one. */
  #goOn(life: Life, now: Instant): void {
    const { pool } = this.#lifecycle;
    life.sliceLeft = this.#ranks.turnOf(life);
    if (this.#lifecycle.laneOf(life.worker).paused) pool.setSliceEnd(life.worker, never);
    else if (this.#lifecycle.promote(life, now)) this.#lifecycle.setSliceEnd(life, now, life.sliceLeft);
  }

  // Polls

  #poll(now: Instant): void {
    const { pool, blocked, lives, counters, queue } = this.#lifecycle;
    counters.polls += 1;
    const next = after(this.#pollAt, this.#parameters.pollInterval);
    this.#pollAt = next > now ? next : after(now, this.#parameters.pollInterval);
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life !== undefined) this.#pollHeld(life, now);
    }
    for (let turn = Math.min(blocked.length, this.#parameters.blockedPerPollMax); turn > 0; turn -= 1)
      this.#pollBlocked(lives.at(blocked.first), now);
    for (let turn = Math.min(queue.length, waitingPerPollMax); turn > 0; turn -= 1)
      this.#pollWaiting(lives.at(queue.look()), now);
  }

  #pollHeld(life: Life, now: Instant): void {
    const lifecycle = this.#lifecycle;
    const { state } = lifecycle.observe(life);
    if (state === 'gone') lifecycle.end(life, 'exited', now);
    else if (state === 'blocked') {
      if (this.#parameters.ioAware) lifecycle.block(life, now);
    } else if (life.charging && this.#timed && lifecycle.left(life) <= 0) this.#endTurn(life, now);
  }

  #pollBlocked(life: Life, now: Instant): void {
    const { blocked } = this.#lifecycle;
    const { state } = this.#lifecycle.observe(life);
    if (state === 'gone') this.#lifecycle.end(life, 'exited', now);
    else if (state === 'runnable') {
      life.sliceLeft = this.#ranks.turnOf(life);
      this.#lifecycle.wake(life, now);
    } else blocked.enqueue(blocked.dequeue());
  }

  #pollWaiting(life: Life, now: Instant): void {
    const { queue } = this.#lifecycle;
    const { state } = this.#lifecycle.observe(life);
    if (state === 'gone') this.#lifecycle.end(life, 'exited', now);
    else if (this.#ranks.of(life) !== queue.rank(life.slot)) queue.update(life.slot);
  }

  #nextDue(now: Instant): Instant | undefined {
    const { pool, blocked, lanes } = this.#lifecycle;
    if (pool.heldCount === 0 && blocked.length === 0) this.#pollAt = never;
    else if (this.#pollAt === never) this.#pollAt = after(now, this.#parameters.pollInterval);
    let due = Math.min(pool.nextSliceEnd(), this.#pollAt);
    for (const lane of lanes) due = Math.min(due, lane.nextDue);
    return due === never ? undefined : instant(due);
  }
}
