/**
 * The control plane's own priority: every thread of this process but the scheduling thread, which raises itself. Threads that
 * libuv or V8 start later are born SCHED_OTHER (reset on fork), so they are looked for again every second.
 * In mode eevdf, where we may not be real-time either, they get ahead under the fair scheduler instead.
 */
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import { raiseGracePeriodThreads } from '../linux/grace-period-threads.js';
import type { Libc } from '../linux/libc.js';
import { SelfFavour } from '../linux/self-favour.js';
import { SelfPriority } from '../linux/self-priority.js';
import type { Permission } from './permission.js';

const raiseIntervalMs = 1000;

export interface ControlPriorityOptions {
  readonly config: SfsdConfig;
  readonly libc: Libc;
  readonly permission: Permission;
  readonly log: Logger;
  /** Kernel thread id of the scheduling thread. */
  readonly schedulingTid: number;
  readonly spawnerPid: () => number | undefined;
}

export interface ControlPriority {
  /** Every thread becomes what it was. */
  close(): void;
}

export function raiseControlPlane(options: ControlPriorityOptions): ControlPriority {
  const { config, libc, permission, log } = options;
  if (!permission.daemonRealTime) return permission.mode === 'eevdf' ? favour(options) : { close: () => {} };
  const self = new SelfPriority(libc, { common: config.priorities.control });
  self.assign('scheduling', options.schedulingTid, config.priorities.scheduling);
  const raise = () => {
    const result = self.raise();
    if (result !== 'ok') log.warn({ event: 'priority_denied', reason: result.reason });
  };
  raise();
  const kernelThreads = config.priorities.gracePeriodThreads
    ? raiseGracePeriodThreads(libc, config.priorities.spawner)
    : undefined;
  const timer = setInterval(raise, raiseIntervalMs).unref();
  return {
    close: () => {
      clearInterval(timer);
      kernelThreads?.restore();
      self.lower();
    },
  };
}

/** All threads of the process, the scheduling thread too, and the spawner, whose children are reset at birth. They end with the daemon, so there is nothing to give back. */
function favour({ libc, spawnerPid }: ControlPriorityOptions): ControlPriority {
  const self = new SelfFavour(libc);
  const raise = () => {
    const pid = spawnerPid();
    self.raise(pid === undefined ? [] : [pid]);
  };
  raise();
  const timer = setInterval(raise, raiseIntervalMs).unref();
  return { close: () => clearInterval(timer) };
}
