/**
 * The daemon's own threads, made real-time: those that were named get their own priority, all others (libuv's pool, V8's
 * helpers, without which garbage collection starves) the common one. Threads born later start under the fair scheduler, because all
 * carry SCHED_RESET_ON_FORK; `raise` is called again for them and costs one call for each thread that is right already.
 */
import { readdirSync } from 'node:fs';
import type { Libc } from './libc.js';
import { schedFifo, schedResetOnFork } from './task-promoter.js';

export type RaiseResult = 'ok' | { readonly denied: true; readonly reason: string };

interface OwnThread {
  readonly policy: number;
  readonly priority: number;
}

const errnoNoProcess = -3;
const errnoNotPermitted = -1;
const wanted = schedFifo | schedResetOnFork;

export class SelfPriority {
  readonly #libc: Libc;
  readonly #common: number;
  readonly #named = new Map<number, { readonly name: string; readonly priority: number }>();
  readonly #before = new Map<number, OwnThread>();

  /** @param options.common priority of all threads that are not named. */
  constructor(libc: Libc, options: { readonly common: number }) {
    this.#libc = libc;
    this.#common = options.common;
  }

  /** Takes effect at the next `raise`. `tid` as gettid() tells it on the thread itself. */
  assign(name: string, tid: number, priority: number): void {
    this.#named.set(tid, { name, priority });
  }

  /** Name, tid and priority of each named thread. */
  list(): readonly { readonly name: string; readonly tid: number; readonly priority: number }[] {
    return [...this.#named].map(([tid, { name, priority }]) => ({ name, tid, priority }));
  }

  raise(): RaiseResult {
    for (const tid of ownThreads()) {
      const result = this.#raiseThread(tid, this.#named.get(tid)?.priority ?? this.#common);
      if (result < 0 && result !== errnoNoProcess) return { denied: true, reason: denial(result) };
    }
    return 'ok';
  }

  /** Every thread that was raised becomes what it was; children forked from here on are not real-time either way. */
  lower(): void {
    for (const [tid, before] of this.#before) {
      const result = this.#libc.schedSetscheduler(tid, before.policy, before.priority);
      // Without CAP_SYS_NICE the flag cannot be taken off.
      if (result === errnoNotPermitted)
        this.#libc.schedSetscheduler(tid, before.policy | schedResetOnFork, before.priority);
    }
    this.#before.clear();
  }

  #raiseThread(tid: number, priority: number): number {
    const policy = this.#libc.schedGetscheduler(tid);
    if (policy < 0) return policy;
    const current = this.#libc.schedGetpriority(tid);
    if (policy === wanted && current === priority) return 0;
    const result = this.#libc.schedSetscheduler(tid, wanted, priority);
    if (result >= 0 && !this.#before.has(tid)) this.#before.set(tid, { policy, priority: current });
    return result;
  }
}

function ownThreads(): number[] {
  return readdirSync('/proc/self/task').map(Number);
}

function denial(result: number): string {
  const errno = `errno ${-result}`;
  return result === -1
    ? 'sched_setscheduler says EPERM: CAP_SYS_NICE or RLIMIT_RTPRIO is missing, or our cpu cgroup has no real-time budget'
    : `sched_setscheduler says ${errno}`;
}
