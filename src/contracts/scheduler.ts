/**
 * The port through which planes and simulators drive a policy, and the log of what it decided.
 */
import type { EndReason, InvocationKey, Submission } from './invocation.js';
import type { Duration, Instant } from './time.js';

export type Admission = 'ok' | 'gone' | 'denied' | 'duplicate' | 'full';

export interface Scheduler {
  /**
   * Takes a new invocation. 'gone': its group had ended already. 'denied': we may not touch it, so nobody would see its end.
   * 'duplicate': the key is live. 'full': the bound on live invocations is reached. Only 'ok' leaves state behind. Decisions
   * are made by the next `tick`.
   */
  submit(submission: Submission): Admission;
  /**
   * A new busy period on a persistent instance: as `submit`, but it counts as an arrival for S only once it has run for
   * `arrivalAfter` (DESIGN: 1 ms), so that microsecond calls do not drown the inter-arrival window.
   */
  begin(submission: Submission): Admission;
  /** Unknown keys are ignored: an exit and a completion may cross. */
  end(key: InvocationKey, reason: EndReason): void;
  /** Does all that is due at the clock's now; returns when to call again, undefined when nothing is pending. */
  tick(): Instant | undefined;
  /** Demotes and forgets everything; later submissions are refused as 'full'. For shutdown. */
  drain(): void;
  readonly view: SchedulerView;
}

/** Numbers for status, metrics and `sfsd top`; read without allocation, updated in place by the policy. */
export interface SchedulerView {
  /** S now. */
  readonly slice: Duration;
  readonly queueLength: number;
  /** Live invocations in any state. */
  readonly live: number;
  readonly blocked: number;
  /** One entry per FILTER worker: the key it holds, or 0 when idle. */
  readonly workers: ArrayLike<number>;
  /** One entry per FILTER worker: rank of what it holds when it was looked at last, microseconds, lower is better. Absent: the policy has none. */
  readonly ranks?: ArrayLike<number> | undefined;
  /** Whether the FILTER budget has stepped all promoted groups down right now. */
  readonly paused: boolean;
  /** Share of the current budget window used, 0 to 1. */
  readonly budgetUsed: number;
  readonly counters: Readonly<SchedulerCounters>;
}

/** demotions: slices used up. */
export const counterNames = [
  'arrivals',
  'promotions',
  'demotions',
  'blocks',
  'wakes',
  'bypasses',
  'preemptions',
  'completions',
  'denials',
  'budgetPauses',
  'sliceUpdates',
  'polls',
  'observations',
] as const;
export type SchedulerCounters = Record<(typeof counterNames)[number], number>;

/**
 * Every kind of decision, in the order of a usual life. `why`, the report and the tests read the same records.
 *
 * kind       | cpuTime            | value                      | extra
 * -----------|--------------------|----------------------------|-------------------------------
 * arrived    | 0                  | S; Gittins: expected CPU   | queue length before it
 * promoted   | used so far        | slice (Gittins: turn) left | queue delay
 * demoted    | used at demotion   | CPU time past the slice    | S that bound it
 * blocked    | used so far        | slice left                 | 0
 * woken      | used so far        | slice left                 | time blocked
 * bypassed   | used so far        | queue delay                | O x S
 * preempted  | used so far        | 0                          | rank of the better one
 * denied     | used so far        | 0                          | 0
 * paused     | 0                  | FIFO time in the window    | 0       (key 0: the whole pool, or a pinned worker)
 * resumed    | 0                  | pause length               | 0       (key 0)
 * sliced     | 0                  | new S                      | mean inter-arrival time (key 0)
 * ended      | used in all        | reason: index in endReasons| state it ended in: index in lifeStates
 */
export type DecisionKind =
  | 'arrived'
  | 'promoted'
  | 'demoted'
  | 'blocked'
  | 'woken'
  | 'bypassed'
  | 'preempted'
  | 'denied'
  | 'paused'
  | 'resumed'
  | 'sliced'
  | 'ended';

export const decisionKinds: readonly DecisionKind[] = [
  'arrived',
  'promoted',
  'demoted',
  'blocked',
  'woken',
  'bypassed',
  'preempted',
  'denied',
  'paused',
  'resumed',
  'sliced',
  'ended',
];

export const endReasons: readonly EndReason[] = ['exited', 'completed', 'cancelled'];

/** queued: waits for a worker. filter: a worker holds it. blocked: sleeps, keeps its unused slice. fair: left to the fair scheduler. */
export type LifeState = 'queued' | 'filter' | 'blocked' | 'fair';
export const lifeStates: readonly LifeState[] = ['queued', 'filter', 'blocked', 'fair'];

/** Passed flat so that logging allocates nothing. `worker` is -1 where none is meant. Times in microseconds. */
export interface DecisionLog {
  record(
    kind: DecisionKind,
    at: Instant,
    key: InvocationKey,
    worker: number,
    cpuTime: Duration,
    value: number,
    extra: number,
  ): void;
}

/** One record read back. */
export interface Decision {
  readonly kind: DecisionKind;
  readonly at: Instant;
  readonly key: InvocationKey;
  readonly worker: number;
  readonly cpuTime: Duration;
  readonly value: number;
  readonly extra: number;
}

/** What a policy is built from. All durations in microseconds. */
export interface SfsParameters {
  /** c: FILTER workers. */
  readonly workers: number;
  /** Each worker's invocation is bound to a core of its own, and each core has its own budget. Absent: threads float. */
  readonly pinned?: boolean;
  /** N: arrivals per slice window (paper: 100). */
  readonly window: number;
  readonly sliceInitial: Duration;
  readonly sliceMin: Duration;
  readonly sliceMax: Duration;
  /** Fixed S for ablation; absent: adaptive. */
  readonly sliceFixed?: Duration;
  /** O (paper: 3); Infinity turns the bypass off. */
  readonly overloadFactor: number;
  /** Gittins: who has waited for this long is served before all others. Absent: a minute. */
  readonly agingMax?: Duration;
  /** 4 ms in the paper. */
  readonly pollInterval: Duration;
  /** SCHED_RR's quantum, where FILTER is SCHED_RR: in which order invocations go on after a pause. Absent: as they were picked up. */
  readonly turnQuantum?: Duration;
  /** false: blocked invocations keep their worker (ablation). */
  readonly ioAware: boolean;
  /** Largest share of any budget window in which FILTER may run, at most 0.93. 1 turns it off: where nothing is real-time. */
  readonly budgetShare: number;
  readonly budgetWindow: Duration;
  /** Gaps above this are capped for S (10 s). */
  readonly gapMax: Duration;
  /** A busy period counts as an arrival once it has run this long (1 ms). */
  readonly arrivalAfter: Duration;
  /** Bound on live invocations. */
  readonly liveMax: number;
  /** Most blocked invocations observed in one poll; beyond it they take turns. */
  readonly blockedPerPollMax: number;
}
