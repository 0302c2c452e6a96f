/**
 * Keeps a launch that joins cgroups from waiting behind FIFO work inside the kernel: one without cgroup2, or under a limit that only
 * a v1 tree can set. (Others are born in their group and wait for nothing.)
 *
 * Joining a cgroup takes the kernel's cgroup_threadgroup_rwsem for writing, and the first writer after a pause waits for an RCU
 * grace period. Grace periods are driven by kernel threads that run SCHED_OTHER: on a host full of FIFO work they starve, and
 * with them the child that is about to execute its program. Measured with a FIFO hog on each of 2 cores: 1,000 ms in the worst
 * of 100 launches; 5 ms with these threads above the hogs. (The boot option rcutree.kthread_prio and the cgroup mount option
 * favordynmods cure the same; neither is ours to set on a running host.)
 *
 * Should the daemon die without `restore`, the threads stay raised: they run for microseconds at a time, so that harms nobody,
 * and the next daemon finds them raised and leaves them so.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Libc } from './libc.js';

/** The normal and the expedited machinery, under the names they have since Linux 6.2; older ones use workqueues for some. */
const namePattern = /^rcu_(preempt|sched|exp_gp|exp_par_gp)/;
/** All kernel threads are children of kthreadd. */
const kthreadd = '2';
const schedOther = 0;
const schedFifo = 1;

export interface RaisedThreads {
  readonly pids: readonly number[];
  /** Makes them SCHED_OTHER again. */
  restore(): void;
}

/** Raises those that are SCHED_OTHER; none in a pid namespace that hides them, or without the privilege. */
export function raiseGracePeriodThreads(libc: Libc, priority: number): RaisedThreads {
  const pids = gracePeriodThreads().filter(
    (pid) =>
      libc.schedGetscheduler(pid) === schedOther && libc.schedSetscheduler(pid, schedFifo, priority) === 0,
  );
  const restore = () => {
    for (const pid of pids) libc.schedSetscheduler(pid, schedOther, 0);
  };
  return { pids, restore };
}

function gracePeriodThreads(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && namePattern.test(readQuietly(`/proc/${name}/comm`)))
    .filter((name) => /^PPid:\t(\d+)$/m.exec(readQuietly(`/proc/${name}/status`))?.[1] === kthreadd)
    .map(Number);
}

/** A process may end between two looks. */
function readQuietly(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
