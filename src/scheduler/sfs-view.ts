/**
 * What the policy shows of itself. Every property is read where it lives, so that keeping the view up to date costs the
 * scheduling loop nothing.
 */
import type { SchedulerCounters, SchedulerView } from '../contracts/scheduler.js';
import type { Clock, Duration } from '../contracts/time.js';
import type { Lifecycle } from './lifecycle.js';

export interface SfsParts {
  readonly clock: Clock;
  readonly lifecycle: Lifecycle;
  /** Says S now. */
  readonly estimator: { readonly slice: Duration };
  readonly budgetWindow: Duration;
  /** Absent: the policy has none. */
  readonly ranks?: () => ArrayLike<number>;
}

export class SfsView implements SchedulerView {
  readonly #parts: SfsParts;

  constructor(parts: SfsParts) {
    this.#parts = parts;
  }

  get slice(): Duration {
    return this.#parts.estimator.slice;
  }

  get queueLength(): number {
    return this.#parts.lifecycle.queue.length;
  }

  get live(): number {
    return this.#parts.lifecycle.lives.count;
  }

  get blocked(): number {
    return this.#parts.lifecycle.blocked.length;
  }

  get workers(): ArrayLike<number> {
    return this.#parts.lifecycle.pool.keys;
  }

  get ranks(): ArrayLike<number> | undefined {
    return this.#parts.ranks?.();
  }

  get paused(): boolean {
    for (const lane of this.#parts.lifecycle.lanes) if (lane.paused) return true;
    return false;
  }

  get budgetUsed(): number {
    const { lifecycle, clock, budgetWindow } = this.#parts;
    const now = clock.now();
    let used = 0;
    for (const lane of lifecycle.lanes) used = Math.max(used, lane.budget.used(now));
    return used / budgetWindow;
  }

  get counters(): Readonly<SchedulerCounters> {
    return this.#parts.lifecycle.counters;
  }
}

export function newCounters(): SchedulerCounters {
  return {
    arrivals: 0,
    promotions: 0,
    demotions: 0,
    blocks: 0,
    wakes: 0,
    bypasses: 0,
    preemptions: 0,
    completions: 0,
    denials: 0,
    budgetPauses: 0,
    sliceUpdates: 0,
    polls: 0,
    observations: 0,
  };
}
