/**
 * Random workloads, and a run of one on the model kernel that checks every rule after every step.
 */
import fc from 'fast-check';
import { assert } from '../../src/contracts/errors.js';
import type { Decision, SfsParameters } from '../../src/contracts/scheduler.js';
import { duration, instant } from '../../src/contracts/time.js';
import { Driver } from '../scheduler/driver.js';
import type { ModelOptions, ModelProgram } from '../scheduler/model-kernel.js';
import { Ledger } from './ledger.js';
import { busiestWindow, busySpans, type Counted, naiveSlice } from './naive.js';

export type Step =
  | {
      readonly kind: 'start';
      readonly program: ModelProgram;
      readonly cfs: boolean;
      readonly busyPeriod: boolean;
      /** How long before its submission it arrived. */
      readonly ago: number;
    }
  /** Acts on one of those started so far. */
  | { readonly kind: 'cancel' | 'complete' | 'kill'; readonly which: number }
  | { readonly kind: 'workers'; readonly count: number }
  | { readonly kind: 'nothing' };

export interface Workload {
  readonly parameters: Partial<SfsParameters>;
  readonly model: Partial<ModelOptions>;
  readonly latenessMax: number;
  readonly steps: readonly { readonly wait: number; readonly step: Step }[];
}

const task = fc
  .record({
    demand: fc.integer({ min: 100, max: 60_000 }),
    sleeps: fc.array(
      fc.record({ share: fc.integer({ min: 0, max: 99 }), length: fc.integer({ min: 100, max: 40_000 }) }),
      { maxLength: 3 },
    ),
  })
  .map(({ demand, sleeps }) => ({
    demand,
    sleeps: sleeps
      .map(({ share, length }) => ({ atCpu: Math.floor((demand * share) / 100), length }))
      .sort((left, right) => left.atCpu - right.atCpu),
  }));

const program: fc.Arbitrary<ModelProgram> = fc
  .record({
    tasks: fc.oneof(
      { weight: 4, arbitrary: fc.array(task, { minLength: 1, maxLength: 1 }) },
      { weight: 1, arbitrary: fc.array(task, { minLength: 2, maxLength: 5 }) },
    ),
    fault: fc.oneof(
      { weight: 20, arbitrary: fc.constant('none' as const) },
      { weight: 1, arbitrary: fc.constant('attach' as const) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 3 }) },
    ),
  })
  .map(({ tasks, fault }) => ({
    tasks,
    ...(fault === 'attach' ? { attach: 'denied' as const } : {}),
    ...(typeof fault === 'number' ? { promotionsAllowed: fault } : {}),
  }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('start' as const),
      program,
      cfs: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 9),
      busyPeriod: fc.integer({ min: 0, max: 3 }).map((roll) => roll === 3),
      ago: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 8000 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('cancel' as const, 'complete' as const, 'kill' as const),
      which: fc.nat(1000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('workers' as const), count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'nothing' as const }) },
);

export const workload: fc.Arbitrary<Workload> = fc.record({
  parameters: fc
    .record({
      workers: fc.integer({ min: 1, max: 4 }),
      pinned: fc.boolean(),
      window: fc.integer({ min: 1, max: 12 }),
      sliceInitial: fc.integer({ min: 2000, max: 40_000 }),
      overloadFactor: fc.constantFrom(1, 2.5, 3, Number.POSITIVE_INFINITY),
      ioAware: fc.constantFrom(true, true, true, false),
      budgetShare: fc.constantFrom(1, 0.93, 0.93, 0.5, 0.2),
      budgetWindow: fc.constantFrom(100_000, 100_000, 20_000, 777),
      blockedPerPollMax: fc.constantFrom(1, 3, 64),
    })
    .map((drawn) => ({
      ...drawn,
      sliceInitial: duration(drawn.sliceInitial),
      budgetWindow: duration(drawn.budgetWindow),
      sliceMax: duration(60_000),
      gapMax: duration(30_000),
    })),
  model: fc.record({
    cores: fc.integer({ min: 1, max: 5 }),
    observationLag: fc.constantFrom(0, 1000, 4000).map((lag) => duration(lag)),
    seed: fc.nat(1000),
    exactAfterPromotion: fc.boolean(),
    overheadShare: fc.constantFrom(0, 0, 0.05, 0.7),
  }),
  latenessMax: fc.constantFrom(0, 0, 300),
  steps: fc.array(
    fc.record({
      wait: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 30_000 })),
      step,
    }),
    { minLength: 1, maxLength: 40 },
  ),
});

/** Long enough for every workload above to end on one core. */
const horizon = 60_000_000;

/** Each reading is up to a microsecond below the truth, and a slice may take tens of them. */
const rounding = 50;

/** Runs it to its end; throws at the first rule that does not hold. */
export function runChecked(load: Workload): readonly Decision[] {
  return new CheckedRun(load).run();
}

class CheckedRun {
  readonly #load: Workload;
  readonly #driver: Driver;
  readonly #ledger: Ledger;
  readonly #fairFromStart = new Set<number>();
  readonly #counted: { readonly key: number; readonly busyPeriod: boolean; readonly arrival: Counted }[] = [];
  readonly #endedAt = new Map<number, number>();
  readonly #sliceBounds = new Map<number, number>();
  readonly #started: number[] = [];
  #decisionsTaken = 0;
  #workers: number;
  #random: number;

  constructor(load: Workload) {
    this.#load = load;
    this.#driver = new Driver(load.parameters, load.model);
    this.#ledger = new Ledger(this.#fairFromStart);
    this.#workers = load.parameters.workers ?? 2;
    this.#random = load.model.seed ?? 0;
    this.#driver.onStep = () => this.#check();
    this.#driver.lateness = () => duration(this.#draw() * load.latenessMax);
  }

  run(): readonly Decision[] {
    const driver = this.#driver;
    for (const { wait, step } of this.#load.steps) {
      driver.runUntil(instant(driver.now + wait));
      this.#act(step);
    }
    while (driver.scheduler.view.live > 0 && driver.now < horizon) {
      driver.runUntil(instant(driver.now + 100_000));
    }
    this.#checkEnd();
    return driver.log.all;
  }

  /** Mulberry32's mixing: 0 up to 1, the same for the same workload. */
  #draw(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  #act(step: Step): void {
    const driver = this.#driver;
    if (step.kind === 'start') this.#start(step);
    if (step.kind === 'workers') this.#setWorkers(step.count);
    if (step.kind === 'start' || step.kind === 'workers' || step.kind === 'nothing') return;
    const key = this.#started[step.which % Math.max(1, this.#started.length)];
    const group = [...driver.kernel.groups()].find((one) => one.key === key);
    if (key === undefined || group?.key === undefined) return;
    const taskGroup = driver.group(group.key);
    if (step.kind === 'kill') driver.kernel.kill(taskGroup);
    else driver.scheduler.end(group.key, step.kind === 'cancel' ? 'cancelled' : 'completed');
    driver.tick();
  }

  #start(step: Extract<Step, { kind: 'start' }>): void {
    const driver = this.#driver;
    const key = this.#started.length + 1;
    this.#started.push(key);
    if (step.cfs) this.#fairFromStart.add(key);
    const now = driver.now;
    const refused = step.program.attach === 'denied';
    if (refused) this.#endedAt.set(key, now);
    if (!step.cfs && !refused) {
      const countedAt = step.busyPeriod ? now + 1000 : now;
      const arrival = {
        at: step.busyPeriod ? countedAt : now - step.ago,
        countedAt,
        order: step.busyPeriod ? key - 1e6 : key,
      };
      this.#counted.push({ key, busyPeriod: step.busyPeriod, arrival });
    }
    driver.start(step.program, {
      key,
      arrivedAt: instant(now - step.ago),
      entry: step.busyPeriod ? 'begin' : 'submit',
      ...(step.cfs ? { policy: 'cfs' as const } : {}),
    });
  }

  #setWorkers(count: number): void {
    const { scheduler } = this.#driver;
    this.#takeDecisions();
    const excess = Array.from(scheduler.view.workers)
      .slice(count)
      .filter((key) => key !== 0);
    scheduler.setWorkers(count);
    this.#workers = count;
    this.#takeDecisions();
    this.#ledger.putBack(excess);
    this.#driver.tick();
  }

  #takeDecisions(): void {
    const { all } = this.#driver.log;
    for (; this.#decisionsTaken < all.length; this.#decisionsTaken += 1) {
      const decision = all[this.#decisionsTaken];
      if (decision === undefined) return;
      this.#ledger.take(decision);
      this.#checkSlice(decision);
      if (decision.kind === 'ended') this.#endedAt.set(decision.key, decision.at);
    }
  }

  /** What a slice is worth, by the kernel's exact account. */
  #checkSlice(decision: Decision): void {
    const { key, kind } = decision;
    if (kind === 'promoted' && !this.#sliceBounds.has(key)) this.#sliceBounds.set(key, decision.value);
    if (kind !== 'demoted') return;
    const bound = this.#sliceBounds.get(key) ?? 0;
    assert(decision.extra === bound, `the slice of the first pick-up binds: ${decision.extra}, not ${bound}`);
    const { chargedCpu } = this.#driver.kernel.inspect(this.#driver.group(decision.key));
    const kept = chargedCpu >= bound - 500 - rounding;
    assert(
      kept || this.#load.model.exactAfterPromotion === false,
      `${key} lost its slice: ${chargedCpu} of ${bound}`,
    );
  }

  #check(): void {
    this.#takeDecisions();
    const { kernel, scheduler, now } = this.#driver;
    const { view } = scheduler;
    const held = Array.from(view.workers).filter((key) => key !== 0);
    assert(view.workers.length === this.#workers && new Set(held).size === held.length, 'a worker holds one');
    assert(sameSet(held, this.#ledger.keysIn('filter')), 'workers hold what the log says');
    assert(view.queueLength === this.#ledger.queue.length, 'the queue is as long as the log says');
    assert(view.blocked === this.#ledger.keysIn('blocked').length, 'as many are blocked as the log says');
    const live = this.#ledger.places.size - this.#ledger.keysIn('ended').length;
    assert(view.live === live, `none is lost: ${view.live} live, ${live} by the log`);
    assert(view.paused === this.#ledger.paused, 'pauses are logged');
    const idle = Array.from(view.workers).some((key, worker) => key === 0 && !this.#ledger.isPaused(worker));
    assert(!idle || view.queueLength === 0, 'no worker idles while invocations wait');

    let promoted = 0;
    for (const group of kernel.groups()) {
      if (group.promoted) {
        promoted += 1;
        assert(group.key !== undefined && held.includes(group.key), 'what is promoted has a worker');
        assert(!this.#ledger.isPaused(group.worker), 'nothing is promoted in a pause');
      }
      this.#checkFifoTime(group.pid - 100, group.chargedCpu, group.tasks.length);
    }
    assert(promoted <= this.#workers, 'no more are promoted than there are workers');
    this.#checkNaiveSlice(now);
  }

  #checkFifoTime(key: number, chargedCpu: number, tasks: number): void {
    const bound = this.#sliceBounds.get(key);
    if (bound === undefined) {
      assert(chargedCpu === 0, 'only the picked up are real-time');
      return;
    }
    const width = Math.min(tasks, this.#load.model.cores ?? 1);
    const late = this.#load.latenessMax + rounding;
    // Threads that the timer did not know of are seen at the next poll, as far as the lag lets them be seen.
    const unseen = 4000 + 500 + (this.#load.model.observationLag ?? 0);
    const over = tasks === 1 ? late : (unseen + late) * width;
    assert(
      chargedCpu <= bound + over,
      `${key} was charged ${chargedCpu}, its slice ${bound}, at most ${over} over`,
    );
  }

  #checkNaiveSlice(now: number): void {
    const arrivals = this.#counted
      .filter(({ key, busyPeriod, arrival }) => {
        const endedAt = this.#endedAt.get(key);
        const ranLongEnough = endedAt === undefined || endedAt >= arrival.countedAt;
        return arrival.countedAt <= now && (!busyPeriod || ranLongEnough);
      })
      .map((entry) => entry.arrival);
    const expected = naiveSlice(arrivals, {
      window: this.#load.parameters.window ?? 100,
      workers: this.#workers,
      sliceInitial: this.#load.parameters.sliceInitial ?? 20_000,
      sliceMin: 2000,
      sliceMax: 60_000,
      gapMax: 30_000,
    });
    const { slice } = this.#driver.scheduler.view;
    assert(slice === expected, `S is ${slice}, by the whole history ${expected}`);
  }

  #checkEnd(): void {
    const { kernel, log, scheduler, now } = this.#driver;
    assert(scheduler.view.live === 0, 'all have ended');
    const attaches = kernel.events.filter((event) => event.kind === 'attach').length;
    const releases = kernel.events.filter((event) => event.kind === 'release').length;
    assert(attaches === releases, `what is attached is released once: ${attaches}, ${releases}`);
    assert(log.of('ended').length === log.of('arrived').length, 'what arrives ends once');
    scheduler.drain();
    for (const group of kernel.groups()) assert(!group.promoted && !group.attached, 'nothing is kept');
    this.#checkBudget(now);
  }

  #checkBudget(now: number): void {
    const { budgetShare = 1, budgetWindow = 100_000 } = this.#load.parameters;
    if (budgetShare === 1) return;
    const { events } = this.#driver.kernel;
    // Pinned: one budget a worker, and so a core; floating: -1, one for all.
    const lanes = [...new Set(events.map((event) => event.worker))];
    const busiest = Math.max(
      0,
      ...lanes.map((lane) => {
        const own = events.filter((event) => event.worker === lane);
        return busiestWindow(busySpans(own, now), budgetWindow);
      }),
    );
    const allowed = budgetShare * budgetWindow + this.#load.latenessMax;
    assert(
      busiest <= allowed + 1e-6,
      `FILTER was busy for ${busiest} of ${budgetWindow}, allowed ${allowed}`,
    );
  }
}

function sameSet(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((key) => right.includes(key));
}
