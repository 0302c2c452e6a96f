/**
 * Lines 1 and 4: the real replay, by the command that users run. CFS and SFS are compared within one run of it; another run has
 * another seed, so the median is over workloads too.
 */
import type { RunSummary, Summary } from '../../src/trace/replay/comparison.js';
import { atLeast, atMost, type Bound, below, type Figure, type Measure } from './measure.js';
import { figure, lost, meanText, realReplay } from './real-replay.js';

interface Workload {
  readonly name: string;
  readonly gaps: 'poisson' | 'bursty';
  readonly load: number;
  readonly excessRemoved: number;
  /** Short against IDEAL, long against CFS and the daemon's CPU time are bounded where the issue bounds them. */
  readonly whole: boolean;
}

const workloads: readonly Workload[] = [
  { name: 'Poisson 1.00', gaps: 'poisson', load: 1, excessRemoved: 0.8, whole: true },
  { name: 'bursty 1.00', gaps: 'bursty', load: 1, excessRemoved: 0.6, whole: false },
  { name: 'Poisson 0.80', gaps: 'poisson', load: 0.8, excessRemoved: 0.6, whole: false },
];

export const replayMeasure: Measure = {
  name: 'replay',
  title: 'real replay against CFS',
  async run(context) {
    const figures: Figure[] = [];
    for (const workload of context.short ? workloads.slice(0, 1) : workloads) {
      context.say(`replay: ${workload.name}, seed ${context.seed}`);
      figures.push(...figuresOf(workload, await realReplay(context, workload)));
    }
    return figures;
  },
};

function figuresOf(workload: Workload, summary: Summary): readonly Figure[] {
  const { comparison, cfs, sfs, ideal } = summary;
  const means = (part: 'short' | 'long') =>
    `IDEAL ${meanText(ideal.turnaroundMs[part])}, CFS ${meanText(cfs?.turnaroundMs[part])}, SFS ${meanText(sfs?.turnaroundMs[part])} ms`;
  const { name, whole } = workload;
  return [
    figure(1, `${name}: short mean / IDEAL`, comparison?.sfsOverIdeal.short?.ratio, 'ratio', {
      ...(whole ? { bound: atMost(1.35) } : {}),
      note: means('short'),
    }),
    figure(1, `${name}: excess over IDEAL removed, short`, comparison?.excessRemoved.short, 'share', {
      bound: atLeast(workload.excessRemoved),
    }),
    figure(1, `${name}: long mean / CFS`, comparison?.sfsOverCfs.long?.ratio, 'ratio', {
      ...(whole ? { bound: atMost(1.3) } : {}),
      note: means('long'),
    }),
    figure(1, `${name}: not completed`, lost(cfs) + lost(sfs), 'invocations', {
      bound: atMost(0),
      across: 'worst',
      note: `of ${summary.workload.requests} under each policy, load achieved ${sfs?.loadAchieved?.toFixed(2)}`,
    }),
    figure(
      1,
      `${name}: generator lag, p99`,
      Math.max(cfs?.lagMs?.p99 ?? Number.NaN, sfs?.lagMs?.p99 ?? Number.NaN),
      'ms',
      {
        bound: below(5),
      },
    ),
    ...daemonFigures(workload, sfs),
  ];
}

function daemonFigures({ name, whole }: Workload, sfs: RunSummary | null): readonly Figure[] {
  const cpu = sfs?.daemonCpu;
  const percent = (share: number | undefined) => (share === undefined ? undefined : share * 100);
  const bounded = (bound: Bound) => (whole ? { bound } : {});
  return [
    figure(
      4,
      `${name}: scheduling thread`,
      percent(cpu === null || cpu === undefined ? undefined : cpu.polling + cpu.scheduling),
      '% of host',
      bounded(atMost(1)),
    ),
    figure(4, `${name}: of that, polling`, percent(cpu?.polling), '% of host', {}),
    figure(4, `${name}: of that, scheduling`, percent(cpu?.scheduling), '% of host', {}),
    figure(4, `${name}: whole daemon with spawner`, percent(cpu?.total), '% of host', {
      ...bounded(atMost(3)),
      note: `control ${percent(cpu?.control)?.toFixed(2)}, spawner ${percent(cpu?.spawner)?.toFixed(2)}`,
    }),
  ];
}
