/**
 * The port through which a policy acts on the machine. linux/ implements it over sched_setscheduler and /proc; simulators and
 * tests implement it over a model. Every call is synchronous and effectful, and never throws for an expected outcome.
 *
 *   attach ──▶ promote ◀──▶ demote ──▶ release
 *                 ◀──▶ pause ──▶
 *                 observe at any time between attach and release
 */
import type { InvocationKey } from './invocation.js';
import type { TaskGroup } from './task-group.js';
import type { Duration } from './time.js';

export interface Observation {
  /**
   * blocked: every task of the group sleeps (state S or D). gone: no task is left.
   */
  state: 'runnable' | 'blocked' | 'gone';
  /**
   * CPU time used by the group since attach (all tasks, dead ones included).
   * While a task runs this may lag behind by at most `observationLagMax`; after `demote` it is exact.
   */
  cpuTime: Duration;
  /** How many tasks are runnable or, when that is not known without a walk, how many tasks there are; at least 1 unless gone. */
  runnableMax: number;
}

export interface Kernel {
  /** How far `observe().cpuTime` may lag behind while a task runs: one scheduler tick (4 ms at HZ=250). 0 in simulation. */
  readonly observationLagMax: Duration;
  /**
   * Takes hold of the group: verifies identity, opens what later calls need, and reports the group's end under `key` from now on.
   * A group already attached (a persistent instance) is rebound to the new key and its CPU time counts from 0 again.
   * denied: we may not touch it (another namespace, hidden, protected).
   */
  attach(group: TaskGroup, key: InvocationKey): 'ok' | 'gone' | 'denied';
  /**
   * All tasks of the group become real-time, or what the host's mode allows instead (contracts/modes.ts). denied: the invocation goes on under the fair scheduler. Idempotent.
   * `worker`: they are bound to the core of this FILTER worker until demoted, where the host lets them; absent: they float.
   */
  promote(group: TaskGroup, worker?: number): 'ok' | 'gone' | 'denied';
  /**
   * For a gap of the FILTER budget: all tasks of the group, promoted or not yet, are under the fair scheduler until `promote` or
   * `demote`, and stand ahead of other functions there where that does not put them ahead of the host's own tasks. Idempotent.
   */
  pause(group: TaskGroup): 'ok' | 'gone';
  /** All tasks that were ever promoted for the group, and still live, become what they were before. Idempotent. */
  demote(group: TaskGroup): 'ok' | 'gone';
  /** The returned object is reused by the next call: read it at once. */
  observe(group: TaskGroup): Readonly<Observation>;
  /**
   * CPU time that real-time work of our own, which is not an invocation's, and protected processes have used so far: what it used while FILTER paused
   * the fair scheduler did not get. 0 in simulation.
   */
  overhead(): Duration;
  /** Demotes if need be and lets go of every resource. The group is unknown afterwards. */
  release(group: TaskGroup): void;
}
