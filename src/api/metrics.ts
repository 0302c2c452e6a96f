/**
 * All metrics of the daemon, in a registry of their own. docs/metrics.md is the same list with the same words; a test holds
 * the two together.
 *
 *   events     counted here as requests are answered: invocations, turnarounds, registrations, HTTP requests
 *   readings   copied from the status when a scraper asks; the hot paths know nothing of metrics
 *
 * Labels are bounded: routes, methods, statuses, outcomes and codes are fixed sets; function names are not, so the first
 * 200 distinct names are labels and the rest is `other`. What functions use is told of the 20 that use most CPU; all others are
 * added up in `other`.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LaunchOutcome } from '../contracts/function.js';
import type { StatusBody } from '../contracts/http.js';
import { isRealTime, permissionModes } from '../contracts/modes.js';
import type { FunctionUse } from '../contracts/resources.js';
import type { SchedulerCounters } from '../contracts/scheduler.js';
import { turnaroundMs } from './bodies.js';

/** Distinct function names that are labels. */
export const functionLabelsMax = 200;

/** Seconds: from a millisecond to a minute, dense around the 20 ms to 400 ms where short functions are decided. */
const turnaroundBuckets = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1, 2, 5, 10, 60];

/** What becomes of one invocation of a registered function. */
export type InvocationOutcome =
  | 'succeeded'
  | 'failed'
  | 'signalled'
  | 'timeout'
  | 'cancelled'
  | 'lost'
  | 'refused';

/** What the status does not hold. */
export interface ServerReadings {
  readonly resultsKept: number;
  readonly resultsBytes: number;
  readonly resultsDropped: number;
  readonly connectionsDropped: number;
}

const counterHelp: Readonly<Record<keyof SchedulerCounters, string>> = {
  arrivals: 'Arrivals that counted for the slice.',
  promotions: 'Times an invocation was given a FILTER worker.',
  demotions: 'Times an invocation was demoted because its slice was used up.',
  blocks: 'Times an invocation in FILTER was seen asleep.',
  wakes: 'Times a blocked invocation was seen runnable again.',
  bypasses: 'Invocations left to the fair scheduler because they had queued too long.',
  preemptions: 'Times a better-ranked invocation took the FILTER worker of another one.',
  completions: 'Invocations that ended.',
  denials: 'Promotions that the kernel refused.',
  budgetPauses: 'Times the FILTER budget stepped all promoted groups down.',
  sliceUpdates: 'Times the slice was recomputed.',
  polls: 'Polls of the scheduling loop.',
  observations: 'Task groups observed by polls.',
};

const cpuParts = ['polling', 'scheduling', 'control', 'spawner'] as const;

export class Metrics {
  readonly registry = new Registry();
  readonly #functions = new BoundedLabels(functionLabelsMax);
  readonly #invocations: Counter;
  readonly #turnarounds: Histogram;
  readonly #registrations: Counter;
  readonly #requests: Counter;
  readonly #readings: readonly Reading[];

  constructor() {
    this.#readings = [...readings(this.registry), functionUse(this.registry, this.#functions)];
    const registers = [this.registry];
    this.#invocations = new Counter({
      name: 'sfsd_invocations_total',
      help: 'Invocations of registered functions, by what became of them.',
      labelNames: ['function', 'outcome'],
      registers,
    });
    this.#turnarounds = new Histogram({
      name: 'sfsd_turnaround_seconds',
      help: 'From the arrival of an invocation of a registered function to its end.',
      labelNames: ['function'],
      buckets: turnaroundBuckets,
      registers,
    });
    this.#registrations = new Counter({
      name: 'sfsd_registrations_total',
      help: 'Invocations registered by pid, tids or cgroup: accepted, or the code they were refused with.',
      labelNames: ['result'],
      registers,
    });
    this.#requests = new Counter({
      name: 'sfsd_http_requests_total',
      help: 'HTTP requests answered.',
      labelNames: ['method', 'route', 'status'],
      registers,
    });
  }

  ran(functionName: string, outcome: LaunchOutcome): void {
    const label = this.#functions.of(functionName);
    this.#invocations.inc({ function: label, outcome: outcomeName(outcome) });
    this.#turnarounds.observe({ function: label }, turnaroundMs(outcome) / 1000);
  }

  /** A launch that did not happen. */
  refused(functionName: string): void {
    const outcome: InvocationOutcome = 'refused';
    this.#invocations.inc({ function: this.#functions.of(functionName), outcome });
  }

  /** In flight when an earlier daemon died. */
  lost(functionName: string): void {
    const outcome: InvocationOutcome = 'lost';
    this.#invocations.inc({ function: this.#functions.of(functionName), outcome });
  }

  registered(result: string, count: number): void {
    if (count > 0) this.#registrations.inc({ result }, count);
  }

  answered(request: { readonly method: string; readonly route: string; readonly status: number }): void {
    this.#requests.inc({ method: request.method, route: request.route, status: String(request.status) });
  }

  /** The Prometheus text, with readings as they are now. */
  async scrape(status: StatusBody, server: ServerReadings): Promise<string> {
    for (const reading of this.#readings) reading(status, server);
    return this.registry.metrics();
  }
}

function outcomeName({ exit }: LaunchOutcome): InvocationOutcome {
  if (exit.kind !== 'exited') return exit.kind;
  return exit.code === 0 ? 'succeeded' : 'failed';
}

/** The first `max` distinct values stand for themselves, later ones are `other`. */
class BoundedLabels {
  readonly #seen = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  of(value: string): string {
    if (this.#seen.has(value)) return value;
    if (this.#seen.size >= this.#max) return 'other';
    this.#seen.add(value);
    return value;
  }
}

type Reading = (status: StatusBody, server: ServerReadings) => void;

function readings(registry: Registry): readonly Reading[] {
  return [...schedulerReadings(registry), ...daemonReadings(registry)];
}

function schedulerReadings(registry: Registry): readonly Reading[] {
  const gauge = gaugesOf(registry);
  const total = totalsOf(registry);
  return [
    gauge('sfsd_slice_seconds', 'S, the CPU time an invocation may use in FILTER.', (s) => s.sliceMs / 1000),
    gauge('sfsd_workers', 'FILTER workers.', (s) => s.workers.length),
    gauge(
      'sfsd_workers_busy',
      'FILTER workers that hold an invocation.',
      (s) => s.workers.filter((worker) => worker.invocation !== undefined).length,
    ),
    gauge('sfsd_queue_length', 'Invocations that wait for a FILTER worker.', (s) => s.queueLength),
    gauge('sfsd_live', 'Live invocations in any state.', (s) => s.live),
    gauge('sfsd_live_max', 'Bound on live invocations; beyond it requests get 429.', (s) => s.liveMax),
    gauge('sfsd_blocked', 'Invocations whose threads all sleep.', (s) => s.blocked),
    gauge('sfsd_mode_fifo', '1: invocations are promoted to SCHED_FIFO; 0: they are not.', (s) =>
      Number(isRealTime(s.mode)),
    ),
    ...modeReadings(registry),
    gauge('sfsd_budget_paused', '1 while the FILTER budget holds all promoted groups down.', (s) =>
      Number(s.budget.paused),
    ),
    gauge(
      'sfsd_budget_used_share',
      'Share of the current budget window used by FILTER.',
      (s) => s.budget.usedShare,
    ),
    gauge(
      'sfsd_budget_max_share',
      'Largest share of a budget window that FILTER may use.',
      (s) => s.budget.maxShare,
    ),
    ...Object.entries(counterHelp).map(([name, help]) =>
      total(counterMetric(name), help, (s) => s.counters[name as keyof SchedulerCounters]),
    ),
    total(
      'sfsd_decisions_lost_total',
      'Decisions that did not fit the log between the threads.',
      (s) => s.decisionsLost,
    ),
    gauge('sfsd_loop_samples', 'Timed waits that the loop lateness is computed from.', (s) => s.loop.samples),
    loopLateness(registry),
  ];
}

function daemonReadings(registry: Registry): readonly Reading[] {
  const gauge = gaugesOf(registry);
  const total = totalsOf(registry);
  return [
    info(registry),
    gauge('sfsd_uptime_seconds', 'Since the daemon process started.', (s) => s.uptimeMs / 1000),
    gauge('sfsd_stopping', '1 once the daemon takes no new work.', (s) => Number(s.stopping)),
    gauge('sfsd_cpu_cores', 'CPUs of the host.', (s) => s.cpu.cores),
    cpuSeconds(registry),
    gauge(
      'sfsd_cpu_host_share',
      'CPU time of all parts since start, as a share of all CPUs.',
      (s) => s.cpu.hostShare,
    ),
    gauge('sfsd_guard_watching', '1 while a guard stands ready to demote everything.', (s) =>
      Number(s.guard.state === 'watching' || s.guard.state === 'stalled'),
    ),
    gauge('sfsd_guard_tasks', 'Threads on the list of what is promoted or paused.', (s) => s.guard.tasks),
    total(
      'sfsd_guard_stalls_total',
      'Stalls of the scheduling loop that a guard saw.',
      (s) => s.guard.stalls,
    ),
    total('sfsd_guard_demotions_total', 'Threads that a guard demoted.', (s) => s.guard.demoted),
    total('sfsd_guard_restarts_total', 'Times a guard was started anew.', (s) => s.guard.restarts),
    gauge('sfsd_functions_registered', 'Registered functions.', (s) => s.functions.registered),
    gauge('sfsd_functions_running', 'Function instances that run now.', (s) => s.functions.running),
    ...storeReadings(registry),
    gauge('sfsd_results_kept', 'Results of asynchronous runs held for GET.', (_, r) => r.resultsKept),
    gauge('sfsd_results_bytes', 'Bytes of output in those results.', (_, r) => r.resultsBytes),
    total('sfsd_results_dropped_total', 'Results pushed out by newer ones.', (_, r) => r.resultsDropped),
    total(
      'sfsd_http_connections_dropped_total',
      'Connections closed at once because too many were open.',
      (_, r) => r.connectionsDropped,
    ),
  ];
}

function storeReadings(registry: Registry): readonly Reading[] {
  const gauge = gaugesOf(registry);
  const total = totalsOf(registry);
  return [
    gauge(
      'sfsd_store_persistent',
      '1: functions outlast a restart; 0: `store.path` is `none`.',
      ({ store }) => Number(store.path !== undefined),
    ),
    gauge(
      'sfsd_store_damaged',
      '1: the store was damaged at the start; it was set aside and a new one begun.',
      ({ store }) => Number(store.setAside !== undefined),
    ),
    gauge(
      'sfsd_store_rows_set_aside',
      'Stored functions that could not be used at the start.',
      ({ store }) => store.rowsSetAside,
    ),
    gauge(
      'sfsd_store_lost_invocations',
      'Asynchronous invocations that were in flight when the daemon before this one ended.',
      ({ store }) => store.lostInvocations,
    ),
    total(
      'sfsd_store_write_failures_total',
      'Changes that could not be written to the store.',
      ({ store }) => store.writeFailures,
    ),
  ];
}

type Pick = (status: StatusBody, server: ServerReadings) => number;

function gaugesOf(registry: Registry) {
  return (name: string, help: string, pick: Pick): Reading => {
    const gauge = new Gauge({ name, help, registers: [registry] });
    return (status, server) => gauge.set(pick(status, server));
  };
}

/** A counter that lives elsewhere and is copied: the only way to set one in prom-client is from nothing. */
function totalsOf(registry: Registry) {
  return (name: string, help: string, pick: Pick): Reading => {
    const counter = new Counter({ name, help, registers: [registry] });
    return (status, server) => {
      counter.reset();
      counter.inc(pick(status, server));
    };
  };
}

/** `budgetPauses` is counted as `sfsd_scheduler_budget_pauses_total`. */
function counterMetric(name: string): string {
  return `sfsd_scheduler_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_total`;
}

function loopLateness(registry: Registry): Reading {
  const gauge = new Gauge({
    name: 'sfsd_loop_late_seconds',
    help: 'How late the scheduling loop woke, by quantile of its recent timed waits; quantile 1 is the worst.',
    labelNames: ['quantile'],
    registers: [registry],
  });
  return ({ loop }) => {
    gauge.set({ quantile: '0.5' }, loop.lateP50Ms / 1000);
    gauge.set({ quantile: '0.99' }, loop.lateP99Ms / 1000);
    gauge.set({ quantile: '1' }, loop.lateMaxMs / 1000);
  };
}

function cpuSeconds(registry: Registry): Reading {
  const counter = new Counter({
    name: 'sfsd_cpu_seconds_total',
    help: 'CPU time of the daemon since start, by part: polling, scheduling, control and spawner.',
    labelNames: ['part'],
    registers: [registry],
  });
  return ({ cpu }) => {
    counter.reset();
    for (const part of cpuParts) counter.inc({ part }, cpu[`${part}Ms`] / 1000);
  };
}

/** Gauges: a function that is not among the first any more is counted in `other`, so yesterday's rows must go. */
function functionUse(registry: Registry, labels: BoundedLabels): Reading {
  const gauge = (name: string, help: string): Gauge =>
    new Gauge({ name, help, labelNames: ['function'], registers: [registry] });
  const instances = gauge('sfsd_function_instances', 'Live invocations of a function.');
  const cores = gauge(
    'sfsd_function_cpu_cores',
    'Cores that the leading processes of a function use, up to 128 processes of all functions.',
  );
  const memory = gauge('sfsd_function_memory_bytes', 'Resident memory of the same processes.');
  return ({ resources }) => {
    for (const each of [instances, cores, memory]) each.reset();
    const add = (label: string, use: FunctionUse): void => {
      instances.inc({ function: label }, use.instances);
      cores.inc({ function: label }, use.cpuCores);
      memory.inc({ function: label }, use.memoryBytes);
    };
    for (const { functionName, ...use } of resources.functions) add(labels.of(functionName), use);
    if (resources.others.functions > 0) add('other', resources.others);
  };
}

/** The mode, and what could not be promoted as it says; protected processes. */
function modeReadings(registry: Registry): readonly Reading[] {
  const gauge = gaugesOf(registry);
  const mode = new Gauge({
    name: 'sfsd_mode',
    help: '1 for the permission mode that is in force, 0 for the others.',
    labelNames: ['mode'],
    registers: [registry],
  });
  const targets = new Counter({
    name: 'sfsd_targets_total',
    help: 'Targets that could not be promoted as the mode says, by what was done instead and why.',
    labelNames: ['way', 'reason'],
    registers: [registry],
  });
  return [
    (s) => {
      for (const name of permissionModes) mode.set({ mode: name }, Number(name === s.mode));
      targets.reset();
      for (const { way, reason, targets: count } of s.targets) targets.inc({ way, reason }, count);
    },
    gauge('sfsd_protected_processes', 'Processes held above FILTER.', (s) => s.protection.processes),
    gauge('sfsd_protected_threads', 'Their threads.', (s) => s.protection.threads),
    gauge(
      'sfsd_protected_cpu_cores',
      'Cores that they use; taken off the gaps of the FILTER budget.',
      (s) => s.protection.cpuCores,
    ),
  ];
}

function info(registry: Registry): Reading {
  const gauge = new Gauge({
    name: 'sfsd_info',
    help: 'Always 1; the labels are the version, the mode and the default policy.',
    labelNames: ['version', 'mode', 'policy'],
    registers: [registry],
  });
  return ({ version, mode, policy }) => {
    gauge.reset();
    gauge.set({ version, mode, policy }, 1);
  };
}
