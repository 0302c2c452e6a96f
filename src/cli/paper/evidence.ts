/**
 * What the runs on one host showed, simulated or real, in the one form that claims and plots read. What a host was not asked for is
 * absent, and a claim about it has no figure there.
 */
import type { SchedulerCounters } from '../../contracts/scheduler.js';
import type { TimesSummary } from '../../trace/replay/comparison.js';
import type { DaemonShares } from '../../trace/replay/metrics.js';
import { groupsOf, rteSummary, type Sample, turnaroundOf } from '../../trace/replay/metrics.js';
import type { SeriesRow } from '../../trace/replay/series.js';
import { quantile, shareOf } from '../../trace/replay/statistics.js';

/** One policy's run. */
export interface Observed {
  readonly samples: readonly Sample[];
  readonly times: Pick<TimesSummary, 'turnaroundMs' | 'rte'>;
  /** S and the pick-ups over time; empty where they were not recorded. */
  readonly series: readonly SeriesRow[];
  /** null where no policy object ran, or its counters are not known. */
  readonly counters: Readonly<SchedulerCounters> | null;
}

/** The same requests under both policies. */
export interface Pair {
  readonly cfs: Observed;
  readonly sfs: Observed;
}

export interface Evidence {
  readonly cores: number;
  /** By load: Azure-sampled, Poisson gaps, CPU only. */
  readonly plain: ReadonlyMap<number, Pair>;
  /** By load: the same with functions that block. */
  readonly blocking: ReadonlyMap<number, Pair>;
  /** By load: `plain`, of fewer requests, with the fair class slice by slice. */
  readonly sliceExact: ReadonlyMap<number, Pair>;
  /** By fixed S in milliseconds, at load 1. */
  readonly fixed: ReadonlyMap<number, Observed>;
  /** Bursts that overload the host for a while. */
  readonly spiky: { readonly bypassOn: Observed; readonly bypassOff: Observed } | undefined;
  /** By load: (CFS + 1) / (SFS + 1) context switches of each request. */
  readonly switches: ReadonlyMap<number, readonly number[]>;
  /** By load. */
  readonly daemon: ReadonlyMap<number, DaemonShares>;
}

export function observedOf(
  samples: readonly Sample[],
  {
    shortBelowMs,
    series = [],
    counters = null,
  }: {
    readonly shortBelowMs: number;
    readonly series?: readonly SeriesRow[];
    readonly counters?: Readonly<SchedulerCounters> | null;
  },
): Observed {
  return {
    samples,
    times: { turnaroundMs: groupsOf(samples, shortBelowMs, turnaroundOf), rte: rteSummary(samples) },
    series,
    counters,
  };
}

/** null when one of the two is missing, or nothing is to be divided by. */
export function ratioOf(top: number | null | undefined, bottom: number | null | undefined): number | null {
  return top == null || bottom == null || bottom === 0 ? null : top / bottom;
}

export function turnaroundQuantile(observed: Observed | undefined, q: number): number | null {
  return observed === undefined ? null : quantile(observed.samples.map(turnaroundOf), q);
}

export function queueDelayQuantile(observed: Observed | undefined, q: number): number | null {
  const delays = (observed?.series ?? []).flatMap((row) => (row.kind === 'pickup' ? [row.queueDelayMs] : []));
  return quantile(delays, q);
}

/** Shorter differences are noise: a poll, a switch. */
const noticeable = 0.01;

/** Share of the requests that were faster under `one` than under `other` by more than 1%. */
export function fasterShare(one: Observed | undefined, other: Observed | undefined): number | null {
  if (one === undefined || other === undefined) return null;
  const byId = new Map(other.samples.map((sample) => [sample.id, sample.turnaroundMs]));
  const ratios = one.samples.flatMap(({ id, turnaroundMs }) => {
    const against = byId.get(id);
    return against === undefined ? [] : [turnaroundMs / against];
  });
  return shareOf(ratios, (ratio) => ratio < 1 - noticeable);
}
