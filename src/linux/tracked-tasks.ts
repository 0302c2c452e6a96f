/**
 * What LinuxKernel does with a group, whatever kind it is, and the tools that all kinds share.
 */
import type { Observation } from '../contracts/kernel.js';
import type { ClockReader } from './clock-reader.js';
import type { Libc } from './libc.js';
import type { ProcStat } from './proc-stat.js';
import type { PromotionScope, TaskPromoter } from './task-promoter.js';

export interface TrackedTasks {
  readonly scope: PromotionScope;
  promote(): 'ok' | 'gone' | 'denied';
  pause(): 'ok' | 'gone';
  demote(): 'ok' | 'gone';
  observe(into: Observation): void;
  /** CPU time counts from 0 again, and a refusal is forgotten. */
  restartClock(): void;
  /** The group's own process has ended: seen through its pidfd. */
  markEnded(): void;
  /** The process has become a group of its own: it is demoted and let go of. */
  evict(pid: number): void;
  /** Demotes and closes all that is kept. */
  close(): void;
}

/** One set for each LinuxKernel; `stat` is overwritten by every reading. */
export interface TrackingTools {
  readonly libc: Libc;
  readonly reader: ClockReader;
  readonly stat: ProcStat;
  readonly promoter: TaskPromoter;
  /** Whether the process is attached as a group of its own, and so no part of its parent's or its cgroup's. */
  isAttached(pid: number): boolean;
  /** The group in which a process that is not attached on its own is a member: one at most. */
  readonly owners: Map<number, TrackedTasks>;
}
