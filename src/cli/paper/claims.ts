/**
 * What the paper claims in Figures 7, 8, 11, 12, 14, 16 and Table II, each with the figure of ours that answers it and the rule that
 * judges it. A claim is judged where the paper measured it: on 12 or 72 simulated cores, Table II on this host.
 */

import { shareOf } from '../../trace/replay/statistics.js';
import { formatRatio, formatShare } from '../../trace/report/format.js';
import {
  type Evidence,
  fasterShare,
  type Pair,
  queueDelayQuantile,
  ratioOf,
  turnaroundQuantile,
} from './evidence.js';
import type { Rule } from './verdict.js';

export type FigureName =
  | 'Figure 7'
  | 'Figure 8'
  | 'Figure 11'
  | 'Figure 12'
  | 'Figure 14'
  | 'Figure 16'
  | 'Table II';

export interface Claim {
  readonly id: string;
  readonly figure: FigureName;
  readonly section: string;
  readonly text: string;
  readonly unit: 'share' | 'ratio';
  readonly rule: Rule;
  /** The host that it is judged on. */
  readonly judgedOn: 12 | 72 | 'real';
  /** null where that host was not asked, or it cannot be had. */
  readonly measure: (evidence: Evidence) => number | null;
}

export function formatClaim({ unit }: Claim, value: number | null): string {
  return unit === 'share' ? formatShare(value) : formatRatio(value);
}

const at = (load: number) => (evidence: Evidence) => evidence.plain.get(load);
const blockingAt = (load: number) => (evidence: Evidence) => evidence.blocking.get(load);

function hardlyWaited(policy: keyof Pair, load: number) {
  return (evidence: Evidence) => at(load)(evidence)?.[policy].times.rte.atLeast095 ?? null;
}

const meanOf = (pair: Pair | undefined, policy: keyof Pair, part: 'all' | 'long') =>
  pair?.[policy].times.turnaroundMs[part]?.mean;

const medianOf = (pair: Pair | undefined, policy: keyof Pair) =>
  pair?.[policy].times.turnaroundMs.all?.median;

/** CFS over SFS. */
function speedupAtP99(load: number) {
  return (evidence: Evidence) =>
    ratioOf(
      turnaroundQuantile(blockingAt(load)(evidence)?.cfs, 0.99),
      turnaroundQuantile(blockingAt(load)(evidence)?.sfs, 0.99),
    );
}

function switchShare(load: number, holds: (ratio: number) => boolean) {
  return ({ switches }: Evidence) => shareOf(switches.get(load) ?? [], holds);
}

/** The figure's lightest load that the host was asked for; a real host is not asked for all. */
function lightest(pairs: ReadonlyMap<number, Pair>): Pair | undefined {
  return [...pairs.values()][0];
}

const near = (paper: number): Rule => ({ kind: 'near', paper });
const effect = (paper: number): Rule => ({ kind: 'effect', paper });
const above = (bound: number): Rule => ({ kind: 'above', bound });

const figure7 = { figure: 'Figure 7', section: 'VIII-A', unit: 'share', judgedOn: 12 } as const;
const figure8 = { figure: 'Figure 8', section: 'VIII-A', unit: 'ratio', judgedOn: 12 } as const;
const figure11 = { figure: 'Figure 11', section: 'VIII-B', judgedOn: 12 } as const;
const figure12 = { figure: 'Figure 12', section: 'VIII-B', unit: 'ratio', judgedOn: 12 } as const;
const figure14 = { figure: 'Figure 14', section: 'VIII-C', unit: 'ratio', judgedOn: 72 } as const;
const figure16 = { figure: 'Figure 16', section: 'VIII-C', judgedOn: 72 } as const;
const table2 = { figure: 'Table II', section: 'IX-B', unit: 'share', judgedOn: 'real' } as const;

export const claims: readonly Claim[] = [
  {
    ...figure7,
    id: 'rte-sfs-65',
    text: 'SFS, load 65%: requests with RTE from 0.95',
    rule: near(0.93),
    measure: hardlyWaited('sfs', 0.65),
  },
  {
    ...figure7,
    id: 'rte-sfs-80',
    text: 'SFS, load 80%: requests with RTE from 0.95',
    rule: near(0.88),
    measure: hardlyWaited('sfs', 0.8),
  },
  {
    ...figure7,
    id: 'rte-sfs-100',
    text: 'SFS, load 100%: requests that still run as if alone',
    rule: near(0.83),
    measure: hardlyWaited('sfs', 1),
  },
  {
    ...figure7,
    id: 'rte-cfs-65',
    text: 'CFS, load 65%: requests with RTE from 0.95',
    rule: near(0.55),
    measure: hardlyWaited('cfs', 0.65),
  },
  {
    ...figure7,
    id: 'rte-cfs-80',
    text: 'CFS, load 80%: requests with RTE from 0.95',
    rule: near(0.35),
    measure: hardlyWaited('cfs', 0.8),
  },
  {
    ...figure8,
    id: 'median-sfs',
    text: 'The median under SFS stays the same at every load: at 100% over the lightest',
    rule: { kind: 'same' },
    measure: ({ plain }) => ratioOf(medianOf(plain.get(1), 'sfs'), medianOf(lightest(plain), 'sfs')),
  },
  {
    ...figure8,
    id: 'median-cfs',
    text: 'The median under CFS rises with the load: at 100% over the lightest',
    rule: above(1.1),
    measure: ({ plain }) => ratioOf(medianOf(plain.get(1), 'cfs'), medianOf(lightest(plain), 'cfs')),
  },
  {
    ...figure8,
    id: 'long-100',
    text: 'Long functions pay, load 100%: mean under SFS over CFS',
    rule: effect(1.29),
    measure: (evidence) =>
      ratioOf(meanOf(at(1)(evidence), 'sfs', 'long'), meanOf(at(1)(evidence), 'cfs', 'long')),
  },
  {
    ...figure8,
    id: 'p999-80',
    text: 'The tail pays, load 80%: p99.9 under SFS over CFS',
    rule: effect(1.471),
    measure: (evidence) =>
      ratioOf(
        turnaroundQuantile(at(0.8)(evidence)?.sfs, 0.999),
        turnaroundQuantile(at(0.8)(evidence)?.cfs, 0.999),
      ),
  },
  {
    ...figure8,
    id: 'p999-cfs-65',
    text: 'CFS has a tail at light load already: its p99.9 at 65% over 50% (22.1 s over 3.3 s)',
    rule: effect(22.1 / 3.3),
    measure: (evidence) =>
      ratioOf(
        turnaroundQuantile(at(0.65)(evidence)?.cfs, 0.999),
        turnaroundQuantile(at(0.5)(evidence)?.cfs, 0.999),
      ),
  },
  {
    ...figure11,
    id: 'fixed-50-faster',
    text: 'S fixed at 50 ms: requests that are faster than with adaptive S',
    unit: 'share',
    rule: near(0.3),
    measure: ({ fixed, plain }) => fasterShare(fixed.get(50), plain.get(1)?.sfs),
  },
  {
    ...figure11,
    id: 'fixed-50-slower',
    text: 'S fixed at 50 ms: requests that are slower than with adaptive S',
    unit: 'share',
    rule: near(0.7),
    measure: ({ fixed, plain }) => fasterShare(plain.get(1)?.sfs, fixed.get(50)),
  },
  {
    ...figure11,
    id: 'fixed-mean',
    text: 'Adaptive S is better overall than 50, 100 and 200 ms: the best of their means over its own',
    unit: 'ratio',
    rule: above(1.01),
    measure: ({ fixed, plain }) => {
      const means = [...fixed.values()].flatMap(({ times }) => times.turnaroundMs.all?.mean ?? []);
      return means.length === 0 ? null : ratioOf(Math.min(...means), meanOf(plain.get(1), 'sfs', 'all'));
    },
  },
  {
    ...figure12,
    id: 'bypass-delay',
    text: 'The bypass drains a backlog faster: p99 of queue delays without it over with it',
    rule: above(1.01),
    measure: ({ spiky }) =>
      ratioOf(queueDelayQuantile(spiky?.bypassOff, 0.99), queueDelayQuantile(spiky?.bypassOn, 0.99)),
  },
  {
    ...figure12,
    id: 'bypass-rte',
    text: 'Later requests wait no longer: requests with RTE from 0.95, with the bypass over without it',
    rule: above(1.01),
    measure: ({ spiky }) =>
      ratioOf(spiky?.bypassOn.times.rte.atLeast095, spiky?.bypassOff.times.rte.atLeast095),
  },
  {
    ...figure14,
    id: 'mean-80',
    text: 'Load 80%: mean under CFS over SFS',
    rule: effect(1.141),
    measure: (evidence) =>
      ratioOf(
        meanOf(blockingAt(0.8)(evidence), 'cfs', 'all'),
        meanOf(blockingAt(0.8)(evidence), 'sfs', 'all'),
      ),
  },
  {
    ...figure14,
    id: 'sfs-all-loads',
    text: 'SFS is almost the same at 80, 90 and 100%: its median at 100% over 80%',
    rule: { kind: 'same' },
    measure: ({ blocking }) => ratioOf(medianOf(blocking.get(1), 'sfs'), medianOf(blocking.get(0.8), 'sfs')),
  },
  ...(
    [
      [0.8, 1.65],
      [0.9, 4.04],
      [1, 7.93],
    ] as const
  ).map(
    ([load, paper]): Claim => ({
      ...figure16,
      id: `p99-${load * 100}`,
      text: `Load ${load * 100}%: p99 under CFS over SFS`,
      unit: 'ratio',
      rule: effect(paper),
      measure: speedupAtP99(load),
    }),
  ),
  ...([0.8, 1] as const).flatMap((load): readonly Claim[] => [
    {
      ...figure16,
      id: `switches-more-${load * 100}`,
      text: `Load ${load * 100}%: requests with more context switches under CFS than under SFS`,
      unit: 'share',
      rule: near(0.99),
      measure: switchShare(load, (ratio) => ratio > 1),
    },
    {
      ...figure16,
      id: `switches-tenfold-${load * 100}`,
      text: `Load ${load * 100}%: requests with ten times as many, (CFS + 1) / (SFS + 1)`,
      unit: 'share',
      rule: near(0.85),
      measure: switchShare(load, (ratio) => ratio >= 10),
    },
  ]),
  {
    ...table2,
    id: 'daemon-share',
    text: 'CPU time for polling and scheduling, as a share of the host (paper: 2.6 of 72 cores; load 100%)',
    rule: near(0.036),
    measure: ({ daemon }) => {
      const shares = daemon.get(1);
      return shares === undefined ? null : shares.polling + shares.scheduling;
    },
  },
  {
    ...table2,
    id: 'daemon-polling',
    text: 'Polling, of the CPU time for polling and scheduling',
    rule: near(0.744),
    measure: ({ daemon }) => {
      const shares = daemon.get(1);
      return ratioOf(shares?.polling, shares === undefined ? null : shares.polling + shares.scheduling);
    },
  },
];
