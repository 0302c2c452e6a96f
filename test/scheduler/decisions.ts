/** A decision log that keeps everything, and the parameters that tests start from. */
import type { InvocationKey } from '../../src/contracts/invocation.js';
import type { Decision, DecisionKind, DecisionLog, SfsParameters } from '../../src/contracts/scheduler.js';
import { type Duration, duration, fromMs, type Instant } from '../../src/contracts/time.js';

export class DecisionRecorder implements DecisionLog {
  readonly all: Decision[] = [];

  record(
    kind: DecisionKind,
    at: Instant,
    key: InvocationKey,
    worker: number,
    cpuTime: Duration,
    value: number,
    extra: number,
  ): void {
    this.all.push({ kind, at, key, worker, cpuTime, value, extra });
  }

  of(kind: DecisionKind): Decision[] {
    return this.all.filter((decision) => decision.kind === kind);
  }

  /** The kinds recorded for one invocation, in order. */
  kindsOf(key: InvocationKey): DecisionKind[] {
    return this.all.filter((decision) => decision.key === key).map((decision) => decision.kind);
  }
}

/** The paper's values on two cores, the budget off. */
export const paperParameters: SfsParameters = {
  workers: 2,
  window: 100,
  sliceInitial: fromMs(20),
  sliceMin: fromMs(2),
  sliceMax: fromMs(1000),
  overloadFactor: 3,
  pollInterval: fromMs(4),
  ioAware: true,
  budgetShare: 1,
  budgetWindow: fromMs(100),
  gapMax: duration(10_000_000),
  arrivalAfter: fromMs(1),
  liveMax: 1000,
  blockedPerPollMax: 64,
};
