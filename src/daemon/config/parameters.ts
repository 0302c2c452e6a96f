/**
 * From what an operator writes (milliseconds, percent, 0 for "off") to what the policy reads.
 */
import type { SfsdConfig } from '../../contracts/config.js';
import type { SfsParameters } from '../../contracts/scheduler.js';
import { fromMs } from '../../contracts/time.js';

/** The budget is promised for any 100 ms. */
const budgetPromiseMs = 100;
/**
 * It is kept for any 90 ms, with the gap that 100 ms need. The platform has real-time work, too, and may need a whole gap on one core:
 * a task of the host's that misses one still runs within 200 ms.
 */
const budgetWindowMs = 90;
/** DESIGN: an idle hour does not set S. */
const gapMaxMs = 10_000;
/** DESIGN: a busy period counts as an arrival once it has run for this long. */
const arrivalAfterMs = 1;
/** 256 observations cost about 1 ms: a quarter of the poll interval. */
const blockedPerPollMax = 256;

/** @param rule.budgeted whether what is in FILTER is real-time. */
export function sfsParameters(
  scheduler: SfsdConfig['scheduler'],
  { workers, budgeted }: { readonly workers: number; readonly budgeted: boolean },
): SfsParameters {
  return {
    workers,
    pinned: scheduler.pin,
    window: scheduler.window,
    sliceInitial: fromMs(scheduler.sliceInitialMs),
    sliceMin: fromMs(scheduler.sliceMinMs),
    sliceMax: fromMs(scheduler.sliceMaxMs),
    ...(scheduler.sliceFixedMs === 0 ? {} : { sliceFixed: fromMs(scheduler.sliceFixedMs) }),
    overloadFactor: scheduler.overloadFactor === 0 ? Number.POSITIVE_INFINITY : scheduler.overloadFactor,
    agingMax: fromMs(scheduler.agingMaxMs),
    pollInterval: fromMs(scheduler.pollMs),
    ioAware: scheduler.ioAware,
    budgetShare: budgeted ? 1 - (budgetPromiseMs * (1 - scheduler.budgetPercent / 100)) / budgetWindowMs : 1,
    budgetWindow: fromMs(budgetWindowMs),
    gapMax: fromMs(gapMaxMs),
    arrivalAfter: fromMs(arrivalAfterMs),
    liveMax: scheduler.liveMax,
    blockedPerPollMax,
  };
}

/** c: what the config says, else one for each usable CPU (the reserve is taken off already). */
export function workerCount(scheduler: SfsdConfig['scheduler'], usableCpus: number): number {
  return scheduler.workers > 0 ? scheduler.workers : usableCpus;
}
