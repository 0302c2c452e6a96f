/**
 * Starts a program that is as real-time as the thread that starts it. Our threads carry SCHED_RESET_ON_FORK; it is laid down for this one
 * fork, because a child that starts SCHED_OTHER on a full host would hold its parent until its exec, for as long as it starves.
 */
import type { Libc } from './libc.js';
import { schedResetOnFork } from './task-promoter.js';

export function withoutResetOnFork<Result>(libc: Libc, fork: () => Result): Result {
  const policy = libc.schedGetscheduler(0);
  const priority = libc.schedGetpriority(0);
  const laidDown =
    policy > 0 &&
    (policy & schedResetOnFork) !== 0 &&
    libc.schedSetscheduler(0, policy & ~schedResetOnFork, priority) === 0;
  try {
    return fork();
  } finally {
    if (laidDown) libc.schedSetscheduler(0, policy, priority);
  }
}
