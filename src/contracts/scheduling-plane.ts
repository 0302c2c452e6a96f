/**
 * The scheduling plane as the control plane's rooms see it: the one door through which invocations enter and are asked about.
 * daemon/ implements it over a shared-memory ring; tests implement it over a bare policy.
 */
import type { EndReason, Invocation, InvocationKey, PolicyName } from './invocation.js';
import type { PermissionMode, TargetCount } from './modes.js';
import type { Decision, LifeState, SchedulerCounters } from './scheduler.js';
import type { TaskGroup } from './task-group.js';
import type { Duration, Instant } from './time.js';

export interface NewInvocation {
  readonly source: string;
  readonly id: string;
  readonly functionName: string;
  readonly group: TaskGroup;
  readonly arrivedAt: Instant;
  readonly policy?: PolicyName;
  readonly weight?: number;
  readonly expected?: Duration;
  /** Bounds S for this invocation. */
  readonly sliceMax?: Duration;
  readonly ownerUid?: number;
}

/** A place among the live invocations, taken before any side effect; used up by `register` or given back. */
export interface Reservation {
  release(): void;
}

export interface SchedulingPlane {
  readonly defaultPolicy: PolicyName;
  /** What requests may name; its own first. */
  readonly policies: readonly PolicyName[];
  now(): Instant;
  /**
   * Takes `count` places. Throws SFSD_ERR_QUEUE_FULL (bound on live invocations) or SFSD_ERR_STOPPING.
   */
  reserve(count: number): Reservation;
  /**
   * Hands one invocation to the scheduling thread, using up one place of the reservation.
   * Throws SFSD_ERR_INVOCATION_DUPLICATE. Whether its tasks still exist is decided there and shows in `explain`.
   */
  register(invocation: NewInvocation, reservation: Reservation): InvocationKey;
  /** The live or recently finished key of (source, id). */
  find(source: string, id: string): InvocationKey | undefined;
  /** Unknown and ended keys are ignored. */
  end(key: InvocationKey, reason: EndReason): void;
  explain(key: InvocationKey): Explanation | undefined;
  status(): SchedulingStatus;
}

/** Everything known of one invocation; what `sfsd why` prints. */
export interface Explanation {
  readonly invocation: Invocation;
  readonly state: LifeState | 'submitted' | 'ended';
  readonly decisions: readonly Decision[];
  /** True when the log ring overflowed or the per-invocation bound was reached: some decisions are missing. */
  readonly incomplete: boolean;
}

export interface WorkerStatus {
  readonly worker: number;
  /** Absent: idle. */
  readonly invocation?: {
    readonly source: string;
    readonly id: string;
    readonly functionName: string;
    readonly since: Instant;
    /** Gittins; lower is better. */
    readonly rank?: Duration;
  };
}

export interface SchedulingStatus {
  readonly mode: PermissionMode;
  /** Why the mode is not `fifo`, and what to do about it. */
  readonly modeReason?: string;
  /** Targets that could not be promoted as the mode says; those that there are. */
  readonly targets: readonly TargetCount[];
  readonly defaultPolicy: PolicyName;
  readonly slice: Duration;
  readonly workers: readonly WorkerStatus[];
  readonly queueLength: number;
  readonly live: number;
  readonly liveMax: number;
  readonly blocked: number;
  readonly paused: boolean;
  readonly budgetUsed: number;
  readonly budgetShare: number;
  readonly counters: Readonly<SchedulerCounters>;
  readonly decisionsLost: number;
  readonly loop: LoopStatus;
  readonly cpu: CpuStatus;
}

/** How late the scheduling loop woke, over the last `samples` timed waits. */
export interface LoopStatus {
  readonly samples: number;
  readonly lateP50: Duration;
  readonly lateP99: Duration;
  readonly lateMax: Duration;
}

/** CPU time since start. */
export interface CpuStatus {
  readonly cores: number;
  readonly elapsed: Duration;
  readonly polling: Duration;
  readonly scheduling: Duration;
  readonly control: Duration;
  readonly spawner: Duration;
}
