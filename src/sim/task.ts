/**
 * A simulated process of one thread: it needs CPU time, and sleeps whenever it has used what a sleep names.
 *
 *   cpu ──────▶ stopAt = at of the next sleep ── sleeps ──▶ … ──▶ stopAt = demand ── ends
 *
 * The classes keep their accounts in the task itself, one class at a time, so that an event costs no look-up and no allocation.
 */
import type { TaskGroup } from '../contracts/task-group.js';
import type { Duration, Instant } from '../contracts/time.js';
import { timeEpsilon } from './task-class.js';

/** Once it has used `at` of CPU time, it sleeps for `length`. */
export interface SimulatedSleep {
  readonly at: Duration;
  readonly length: Duration;
}

export interface SimulatedRequest {
  readonly functionName: string;
  readonly arrival: Duration;
  /** CPU time it needs. Above 0. */
  readonly demand: Duration;
  /** In the order of `at`, each below the demand. */
  readonly sleeps: readonly SimulatedSleep[];
}

/** fair: one of the fair scheduler's. promoted: real-time. paused: in the fair scheduler ahead of the others, until promoted again. */
export type Standing = 'fair' | 'promoted' | 'paused';

/** Weight of a task under the fair scheduler at nice 0, the unit. */
export const weightNormal = 1;

export class Task {
  /** Of its request in the run. */
  readonly index: number;
  readonly functionName: string;
  readonly arrivedAt: Instant;
  readonly demand: number;
  readonly sleeps: readonly SimulatedSleep[];
  readonly group: SimulatedGroup;
  sleepsDone = 0;
  state: 'runnable' | 'asleep' | 'ended' = 'runnable';
  standing: Standing = 'fair';
  weight = weightNormal;
  /** CPU time used, up to date when its class last settled it. */
  cpu = 0;
  /** CPU time at which it sleeps next, or ends. */
  stopAt: number;
  /** Used while promoted or paused. */
  chargedCpu = 0;
  chargedFrom = 0;
  endedAt = Number.NaN;
  killed = false;

  // Accounts of the class, or of the sleepers, that it is with.
  /** What its heap is ordered by. */
  due = 0;
  /** Its place in that heap; -1: in none. */
  place = -1;
  /** Up to when its running turn is accounted; while it does not run, when it last stopped. */
  runningSince = 0;
  /** Times that it came onto a core without having been on one just then. */
  turns = 0;
  core = -1;
  virtualTime = 0;
  deadline = 0;
  lag = 0;
  previous: Task | undefined;
  next: Task | undefined;
  queued = false;

  constructor(index: number, request: SimulatedRequest, arrivedAt: Instant) {
    this.index = index;
    this.functionName = request.functionName;
    this.arrivedAt = arrivedAt;
    this.demand = request.demand;
    this.sleeps = request.sleeps;
    this.stopAt = request.sleeps[0]?.at ?? request.demand;
    this.group = new SimulatedGroup(this);
  }

  /** It comes onto a core. Changing class there, or being picked again, is no new turn. */
  beginTurn(now: number): void {
    if (this.turns === 0 || now > this.runningSince + timeEpsilon) this.turns += 1;
  }
}

/** How the policy names a task; to the policy it is a process like any other. */
export class SimulatedGroup {
  readonly kind = 'process';
  readonly pid: number;
  readonly startTime = '0';
  readonly task: Task;

  constructor(task: Task) {
    this.pid = task.index + 1;
    this.task = task;
  }
}

/** The group names a simulated task: checked here, once for every call of the kernel's port. */
export function taskOf(group: TaskGroup): Task | undefined {
  return group instanceof SimulatedGroup ? group.task : undefined;
}
