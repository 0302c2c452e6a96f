/**
 * Figures of a simulation: those of a replay (trace/replay/metrics.ts), for each policy and seed, and over the seeds their means with
 * 95% intervals.
 *
 *   interval   mean +- t(0.975, n - 1) x s / sqrt(n), over n seeds
 *   short, long, RTE, slowdown   as in a replay; requests that a fault ended are counted, and in no mean
 */
import { toMs } from '../../contracts/time.js';
import type { FleetRun } from '../../sim/fleet.js';
import {
  type Groups,
  groupsOf,
  idealSamples,
  type Part,
  type RteSummary,
  rteSummary,
  type Sample,
  slowdownOf,
  turnaroundOf,
} from '../../trace/replay/metrics.js';
import { idealOf } from '../../trace/replay/record.js';
import { mean } from '../../trace/replay/statistics.js';
import type { Workload } from '../../trace/workload/workload.js';
import type { ComparedPolicy } from './plan.js';

export interface PolicyFigures {
  readonly policy: ComparedPolicy;
  readonly seed: number;
  readonly turnaroundMs: Groups;
  /** Of the same requests, each alone. */
  readonly idealMs: Groups;
  readonly slowdown: Groups;
  readonly rte: RteSummary;
  readonly killed: number;
  /** Sums over the hosts; null where no policy object ran. */
  readonly counters: Readonly<Record<string, number>> | null;
}

/** @param run undefined: IDEAL, which is computed. */
export function figuresOf(
  policy: ComparedPolicy,
  { requests, header }: Workload,
  run: FleetRun | undefined,
): PolicyFigures {
  const samples = simulatedSamples(requests, run);
  const shown = run === undefined ? idealSamples(samples) : samples;
  const shortBelowMs = toMs(header.shortBelow);
  return {
    policy,
    seed: header.seed,
    turnaroundMs: groupsOf(shown, shortBelowMs, turnaroundOf),
    idealMs: groupsOf(idealSamples(samples), shortBelowMs, turnaroundOf),
    slowdown: groupsOf(shown, shortBelowMs, slowdownOf),
    rte: rteSummary(shown),
    killed: requests.length - samples.length,
    counters: countersOf(run),
  };
}

/** Of the requests that no fault ended. @param run undefined: each alone. */
export function simulatedSamples(
  requests: Workload['requests'],
  run: FleetRun | undefined,
): readonly Sample[] {
  return requests.flatMap((request, index) => {
    if (run?.killed[index] === 1) return [];
    const idealMs = toMs(idealOf(request));
    const turnaroundMs = run === undefined ? idealMs : ((run.endedAt[index] ?? 0) - request.arrival) / 1000;
    return [{ id: request.id, turnaroundMs, idealMs, demandMs: toMs(request.demand) }];
  });
}

function countersOf(run: FleetRun | undefined): Readonly<Record<string, number>> | null {
  if (run === undefined || run.counters.length === 0) return null;
  const sums: Record<string, number> = {};
  for (const counters of run.counters)
    for (const [name, count] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

export interface Interval {
  readonly mean: number;
  /** Equal to the mean for a single seed. */
  readonly low: number;
  readonly high: number;
}

/** 0.975 quantiles of Student's t by degrees of freedom, from 1; beyond them the normal's. */
const tQuantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const normalQuantile = 1.96;

/** null when one of the values is, or there is none. */
export function intervalOf(values: readonly (number | null)[]): Interval | null {
  const known = values.filter((value) => value !== null);
  const middle = mean(known);
  if (middle === null || known.length < values.length) return null;
  if (known.length === 1) return { mean: middle, low: middle, high: middle };
  let squares = 0;
  for (const value of known) squares += (value - middle) ** 2;
  const error = Math.sqrt(squares / (known.length - 1) / known.length);
  const half = (tQuantiles[known.length - 2] ?? normalQuantile) * error;
  return { mean: middle, low: middle - half, high: middle + half };
}

export interface PolicySummary {
  readonly policy: ComparedPolicy;
  readonly rteAtLeast095: Interval | null;
  readonly rteBelow02: Interval | null;
  readonly meanMs: Readonly<Record<Part, Interval | null>>;
  readonly medianMs: Readonly<Record<Part, Interval | null>>;
  readonly p99Ms: Readonly<Record<Part, Interval | null>>;
  /** Mean turnaround over that of the same requests alone. */
  readonly overIdeal: Readonly<Record<Part, Interval | null>>;
  /** Mean turnaround over that of the same requests under CFS; null where CFS was not simulated. */
  readonly overCfs: Readonly<Record<Part, Interval | null>>;
  readonly slowdownMean: Interval | null;
}

/** @param all of every policy and seed. */
export function summaryOf(policy: ComparedPolicy, all: readonly PolicyFigures[]): PolicySummary {
  const own = all.filter((one) => one.policy === policy);
  const over = (value: (one: PolicyFigures) => number | null): Interval | null => intervalOf(own.map(value));
  const byPart = (value: (one: PolicyFigures, part: Part) => number | null) => ({
    all: over((one) => value(one, 'all')),
    short: over((one) => value(one, 'short')),
    long: over((one) => value(one, 'long')),
  });
  const ratioTo = (reference: (one: PolicyFigures) => Groups | undefined) =>
    byPart((one, part) => {
      const [top, bottom] = [one.turnaroundMs[part]?.mean, reference(one)?.[part]?.mean];
      return top === undefined || bottom === undefined ? null : top / bottom;
    });
  const underCfs = ({ seed }: PolicyFigures): Groups | undefined =>
    all.find((one) => one.policy === 'cfs' && one.seed === seed)?.turnaroundMs;
  return {
    policy,
    rteAtLeast095: over((one) => one.rte.atLeast095),
    rteBelow02: over((one) => one.rte.below02),
    meanMs: byPart((one, part) => one.turnaroundMs[part]?.mean ?? null),
    medianMs: byPart((one, part) => one.turnaroundMs[part]?.median ?? null),
    p99Ms: byPart((one, part) => one.turnaroundMs[part]?.p99 ?? null),
    overIdeal: ratioTo((one) => one.idealMs),
    overCfs: ratioTo(underCfs),
    slowdownMean: over((one) => one.slowdown.all?.mean ?? null),
  };
}
