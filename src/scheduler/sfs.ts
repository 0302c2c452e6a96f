/**
 * SFS (paper, section V): short functions run to completion under SCHED_FIFO, long ones go to the fair scheduler.
 *
 * 1. `submit` takes hold of the tasks, counts an arrival for the slice S and puts the invocation into the global queue. It
 *    runs under the fair scheduler meanwhile: queued is not stopped.
 * 2. `tick` gives each idle FILTER worker the head of the queue (V-B). Waited O x S or longer: bypassed, left to the fair
 *    scheduler for good (V-E); each pick-up is judged alone, so bypassing goes on until a delay is below O x S. Asleep:
 *    blocked. Else it is promoted and owns up to S of CPU time, the S of its first pick-up.
 * 3. Its slice may be used up at `promoted + left / width`. What the kernel then says of its CPU time may lag by a scheduler
 *    tick for each running task: if with all lag added more than sliceRest is left, look again when that could be used up;
 *    else demote, which makes the reading exact, and promote again if more than sliceRest is left after all. So neither
 *    starving nor being preempted costs an invocation its slice.
 * 4. Every pollInterval each held invocation is looked at: all tasks asleep, it gives up its worker and keeps the unused
 *    slice (V-D); blocked ones that are runnable again go back into the queue. A wake is no arrival.
 * 5. At the FILTER budget's limit all promoted invocations of its lane (filter-lane.ts: the pool, or one pinned worker) step down
 *    until the fair scheduler has had one gap, and keep their workers; idle workers go on picking up, and what they take joins the
 *    pause. CPU time that they get meanwhile is charged to their slices like any other: a worker is held for S.
 *
 * Considered and rejected: charging slices by wall time or polls (a starved function loses its slice); one demotion at the
 * timer without looking again (the same); reading CPU time before the promotion (it lags then, and the slice would shrink by
 * up to a tick); a separate overload mode (it decides exactly what judging each pick-up does).
 *
 * Pure: no I/O, no timers. Time is read once for each call, and again only where FILTER becomes idle. `tick` and `end`
 * allocate nothing.
 */
import { assert } from '../contracts/errors.js';
import type { EndReason, InvocationKey, PolicyName, Submission } from '../contracts/invocation.js';
import type { Kernel } from '../contracts/kernel.js';
import type { Admission, DecisionLog, SchedulerView, SfsParameters } from '../contracts/scheduler.js';
import { after, between, type Clock, duration, type Instant, instant, noTime } from '../contracts/time.js';
import { Admissions, type Entry } from './admissions.js';
import { FilterPauses, poolKey } from './filter-pauses.js';
import { Lifecycle, type PolicyPorts } from './lifecycle.js';
import { never, sliceRest } from './limits.js';
import { type Life, noWorker } from './lives.js';
import type { Policy } from './policies.js';
import { SfsView } from './sfs-view.js';
import { SliceEstimator } from './slice-estimator.js';
import { SlotRing } from './slot-ring.js';

export class SfsScheduler implements Policy {
  readonly view: SchedulerView;
  readonly #clock: Clock;
  readonly #kernel: Kernel;
  readonly #log: DecisionLog;
  readonly #parameters: SfsParameters;
  readonly #policyDefault: PolicyName;
  readonly #lifecycle: Lifecycle<SlotRing>;
  readonly #estimator: SliceEstimator;
  readonly #admissions: Admissions;
  readonly #pauses: FilterPauses;
  #pollAt: Instant = never;

  /** @param policyDefault of invocations that name none: `cfs` leaves them to the fair scheduler. */
  constructor(ports: PolicyPorts, parameters: SfsParameters, policyDefault: PolicyName = 'sfs') {
    assert(parameters.workers >= 1 && parameters.window >= 1, 'there is a worker and a window');
    assert(parameters.budgetShare > 0 && parameters.budgetShare <= 1, 'the budget is a share');
    assert(parameters.pollInterval > 0 && parameters.liveMax >= 1, 'polls and live invocations are bounded');
    this.#clock = ports.clock;
    this.#kernel = ports.kernel;
    this.#log = ports.log;
    this.#parameters = parameters;
    this.#policyDefault = policyDefault;
    const lifecycle = new Lifecycle(ports, parameters, new SlotRing(parameters.liveMax));
    this.#lifecycle = lifecycle;
    this.#estimator = new SliceEstimator(parameters);
    this.#admissions = new Admissions(ports, { lifecycle, parameters }, (at, now) => {
      if (this.#estimator.arrive(at)) this.#noteSlice(now);
    });
    this.#pauses = new FilterPauses(ports, lifecycle, (life, now) => this.#goOn(life, now));
    this.view = new SfsView({
      clock: this.#clock,
      lifecycle: this.#lifecycle,
      estimator: this.#estimator,
      budgetWindow: parameters.budgetWindow,
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
    this.#endSlices(now);
    if (now >= this.#pollAt) this.#poll(now);
    this.#pauses.start(now);
    this.#fill(now);
    return this.#nextDue(now);
  }

  /**
   * The CPUs that FILTER may use have changed. Invocations of workers that go away return to the head of the queue with what
   * is left of their slices; the next `tick` makes use of the change.
   */
  setWorkers(count: number): void {
    assert(count >= 1, 'there is a worker');
    const now = this.#clock.now();
    const { pool } = this.#lifecycle;
    this.#putBackFrom(count, now);
    this.#lifecycle.lanesFor(count);
    pool.resize(count);
    if (this.#estimator.setWorkers(count)) this.#noteSlice(now);
  }

  takeBack(): void {
    this.#putBackFrom(0, this.#clock.now());
  }

  drain(): void {
    const now = this.#clock.now();
    const { pool, lives } = this.#lifecycle;
    this.#admissions.close();
    // All demotions first: they are what the host waits for.
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life?.charging) this.#lifecycle.stepDown(life);
    }
    for (const life of lives.all()) this.#lifecycle.end(life, 'cancelled', now);
    this.#pauses.forget();
    this.#pollAt = never;
  }

  /** Last first, so that they stand at the head in the order of their workers. */
  #putBackFrom(least: number, now: Instant): void {
    const { pool } = this.#lifecycle;
    for (let worker = pool.size - 1; worker >= least; worker -= 1) {
      const life = pool.held(worker);
      if (life !== undefined) this.#lifecycle.putBack(life, now);
    }
  }

  // Arrivals

  #admit(submission: Submission, entry: Entry): Admission {
    const now = this.#clock.now();
    const life = this.#admissions.take(submission, entry, now);
    if (typeof life === 'string') return life;
    const { queue, counters } = this.#lifecycle;
    this.#lifecycle.record('arrived', now, life, this.#estimator.slice, queue.length);
    if ((submission.policy ?? this.#policyDefault) === 'cfs') {
      counters.arrivals += 1;
      this.#lifecycle.leaveFair(life);
      return 'ok';
    }
    this.#admissions.count(life, entry, now);
    queue.enqueue(life.slot);
    return 'ok';
  }

  #noteSlice(now: Instant): void {
    this.#lifecycle.counters.sliceUpdates += 1;
    const { slice, meanGap } = this.#estimator;
    this.#log.record('sliced', now, poolKey, noWorker, noTime, slice, meanGap);
  }

  // Pick-ups

  #fill(now: Instant): void {
    const { queue, lives } = this.#lifecycle;
    while (queue.length > 0) {
      const place = this.#pauses.openPlace(now);
      if (place < 0) return;
      this.#pickUp(lives.at(queue.first), now, place);
    }
  }

  #pickUp(life: Life, now: Instant, place: number): void {
    const slice = this.#estimator.slice;
    const delay = between(life.waitsSince, now);
    const limit = this.#parameters.overloadFactor * slice;
    if (delay >= limit) {
      this.#lifecycle.bypass(life, now, delay, limit);
      return;
    }
    if (life.sliceBound === noTime) {
      life.sliceBound = duration(Math.min(slice, life.sliceMax));
      life.sliceLeft = life.sliceBound;
    }
    const { state } = this.#lifecycle.observe(life);
    if (state === 'gone') this.#lifecycle.end(life, 'exited', now);
    else if (state === 'blocked' && this.#parameters.ioAware) this.#lifecycle.block(life, now);
    else this.#lifecycle.pickUp(life, now, { place, delay });
  }

  // Slice ends

  #endSlices(now: Instant): void {
    const { pool } = this.#lifecycle;
    if (pool.nextSliceEnd() > now) return;
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life !== undefined && pool.sliceEnd(worker) <= now) this.#endSlice(life, now);
    }
  }

  /** Step 3 of the protocol. */
  #endSlice(life: Life, now: Instant): void {
    const lifecycle = this.#lifecycle;
    const { state, runnableMax } = lifecycle.observe(life);
    if (state === 'gone') lifecycle.end(life, 'exited', now);
    else if (state === 'blocked' && this.#parameters.ioAware) lifecycle.block(life, now);
    else {
      life.width = lifecycle.widthOf(runnableMax);
      const leftAtLeast = lifecycle.left(life) - this.#kernel.observationLagMax * life.width;
      if (leftAtLeast > sliceRest) lifecycle.setSliceEnd(life, now, duration(leftAtLeast));
      else if (!lifecycle.stepDown(life)) lifecycle.end(life, 'exited', now);
      else this.#goOn(life, now);
    }
  }

  /** After a `stepDown`: again in FILTER with what is left of its slice, after the pause if there is one; or out of it for good. */
  #goOn(life: Life, now: Instant): void {
    if (life.sliceLeft <= sliceRest) this.#lifecycle.demoteForGood(life, now);
    else if (this.#lifecycle.laneOf(life.worker).paused) this.#lifecycle.pool.setSliceEnd(life.worker, never);
    else if (this.#lifecycle.promote(life, now)) this.#lifecycle.setSliceEnd(life, now, life.sliceLeft);
  }

  // Polls

  #poll(now: Instant): void {
    const { pool, blocked, lives, counters } = this.#lifecycle;
    counters.polls += 1;
    const next = after(this.#pollAt, this.#parameters.pollInterval);
    this.#pollAt = next > now ? next : after(now, this.#parameters.pollInterval);
    const turns = Math.min(blocked.length, this.#parameters.blockedPerPollMax);
    for (let worker = 0; worker < pool.size; worker += 1) {
      const life = pool.held(worker);
      if (life !== undefined) this.#pollHeld(life, now);
    }
    for (let turn = 0; turn < turns; turn += 1) this.#pollBlocked(lives.at(blocked.first), now);
  }

  #pollHeld(life: Life, now: Instant): void {
    const lifecycle = this.#lifecycle;
    const { state, runnableMax } = lifecycle.observe(life);
    if (state === 'gone') lifecycle.end(life, 'exited', now);
    else if (state === 'blocked') {
      if (this.#parameters.ioAware) lifecycle.block(life, now);
    } else if (life.charging) {
      // More tasks than the timer knew of may have used it up already.
      if (lifecycle.left(life) <= 0) this.#endSlice(life, now);
      else this.#followWidth(life, lifecycle.widthOf(runnableMax), now);
    }
  }

  /**
   * Brings the slice's end in line with how many tasks run now. What is left is at most what the reading says, and at most what
   * the timer stood for.
   */
  #followWidth(life: Life, width: number, now: Instant): void {
    const { pool } = this.#lifecycle;
    const end = pool.sliceEnd(life.worker);
    const byTimer = between(now, end) * life.width;
    const left = duration(Math.min(byTimer, this.#lifecycle.left(life)));
    if (width === life.width && left === byTimer) return;
    const narrower = width < life.width;
    life.width = width;
    this.#lifecycle.setSliceEnd(life, now, left);
    if (!narrower && pool.sliceEnd(life.worker) > end) pool.setSliceEnd(life.worker, end);
  }

  #pollBlocked(life: Life, now: Instant): void {
    const { blocked } = this.#lifecycle;
    const { state } = this.#lifecycle.observe(life);
    if (state === 'gone') this.#lifecycle.end(life, 'exited', now);
    else if (state === 'runnable') this.#lifecycle.wake(life, now);
    else blocked.enqueue(blocked.dequeue());
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
