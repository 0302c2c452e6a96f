/**
 * Keeps the processes of `protect.rules` above FILTER while the daemon runs, and tells the FILTER budget what they use: the fair scheduler
 * does not get it, so the budget's gaps are that much longer (at most twice: scheduler/filter-budget.ts).
 *
 * Only where functions become real-time: elsewhere there is nothing to starve beside.
 */
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import { isRealTime, type ProtectionStatus } from '../contracts/modes.js';
import { type Clock, type Instant, instant } from '../contracts/time.js';
import type { CgroupLayout } from '../linux/cgroup-layout.js';
import type { Libc } from '../linux/libc.js';
import type { PromotionJournal } from '../linux/promotion-journal.js';
import { ProtectedTasks } from '../linux/protected-tasks.js';
import type { Permission } from './permission.js';
import { ProtectRules } from './protect-rules.js';

/** Refused processes that are remembered, so that each is told of once. */
const refusedMax = 1024;

export interface ProtectionOptions {
  readonly config: SfsdConfig;
  readonly libc: Libc;
  readonly clock: Clock;
  readonly layout: CgroupLayout;
  readonly permission: Permission;
  readonly log: Logger;
  /** The share of protected processes; absent: there is no guard. */
  readonly journal: PromotionJournal | undefined;
  /** Functions that we started descend from it. */
  readonly spawnerPid: () => number | undefined;
  /** CPU use, in cores. */
  readonly count: (cores: number) => void;
}

export interface Protection {
  readonly status: ProtectionStatus;
  /** Every process becomes what it was. */
  close(): void;
}

const nothing: ProtectionStatus = { processes: 0, threads: 0, cpuCores: 0 };

/** The first look is over when it resolves. */
export async function startProtection(options: ProtectionOptions): Promise<Protection> {
  const { config, permission, log } = options;
  if (config.protect.rules.length === 0) return { status: nothing, close: () => {} };
  if (!isRealTime(permission.mode)) {
    log.info({ event: 'protect_idle', mode: permission.mode });
    return { status: nothing, close: () => {} };
  }
  const guarding = new Guarding(options);
  await guarding.look();
  log.info({ event: 'protected', ...guarding.status });
  const timer = setInterval(() => void guarding.look(), config.protect.intervalMs).unref();
  return {
    get status() {
      return guarding.status;
    },
    close: () => {
      clearInterval(timer);
      guarding.close();
    },
  };
}

class Guarding {
  readonly #options: ProtectionOptions;
  readonly #rules: ProtectRules;
  readonly #tasks: ProtectedTasks;
  readonly #refused = new Set<number>();
  #looking = false;
  #closed = false;
  #cores = 0;
  #last: { readonly at: Instant; readonly usedUs: number };

  constructor(options: ProtectionOptions) {
    const { config, libc, layout, clock, journal } = options;
    this.#options = options;
    this.#rules = new ProtectRules(layout, config.protect.rules);
    this.#tasks = new ProtectedTasks({
      libc,
      layout,
      priority: config.priorities.protected,
      filterShare: config.scheduler.budgetPercent / 100,
      ...(journal === undefined ? {} : { journal }),
    });
    this.#last = { at: clock.now(), usedUs: 0 };
  }

  get status(): ProtectionStatus {
    const { processes, threads } = this.#tasks;
    return { processes, threads, cpuCores: this.#cores };
  }

  /** One at a time: a look on a host of many processes may take longer than the interval. */
  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const found = await this.#rules.find((pid) => this.#tasks.holds(pid));
      if (!this.#closed) this.#apply(found);
    } finally {
      this.#looking = false;
    }
  }

  close(): void {
    this.#closed = true;
    this.#tasks.close();
    this.#options.count(0);
  }

  #apply(found: ReadonlySet<number>): void {
    const tasks = this.#tasks;
    const own = new Set([process.pid, this.#options.spawnerPid() ?? process.pid]);
    if (this.#options.journal?.isOvertaken() === true) tasks.letAllGo();
    tasks.startLook();
    for (const pid of found) {
      if (!tasks.holds(pid) && tasks.descendsFrom(pid, own)) continue;
      const result = tasks.keep(pid);
      if (result === 'ok') this.#refused.delete(pid);
      else this.#tell(pid, result);
    }
    tasks.endLook();
    this.#account(instant(this.#options.clock.now()));
  }

  #account(now: Instant): void {
    const { usedUs } = this.#tasks;
    const elapsed = now - this.#last.at;
    if (elapsed > 0) this.#cores = (usedUs - this.#last.usedUs) / elapsed;
    this.#last = { at: now, usedUs };
    this.#options.count(this.#cores);
  }

  #tell(pid: number, result: 'full' | 'refused' | 'foreign' | 'denied'): void {
    // Ended between two looks, or none of ours to touch.
    if (result === 'refused' || this.#refused.has(pid) || this.#refused.size >= refusedMax) return;
    this.#refused.add(pid);
    this.#options.log.warn({ event: 'protect_refused', pid, reason: reasons[result] });
  }
}

const reasons = {
  full: 'the bound on protected processes or threads is reached; make protect.rules narrower',
  foreign: 'it is real-time already, and is left as it is',
  denied: 'the kernel refuses it; `sfsd doctor` says what may be missing',
} as const;
