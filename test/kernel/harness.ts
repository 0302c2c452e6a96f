/**
 * A LinuxKernel on the real machine, for tests.
 */
import { availableParallelism } from 'node:os';
import type { Test } from 'tap';
import { type InvocationKey, invocationKey } from '../../src/contracts/invocation.js';
import { type Duration, fromMs, type Instant } from '../../src/contracts/time.js';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import type { Libc } from '../../src/linux/libc.js';
import { LinuxKernel, type LinuxKernelOptions } from '../../src/linux/linux-kernel.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { Poller } from '../../src/linux/poller.js';

export interface Harness {
  readonly libc: Libc;
  readonly kernel: LinuxKernel;
  readonly poller: Poller;
  readonly clock: MonotonicClock;
  key(): InvocationKey;
  /** `FIFO 5 reset` and the like; `gone` when the task is. */
  policy(tid: number): string;
  nice(tid: number): number;
  /** Keys whose process ended, as the poller tells them within the time. */
  exits(count: number, within?: Duration): InvocationKey[];
}

const policyNames = ['OTHER', 'FIFO', 'RR', 'BATCH', '', 'IDLE', 'DEADLINE'];
const resetOnFork = 0x40000000;

export function requireLibc(): Libc {
  const loaded = loadKoffiLibc();
  if (!loaded.ok) throw new Error(loaded.reason);
  return loaded.libc;
}

/** The last core stands for every worker: it is there on any machine, and never what a task is bound to by chance. */
export function cpuOfWorker(_worker: number): number {
  return availableParallelism() - 1;
}

export function harness(t: Test, options: Partial<LinuxKernelOptions> = {}): Harness {
  const libc = requireLibc();
  const poller = new Poller(libc);
  const clock = new MonotonicClock(libc);
  const kernel = new LinuxKernel({ libc, poller, cpuOfWorker, ...options });
  let lastKey = 0;
  t.teardown(() => {
    kernel.close();
    poller.close();
  });
  return {
    libc,
    kernel,
    poller,
    clock,
    key: () => invocationKey(++lastKey),
    policy(tid) {
      const policy = libc.schedGetscheduler(tid);
      if (policy < 0) return 'gone';
      const name = policyNames[policy & ~resetOnFork] ?? '';
      const priority = libc.schedGetpriority(tid);
      return `${name}${priority > 0 ? ` ${priority}` : ''}${(policy & resetOnFork) !== 0 ? ' reset' : ''}`;
    },
    nice: (tid) => 20 - libc.getpriority(tid),
    exits(count, within = fromMs(5000)) {
      const keys: InvocationKey[] = [];
      const deadline = (clock.now() + within) as Instant;
      while (keys.length < count && clock.now() < deadline) {
        const ready = poller.wait(deadline, clock.now());
        for (let index = 0; index < ready; index++) {
          const key = kernel.takeExit(poller.token(index));
          if (key !== undefined) keys.push(key);
        }
      }
      return keys;
    },
  };
}
