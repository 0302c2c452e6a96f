/**
 * What replay sends and gets back: the same for every policy, real or simulated.
 */
import type { ExitStatus } from './function.js';
import type { PolicyName } from './invocation.js';
import type { Decision } from './scheduler.js';
import type { Duration, Instant } from './time.js';

export interface ReplayRequest {
  readonly id: string;
  readonly functionName: string;
  /** The intended arrival, on the daemon's clock. Latency counts from here. */
  readonly arrivedAt: Instant;
  readonly policy: PolicyName;
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
