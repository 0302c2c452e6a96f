/**
 * One request to run a function, and the tasks that run it.
 */
import type { TaskGroup } from './task-group.js';
import type { Duration, Instant } from './time.js';

declare const keyBrand: unique symbol;

/**
 * A daemon-wide number for one (source, id) pair: allotted once, in rising order, by the registry at the door and never
 * reused, so that the scheduling plane compares integers where callers compare strings.
 */
export type InvocationKey = number & { readonly [keyBrand]: true };

export function invocationKey(value: number): InvocationKey {
  return value as InvocationKey;
}

/**
 * `sfs` is the paper's policy; `gittins` ranks by what a function's runs have used before; `cfs` leaves the invocation to the fair
 * scheduler and only records it.
 */
export type PolicyName = 'sfs' | 'cfs' | 'gittins';
export const policyNames: readonly PolicyName[] = ['sfs', 'cfs', 'gittins'];

/** What requests may name where the daemon's default is this: SFS and CFS are one scheduler, Gittins is another. */
export function policiesBeside(configured: PolicyName): readonly PolicyName[] {
  return configured === 'gittins' ? ['gittins', 'cfs'] : ['sfs', 'cfs'];
}

/** What the scheduling plane needs to know of an invocation. */
export interface Submission {
  readonly key: InvocationKey;
  readonly functionName: string;
  readonly group: TaskGroup;
  readonly arrivedAt: Instant;
  /** Absent: the daemon's default policy. */
  readonly policy?: PolicyName;
  /** Above 0; 1 when absent. SFS does not read it; other policies may. */
  readonly weight?: number;
  /** A hint of the CPU time needed. SFS does not read it; other policies may. */
  readonly expected?: Duration;
  /** Bounds S for this invocation. Absent: S as it is. */
  readonly sliceMax?: Duration;
}

/** (source, id) is unique: a second one is refused as a duplicate. */
export interface Invocation extends Submission {
  /** Who told us: `api`, `function`, or a hook's name. */
  readonly source: string;
  readonly id: string;
  /** Who may end it, beside operators; absent: they alone. */
  readonly ownerUid?: number;
}

export type EndReason = 'exited' | 'completed' | 'cancelled';
