/**
 * What the scheduling plane shows of itself: one block of doubles in shared memory, written in place after each turn of the
 * loop and read whenever status is asked for. Each field is one aligned 8-byte store; a reader may see two fields of
 * different turns, which status can bear. Three scalars go the other way.
 *
 *   scalars | counters | FILTER workers (key or 0) | their ranks | targets by way and reason | lateness histogram (Int32, 10 us a bucket)
 */

import {
  type TargetCount,
  type TargetReason,
  type TargetWay,
  targetReasons,
  targetWays,
} from '../../contracts/modes.js';
import { counterNames, type SchedulerCounters, type SchedulerView } from '../../contracts/scheduler.js';
import type { LoopStatus } from '../../contracts/scheduling-plane.js';
import { type Duration, duration } from '../../contracts/time.js';

/** Where each scalar lies. */
const scalars = {
  slice: 0,
  queueLength: 1,
  live: 2,
  blocked: 3,
  workerCount: 4,
  paused: 5,
  budgetUsed: 6,
  polling: 7,
  scheduling: 8,
  turns: 9,
  tid: 10,
  lateMax: 11,
  // Written by the control plane, for the scheduling thread: what launching costs, see LaunchAccount.
  spawnerPid: 12,
  births: 13,
  protectedCores: 14,
  /** 1: the policy ranks what it holds. */
  ranked: 15,
} as const;
type ScalarName = keyof typeof scalars;

const counterBase = Object.keys(scalars).length;
const workerBase = counterBase + counterNames.length;
/** Largest c that status can show. */
export const workersMax = 1024;
const rankBase = workerBase + workersMax;
const targetBase = rankBase + workersMax;
const doublesInAll = targetBase + targetWays.length * targetReasons.length;

const bucketWidth = 10;
/** 50 ms in buckets of 10 us; the last holds all above. */
const bucketCount = 5001;

export function allocatePlaneState(): SharedArrayBuffer {
  return new SharedArrayBuffer(doublesInAll * 8 + bucketCount * 4);
}

export class PlaneState {
  readonly #doubles: Float64Array;
  readonly #late: Int32Array;

  constructor(shared: SharedArrayBuffer) {
    this.#doubles = new Float64Array(shared, 0, doublesInAll);
    this.#late = new Int32Array(shared, doublesInAll * 8, bucketCount);
  }

  get(name: ScalarName): number {
    return this.#doubles[scalars[name]] ?? 0;
  }

  set(name: ScalarName, value: number): void {
    this.#doubles[scalars[name]] = value;
  }

  worker(index: number): number {
    return this.#doubles[workerBase + index] ?? 0;
  }

  /** Of what the worker holds; undefined: the policy has no ranks. */
  rank(index: number): Duration | undefined {
    return this.get('ranked') === 1 ? duration(this.#doubles[rankBase + index] ?? 0) : undefined;
  }

  counters(): SchedulerCounters {
    const read = (name: (typeof counterNames)[number]) =>
      this.#doubles[counterBase + counterNames.indexOf(name)] ?? 0;
    return Object.fromEntries(counterNames.map((name) => [name, read(name)])) as unknown as SchedulerCounters;
  }

  /** Copies the policy's view; allocates nothing. */
  publish(view: SchedulerView): void {
    const doubles = this.#doubles;
    doubles[scalars.slice] = view.slice;
    doubles[scalars.queueLength] = view.queueLength;
    doubles[scalars.live] = view.live;
    doubles[scalars.blocked] = view.blocked;
    doubles[scalars.workerCount] = view.workers.length;
    doubles[scalars.paused] = view.paused ? 1 : 0;
    doubles[scalars.budgetUsed] = view.budgetUsed;
    const counters = view.counters;
    for (let index = 0; index < counterNames.length; index += 1) {
      doubles[counterBase + index] = counters[counterNames[index] ?? 'polls'];
    }
    const workers = Math.min(view.workers.length, workersMax);
    for (let index = 0; index < workers; index += 1) doubles[workerBase + index] = view.workers[index] ?? 0;
    const { ranks } = view;
    if (ranks === undefined) return;
    doubles[scalars.ranked] = 1;
    for (let index = 0; index < workers; index += 1) doubles[rankBase + index] = ranks[index] ?? 0;
  }

  /** By the scheduling thread. */
  countTarget(way: TargetWay, reason: TargetReason): void {
    const index = targetBase + targetWays.indexOf(way) * targetReasons.length + targetReasons.indexOf(reason);
    this.#doubles[index] = (this.#doubles[index] ?? 0) + 1;
  }

  /** Those that there are. */
  targets(): TargetCount[] {
    return targetWays
      .flatMap((way, row) =>
        targetReasons.map((reason, column) => ({
          way,
          reason,
          targets: this.#doubles[targetBase + row * targetReasons.length + column] ?? 0,
        })),
      )
      .filter(({ targets }) => targets > 0);
  }

  /** One timed wait that woke `late` microseconds after it should have. */
  recordLateness(late: Duration): void {
    const bucket = Math.min(bucketCount - 1, Math.max(0, Math.floor(late / bucketWidth)));
    this.#late[bucket] = (this.#late[bucket] ?? 0) + 1;
    if (late > this.get('lateMax')) this.set('lateMax', late);
  }

  lateness(): LoopStatus {
    let samples = 0;
    for (const count of this.#late) samples += count;
    return {
      samples,
      lateP50: this.#latePercentile(samples * 0.5),
      lateP99: this.#latePercentile(samples * 0.99),
      lateMax: duration(this.get('lateMax')),
    };
  }

  /** Upper edge of the bucket that holds the rank. */
  #latePercentile(rank: number): Duration {
    let below = 0;
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      below += this.#late[bucket] ?? 0;
      if (below >= rank && below > 0) return duration((bucket + 1) * bucketWidth);
    }
    return duration(0);
  }
}
