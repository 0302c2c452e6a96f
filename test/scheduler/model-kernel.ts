/**
 * A kernel in a few hundred lines, for tests of policies: simulated time, tasks that need CPU time and sleep, `cores` cores.
 *
 * - SCHED_FIFO tasks run one to a core, in the order of their promotion; those beyond the cores wait.
 * - SCHED_OTHER tasks share the cores that are left evenly, a task on at most one core (the limit of a fair scheduler whose
 *   slices go to zero).
 * - CPU time seen from outside lags: it moves at scheduler ticks, `observationLag` apart and with a phase of each group's own
 *   drawn from the seed, and is exact once the group does not run or its policy has just changed.
 * - Faults: a group may refuse `attach`, or refuse `promote` after some successes, and `kill` ends it at any time.
 *
 * It is strict: a call that breaks the port's protocol is a failed assertion. Every change of policy goes to `events`, which
 * tests read as the truth about who was real-time when.
 */
import { assert } from '../../src/contracts/errors.js';
import type { InvocationKey } from '../../src/contracts/invocation.js';
import type { Kernel, Observation } from '../../src/contracts/kernel.js';
import type { TaskGroup } from '../../src/contracts/task-group.js';
import { type Clock, type Duration, duration, type Instant, instant } from '../../src/contracts/time.js';

export interface ModelSleep {
  /** CPU time the task has used when it falls asleep, in microseconds. */
  readonly atCpu: number;
  readonly length: number;
}

export interface ModelTask {
  /** CPU time it needs, in microseconds. */
  readonly demand: number;
  /** In the order of atCpu; `atCpu` below demand. */
  readonly sleeps?: readonly ModelSleep[];
}

export interface ModelProgram {
  /** One entry a thread. */
  readonly tasks: readonly ModelTask[];
  readonly attach?: 'denied';
  /** How many promotions succeed before the rest are denied; absent: all. */
  readonly promotionsAllowed?: number;
}

export interface ModelOptions {
  readonly cores: number;
  readonly observationLag?: Duration;
  readonly seed?: number;
  /** Of all time, what the daemon is said to use. */
  readonly overheadShare?: number;
  /** false: only a demotion makes a reading exact, which is all that the port promises. */
  readonly exactAfterPromotion?: boolean;
}

export type ModelEventKind = 'attach' | 'promote' | 'pause' | 'demote' | 'release' | 'exit';

export interface ModelEvent {
  readonly at: Instant;
  readonly kind: ModelEventKind;
  readonly pid: number;
  /** The worker whose core the group is bound to; -1: it floats. */
  readonly worker: number;
}

interface Task {
  readonly demand: number;
  readonly sleeps: readonly ModelSleep[];
  sleepsDone: number;
  cpu: number;
  /** Cores it gets now: 0 to 1. */
  rate: number;
  wakesAt: number;
  ended: boolean;
}

export interface ModelGroup {
  readonly pid: number;
  readonly program: ModelProgram;
  readonly tasks: readonly Task[];
  readonly tickPhase: number;
  attached: boolean;
  key: InvocationKey | undefined;
  promoted: boolean;
  paused: boolean;
  /** Rank among the promoted. */
  promotedRank: number;
  promotions: number;
  worker: number;
  exited: boolean;
  cpuAtAttach: number;
  cpuVisible: number;
  /** CPU time used while promoted or paused, exact. */
  chargedCpu: number;
  /** When its last task ended; undefined while it lives. */
  endedAt: Instant | undefined;
}

/** Times closer than this are one. Microseconds. */
const epsilon = 1e-6;

export class ModelKernel implements Kernel {
  readonly clock: Clock;
  readonly observationLagMax: Duration;
  readonly events: ModelEvent[] = [];
  readonly #options: ModelOptions;
  readonly #groups = new Map<number, ModelGroup>();
  /** Not exited. */
  readonly #running = new Set<ModelGroup>();
  readonly #exits: InvocationKey[] = [];
  readonly #observation: Observation = { state: 'runnable', cpuTime: duration(0), runnableMax: 1 };
  #time = 0;
  #ranks = 0;
  #pids = 100;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.observationLagMax = options.observationLag ?? duration(0);
    this.clock = { now: () => instant(Math.floor(this.#time + epsilon)) };
  }

  /** A process of the program's tasks starts now. */
  spawn(program: ModelProgram): TaskGroup {
    this.#pids += 1;
    const pid = this.#pids;
    const group: ModelGroup = {
      pid,
      program,
      tasks: program.tasks.map(newTask),
      tickPhase: phaseOf(pid, this.#options.seed ?? 0) * this.observationLagMax,
      attached: false,
      key: undefined,
      promoted: false,
      paused: false,
      promotedRank: 0,
      promotions: 0,
      worker: -1,
      exited: false,
      cpuAtAttach: 0,
      cpuVisible: 0,
      chargedCpu: 0,
      endedAt: undefined,
    };
    this.#groups.set(pid, group);
    this.#running.add(group);
    this.#settle();
    return { kind: 'process', pid, startTime: String(pid) };
  }

  kill(group: TaskGroup): void {
    for (const task of this.#of(group).tasks) task.ended = true;
    this.#settle();
  }

  /** The model's own account of a group, for assertions. */
  inspect(group: TaskGroup): Readonly<ModelGroup> {
    return this.#of(group);
  }

  groups(): Iterable<Readonly<ModelGroup>> {
    return this.#groups.values();
  }

  /** Keys whose groups have exited since the last call, in order. */
  takeExits(): InvocationKey[] {
    return this.#exits.splice(0);
  }

  /** Runs until `target`, or until the microsecond in which an attached group exits. */
  advanceTo(target: Instant): void {
    let end: number = target;
    while (this.#time < end - epsilon) {
      const exitsBefore = this.#exits.length;
      this.#advanceBy(Math.min(this.#untilChange(), end - this.#time));
      this.#settle();
      if (this.#exits.length > exitsBefore) end = Math.min(end, Math.ceil(this.#time - epsilon));
    }
    this.#time = Math.max(this.#time, end);
  }

  overhead(): Duration {
    return duration(Math.floor(this.#time * (this.#options.overheadShare ?? 0)));
  }

  attach(taskGroup: TaskGroup, key: InvocationKey): 'ok' | 'gone' | 'denied' {
    const group = this.#of(taskGroup);
    if (group.program.attach === 'denied') return 'denied';
    if (group.exited) return 'gone';
    group.attached = true;
    group.key = key;
    group.cpuAtAttach = cpuOf(group);
    group.cpuVisible = group.cpuAtAttach;
    this.#note('attach', group);
    return 'ok';
  }

  promote(taskGroup: TaskGroup, worker = -1): 'ok' | 'gone' | 'denied' {
    const group = this.#attached(taskGroup);
    if (group.exited) return 'gone';
    if (group.promotions >= (group.program.promotionsAllowed ?? Number.POSITIVE_INFINITY)) return 'denied';
    group.promotions += 1;
    if (group.promoted) return 'ok';
    group.promoted = true;
    group.paused = false;
    group.worker = worker;
    this.#ranks += 1;
    group.promotedRank = this.#ranks;
    if (this.#options.exactAfterPromotion !== false) group.cpuVisible = cpuOf(group);
    this.#note('promote', group);
    this.#settle();
    return 'ok';
  }

  pause(taskGroup: TaskGroup): 'ok' | 'gone' {
    const group = this.#attached(taskGroup);
    if (group.exited) return 'gone';
    if (group.paused) return 'ok';
    if (!group.promoted) {
      this.#ranks += 1;
      group.promotedRank = this.#ranks;
    }
    group.promoted = false;
    group.paused = true;
    if (this.#options.exactAfterPromotion !== false) group.cpuVisible = cpuOf(group);
    this.#note('pause', group);
    this.#settle();
    return 'ok';
  }

  demote(taskGroup: TaskGroup): 'ok' | 'gone' {
    const group = this.#attached(taskGroup);
    if (group.exited) return 'gone';
    this.#demote(group);
    return 'ok';
  }

  observe(taskGroup: TaskGroup): Readonly<Observation> {
    const group = this.#attached(taskGroup);
    const seen = this.#observation;
    const runnable = group.tasks.filter((task) => isRunnable(task, this.#time)).length;
    seen.state = group.exited ? 'gone' : runnable > 0 ? 'runnable' : 'blocked';
    seen.cpuTime = duration(Math.floor(group.cpuVisible - group.cpuAtAttach + epsilon));
    seen.runnableMax = Math.max(1, runnable);
    return seen;
  }

  release(taskGroup: TaskGroup): void {
    const group = this.#attached(taskGroup);
    this.#demote(group);
    group.attached = false;
    group.key = undefined;
    this.#note('release', group);
  }

  #demote(group: ModelGroup): void {
    group.cpuVisible = cpuOf(group);
    if (!group.promoted && !group.paused) return;
    group.promoted = false;
    group.paused = false;
    this.#note('demote', group);
    this.#settle();
  }

  #note(kind: ModelEventKind, group: ModelGroup): void {
    this.events.push({ at: this.clock.now(), kind, pid: group.pid, worker: group.worker });
  }

  #of(group: TaskGroup): ModelGroup {
    assert(group.kind === 'process', 'the model knows processes');
    const found = this.#groups.get(group.pid);
    assert(found !== undefined, 'the model started this process');
    return found;
  }

  #attached(taskGroup: TaskGroup): ModelGroup {
    const group = this.#of(taskGroup);
    assert(group.attached, `the group is attached: pid ${group.pid}`);
    return group;
  }

  #untilChange(): number {
    let dt = Number.POSITIVE_INFINITY;
    for (const group of this.#running) {
      for (const task of group.tasks) {
        if (task.ended) continue;
        if (task.wakesAt > this.#time) dt = Math.min(dt, task.wakesAt - this.#time);
        else if (task.rate > 0) dt = Math.min(dt, (stopsAt(task) - task.cpu) / task.rate);
      }
    }
    return Math.max(dt, 0);
  }

  #advanceBy(dt: number): void {
    const from = this.#time;
    this.#time = from + dt;
    const lag = this.observationLagMax;
    for (const group of this.#running) {
      const rate = group.tasks.reduce((total, task) => total + task.rate, 0);
      if (rate === 0) continue;
      if (lag > 0) {
        const tick = Math.floor((this.#time - group.tickPhase) / lag) * lag + group.tickPhase;
        if (tick > from) group.cpuVisible = cpuOf(group) + rate * (tick - from);
      }
      for (const task of group.tasks) task.cpu += task.rate * dt;
      if (group.promoted || group.paused) group.chargedCpu += rate * dt;
      if (lag === 0) group.cpuVisible = cpuOf(group);
    }
  }

  /** Ends and puts to sleep what is due, then deals out the cores. */
  #settle(): void {
    for (const group of this.#running) {
      for (const task of group.tasks) stop(task, this.#time);
      if (group.tasks.every((task) => task.ended)) this.#exit(group);
    }
    this.#dealCores();
    for (const group of this.#running) {
      if (group.tasks.every((task) => task.rate === 0)) group.cpuVisible = cpuOf(group);
    }
  }

  #exit(group: ModelGroup): void {
    this.#running.delete(group);
    group.exited = true;
    group.promoted = false;
    group.paused = false;
    group.cpuVisible = cpuOf(group);
    group.endedAt = instant(Math.ceil(this.#time - epsilon));
    for (const task of group.tasks) task.rate = 0;
    this.events.push({ at: group.endedAt, kind: 'exit', pid: group.pid, worker: group.worker });
    if (group.key !== undefined) this.#exits.push(group.key);
  }

  #dealCores(): void {
    const first = [...this.#running].filter((group) => group.promoted || group.paused);
    first.sort((left, right) => left.promotedRank - right.promotedRank);
    let free = this.#options.cores;
    for (const task of first.flatMap((group) => group.tasks)) {
      const runs = free > 0 && isRunnable(task, this.#time);
      task.rate = runs ? 1 : 0;
      if (runs) free -= 1;
    }
    const others = [...this.#running]
      .filter((group) => !first.includes(group))
      .flatMap((group) => group.tasks);
    const runnable = others.filter((task) => isRunnable(task, this.#time)).length;
    const share = runnable === 0 ? 0 : Math.min(1, free / runnable);
    for (const task of others) task.rate = isRunnable(task, this.#time) ? share : 0;
  }
}

function newTask(task: ModelTask): Task {
  return {
    demand: task.demand,
    sleeps: task.sleeps ?? [],
    sleepsDone: 0,
    cpu: 0,
    rate: 0,
    wakesAt: 0,
    ended: false,
  };
}

function isRunnable(task: Task, time: number): boolean {
  return !task.ended && task.wakesAt <= time + epsilon;
}

/** The CPU time at which it next sleeps or ends. */
function stopsAt(task: Task): number {
  return task.sleeps[task.sleepsDone]?.atCpu ?? task.demand;
}

function stop(task: Task, time: number): void {
  if (!isRunnable(task, time) || task.cpu < stopsAt(task) - epsilon) return;
  const sleep = task.sleeps[task.sleepsDone];
  task.cpu = stopsAt(task);
  if (sleep === undefined) task.ended = true;
  else {
    task.sleepsDone += 1;
    task.wakesAt = time + sleep.length;
  }
}

function cpuOf(group: ModelGroup): number {
  return group.tasks.reduce((total, task) => total + task.cpu, 0);
}

/** A number from 0 up to 1 that looks random and depends on the two alone. */
function phaseOf(pid: number, seed: number): number {
  let mixed = Math.imul(pid ^ (seed << 8), 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
}
