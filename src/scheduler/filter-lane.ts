/**
 * What shares one FILTER budget: the whole pool where threads float, because any of them may run on any core; one worker where each
 * is bound to a core of its own, because then its time is that core's.
 */
import { type Duration, type Instant, instant } from '../contracts/time.js';
import { FilterBudget } from './filter-budget.js';
import { never } from './limits.js';

export class FilterLane {
  readonly budget: FilterBudget;
  /** Promoted invocations. */
  promoted = 0;
  paused = false;
  pausedSince: Instant = instant(0);
  pausedUntil: Instant = never;

  constructor(rule: { readonly share: number; readonly window: Duration }) {
    this.budget = new FilterBudget(rule);
  }

  /** When something is due that no slice and no poll brings about. */
  get nextDue(): number {
    return Math.min(this.budget.pauseAt, this.pausedUntil);
  }
}
