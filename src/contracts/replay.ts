/**
 * What replay sends and gets back: the same for every policy, real or simulated.
 */
import type { ExitStatus } from './function.js';
import type { Decision } from './scheduler.js';
import type { Duration, Instant } from './time.js';

/**
 * Under what a workload can be replayed on the real kernel. cfs: the plain fair scheduler. fifo: to completion, in the order of arrival,
 * on c cores. rr: all at once under SCHED_RR, by turns of the kernel's quantum. sfs and gittins: the policies of scheduler/.
 */
export const replayPolicies = ['fifo', 'rr', 'cfs', 'sfs', 'gittins'] as const;
export type ReplayPolicy = (typeof replayPolicies)[number];

export interface ReplayRequest {
  readonly id: string;
  readonly functionName: string;
  /** The intended arrival, on the daemon's clock. Latency counts from here. */
  readonly arrivedAt: Instant;
  readonly policy: ReplayPolicy;
  readonly body: Uint8Array;
}

export interface ReplayOutcome {
  readonly exit: ExitStatus;
  /** An SfsdError code when the request was refused or failed; then the times below may be 0. */
  readonly errorCode?: string;
  /** When the daemon had the request. */
  readonly enqueuedAt: Instant;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly cpuTime: Duration;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly decisions: readonly Decision[];
}

/** Never rejects for a refused or failed request: that is an outcome. */
export type Submit = (request: ReplayRequest) => Promise<ReplayOutcome>;
