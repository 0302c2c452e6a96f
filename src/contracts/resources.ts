/**
 * What the live invocations of each function use now: the 1 Hz view of `GET /v1/status`, metrics and `sfsd top`. It is a reading for
 * people, taken when somebody looks; no decision is made upon it.
 */
import type { Instant } from './time.js';

export interface FunctionUse {
  /** Live invocations. */
  readonly instances: number;
  /** Those whose process was read: not the ones registered by cgroup, and not more than the bound of one round. */
  readonly measured: number;
  /** 1: one core used in full, by the leading processes of the measured ones. Since the last look, or since their start. */
  readonly cpuCores: number;
  /** Resident memory of the same processes; what they share is counted for each. */
  readonly memoryBytes: number;
}

export interface ResourceView {
  /** When it was read. */
  readonly at: Instant;
  /** Those that use most CPU, most first. */
  readonly functions: readonly (FunctionUse & { readonly functionName: string })[];
  /** All further ones together. */
  readonly others: FunctionUse & { readonly functions: number };
}

/** Rows of `ResourceView.functions`. */
export const resourceFunctionsMax = 20;
