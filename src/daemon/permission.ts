/**
 * Whether this daemon may make threads real-time: asked of the kernel by doing it to the calling thread and undoing it.
 * Functions run in either case; without the permission the mode is `off` and every invocation is left to the fair scheduler.
 */
import type { SfsdConfig } from '../contracts/config.js';
import type { Libc } from '../linux/libc.js';

export type Permission = { readonly mode: 'fifo' } | { readonly mode: 'off'; readonly reason: string };

const fifoResetOnFork = 1 | 0x40000000;
const other = 0;
const errnoPermission = -1;

export function probePermission(libc: Libc, config: SfsdConfig): Permission {
  const { realtime, scheduling } = config.priorities;
  if (!realtime) return { mode: 'off', reason: 'priorities.realtime is false' };
  const before = { policy: libc.schedGetscheduler(0), priority: libc.schedGetpriority(0) };
  const raised = libc.schedSetscheduler(0, fifoResetOnFork, scheduling);
  if (raised < 0) return { mode: 'off', reason: explain(raised) };
  // A supervisor may have started us real-time, so that we are up on a full host in time.
  libc.schedSetscheduler(0, Math.max(before.policy, other), Math.max(before.priority, 0));
  return { mode: 'fifo' };
}

function explain(result: number): string {
  if (result !== errnoPermission) return `sched_setscheduler failed with errno ${-result}`;
  return 'sched_setscheduler is denied: run as root, grant CAP_SYS_NICE or RLIMIT_RTPRIO, and see `sfsd doctor` for cgroups';
}
