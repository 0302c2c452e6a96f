/**
 * What must hold of a policy whatever happens, checked after every step of a host from what the machine and the decisions say:
 *
 *   - a worker holds at most one invocation, and no invocation is held twice
 *   - no invocation is lost: each is submitted, known to the policy, or has ended
 *   - what is promoted is held by a worker, so at most as many as there are workers
 *   - under SFS none is charged more than its slice and one poll interval (and what timers came late by)
 *   - in every window of the budget FILTER is busy for at most its share (and what timers came late by)
 */
import { assert } from '../contracts/errors.js';
import type { Admission, DecisionLog, SchedulerView, SfsParameters } from '../contracts/scheduler.js';
import { type Duration, toMs } from '../contracts/time.js';
import type { FaultRule } from './faults.js';
import { keyOf } from './plane.js';
import type { Task } from './task.js';

export interface CheckedRun {
  readonly policy: string;
  readonly parameters: SfsParameters;
  readonly faults: FaultRule;
  readonly tickLateness: Duration;
  readonly pickupDelay: Duration;
}

/** Readings are whole microseconds, and the budget's gap is one: a window may be off by some of them. */
const rounding = 4;

export class Invariants {
  readonly #run: CheckedRun;
  readonly #late: number;
  readonly #running = new Map<number, Task>();
  /** Ended, and the policy has not said so yet. */
  readonly #known = new Set<number>();
  readonly #submitted = new Set<number>();
  readonly #sliceBounds = new Map<number, number>();
  /** Times in which FILTER was busy, oldest first. */
  readonly #busy: { from: number; to: number }[] = [];
  #busySince = Number.NaN;

  constructor(run: CheckedRun) {
    this.#run = run;
    this.#late = run.faults.latenessMax + run.tickLateness + run.pickupDelay + rounding;
  }

  /** The log that the policy is given. */
  watch(log: DecisionLog): DecisionLog {
    return {
      record: (kind, at, key, worker, cpuTime, value, extra) => {
        const isSlice = kind === 'promoted' && this.#run.policy === 'sfs';
        if (isSlice && !this.#sliceBounds.has(key)) this.#sliceBounds.set(key, value);
        if (kind === 'ended') {
          assert(this.#known.delete(key), `${key} ends once`);
          this.#sliceBounds.delete(key);
        }
        log.record(kind, at, key, worker, cpuTime, value, extra);
      },
    };
  }

  started(task: Task): void {
    this.#running.set(keyOf(task), task);
    this.#submitted.add(keyOf(task));
  }

  admitted(task: Task, admission: Admission): void {
    const key = keyOf(task);
    assert(this.#submitted.delete(key), `${key} is submitted once`);
    assert(
      admission === 'ok' || (admission === 'gone' && !this.#running.has(key)),
      `${key} is taken: ${admission}`,
    );
    if (admission === 'ok') this.#known.add(key);
  }

  exited(task: Task): void {
    this.#checkCharge(task);
    this.#running.delete(keyOf(task));
  }

  check(view: SchedulerView, now: number): void {
    const held = new Set<number>();
    let holds = 0;
    for (let worker = 0; worker < view.workers.length; worker += 1) {
      const key = view.workers[worker] ?? 0;
      if (key === 0) continue;
      holds += 1;
      held.add(key);
    }
    assert(held.size === holds, 'no invocation is held by two workers');
    assert(view.live === this.#known.size, `none is lost: ${view.live} live, ${this.#known.size} not ended`);
    let promoted = 0;
    for (const [key, task] of this.#running) {
      assert(this.#known.has(key) || this.#submitted.has(key), `${key} is submitted or known`);
      this.#checkCharge(task);
      if (task.standing !== 'promoted') continue;
      promoted += 1;
      assert(held.has(key), `${key} is promoted and held`);
    }
    assert(promoted <= view.workers.length, 'no more are promoted than there are workers');
    this.#noteBusy(promoted > 0, now);
  }

  ended(now: number): void {
    this.#noteBusy(false, now);
    assert(this.#running.size === 0 && this.#submitted.size === 0, 'all have ended');
    assert(this.#known.size === 0, 'the policy knows of every end');
  }

  #checkCharge(task: Task): void {
    const bound = this.#sliceBounds.get(keyOf(task));
    if (bound === undefined) return;
    const since = task.standing === 'fair' ? 0 : task.cpu - task.chargedFrom;
    const charged = task.chargedCpu + since;
    const { pollInterval } = this.#run.parameters;
    assert(
      charged <= bound + pollInterval + this.#late,
      `${keyOf(task)} was charged ${charged}, its slice is ${bound}`,
    );
  }

  #noteBusy(busy: boolean, now: number): void {
    if (busy === !Number.isNaN(this.#busySince)) return;
    if (busy) {
      this.#busySince = now;
      return;
    }
    this.#busy.push({ from: this.#busySince, to: now });
    this.#busySince = Number.NaN;
    this.#checkBudget(now);
  }

  /** Of all windows, one that ends with a busy time is among the fullest. */
  #checkBudget(now: number): void {
    const { budgetShare, budgetWindow } = this.#run.parameters;
    if (budgetShare === 1) return;
    const start = now - budgetWindow;
    while ((this.#busy[0]?.to ?? now) <= start) this.#busy.shift();
    let used = 0;
    for (const { from, to } of this.#busy) used += to - Math.max(from, start);
    const allowed = budgetShare * budgetWindow + this.#late;
    assert(used <= allowed, `FILTER was busy for ${toMs(used as Duration)} ms of a window`);
  }
}
