/**
 * What the scheduling plane shows of itself: one block of doubles in shared memory, written in place after each turn of the
 * loop and read whenever status is asked for. Each field is one aligned 8-byte store; a reader may see two fields of
 * different turns, which status can bear. Two scalars go the other way.
 *
 *   scalars | counters | FILTER workers (key or 0) | lateness histogram (Int32, 10 us a bucket)
 */
import type { SchedulerCounters, SchedulerView } from '../../contracts/scheduler.js';
import type { LoopStatus } from '../../contracts/scheduling-plane.js';
import { type Duration, duration } from '../../contracts/time.js';

const scalarNames = [
  'slice',
  'queueLength',
  'live',
  'blocked',
  'workerCount',
  'paused',
  'budgetUsed',
  'polling',
  'scheduling',
  'turns',
  'tid',
  'lateMax',
  // Written by the control plane, for the scheduling thread: what launching costs, see LaunchAccount.
  'spawnerPid',
  'births',
] as const;
type ScalarName = (typeof scalarNames)[number];

const counterNames = [
  'arrivals',
  'promotions',
  'demotions',
  'blocks',
  'wakes',
  'bypasses',
  'completions',
  'denials',
  'budgetPauses',
  'sliceUpdates',
  'polls',
  'observations',
] as const satisfies readonly (keyof SchedulerCounters)[];

const scalarBase = 0;
const counterBase = scalarNames.length;
const workerBase = counterBase + counterNames.length;
/** Largest c that status can show. */
export const workersMax = 1024;
const doublesInAll = workerBase + workersMax;

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
    return this.#doubles[scalarBase + scalarNames.indexOf(name)] ?? 0;
  }

  set(name: ScalarName, value: number): void {
    this.#doubles[scalarBase + scalarNames.indexOf(name)] = value;
  }

  worker(index: number): number {
    return this.#doubles[workerBase + index] ?? 0;
  }

  counters(): SchedulerCounters {
    const read = (name: (typeof counterNames)[number]) =>
      this.#doubles[counterBase + counterNames.indexOf(name)] ?? 0;
    return Object.fromEntries(counterNames.map((name) => [name, read(name)])) as unknown as SchedulerCounters;
  }

  /** Copies the policy's view; allocates nothing. */
  publish(view: SchedulerView): void {
    const doubles = this.#doubles;
    doubles[0] = view.slice;
    doubles[1] = view.queueLength;
    doubles[2] = view.live;
    doubles[3] = view.blocked;
    doubles[4] = view.workers.length;
    doubles[5] = view.paused ? 1 : 0;
    doubles[6] = view.budgetUsed;
    const counters = view.counters;
    for (let index = 0; index < counterNames.length; index += 1) {
      doubles[counterBase + index] = counters[counterNames[index] ?? 'polls'];
    }
    const workers = Math.min(view.workers.length, workersMax);
    for (let index = 0; index < workers; index += 1) doubles[workerBase + index] = view.workers[index] ?? 0;
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
