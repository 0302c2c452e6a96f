/**
 * The real replay under policy gittins: 14 functions or more whose runs vary, both kinds of arrivals, against CFS, SFS and IDEAL within one
 * run. Nothing is known of the functions at its start: what is learned is learned in it.
 */
import type { RunSummary, Summary } from '../../src/trace/replay/comparison.js';
import type { Part } from '../../src/trace/replay/metrics.js';
import { atMost, type Figure, type Measure } from './measure.js';
import { figure, lost, meanText, realReplay } from './real-replay.js';

const kinds = ['poisson', 'bursty'] as const;
const sigma = 0.5;

export const gittinsMeasure: Measure = {
  name: 'gittins',
  title: 'real replay of policy gittins against CFS and SFS',
  async run(context) {
    const figures: Figure[] = [];
    for (const gaps of context.short ? kinds.slice(0, 1) : kinds) {
      context.say(`gittins: ${gaps}, seed ${context.seed}`);
      const summary = await realReplay(context, {
        gaps,
        load: 1,
        more: { sigma, policy: 'cfs,sfs,gittins' },
      });
      figures.push(...figuresOf(gaps === 'poisson' ? 'Poisson' : gaps, summary));
    }
    return figures;
  },
};

function figuresOf(gaps: string, { cfs, sfs, gittins, ideal, srtf }: Summary): readonly Figure[] {
  const name = (what: string) => `Gittins, ${gaps} 1.00: ${what}`;
  const mean = (run: RunSummary | null, part: Part) => run?.turnaroundMs[part]?.mean ?? Number.NaN;
  const means = (part: Part) =>
    `CFS ${meanText(cfs?.turnaroundMs[part])}, SFS ${meanText(sfs?.turnaroundMs[part])}, Gittins ${meanText(gittins?.turnaroundMs[part])}, SRTF ${meanText(srtf?.turnaroundMs[part])}, IDEAL ${meanText(ideal.turnaroundMs[part])} ms`;
  const toCfs = (part: Part, most: number) =>
    figure(6, name(`${part} mean / CFS`), mean(gittins, part) / mean(cfs, part), 'ratio', {
      bound: atMost(most),
      note: means(part),
    });
  const switches = (run: RunSummary | null) => run?.switches?.perInvocation.mean ?? Number.NaN;
  const cpu = gittins?.daemonCpu;
  return [
    toCfs('all', 0.8),
    toCfs('long', 0.92),
    figure(
      6,
      name('short mean / IDEAL'),
      mean(gittins, 'short') / (ideal.turnaroundMs.short?.mean ?? Number.NaN),
      'ratio',
      { bound: atMost(1.15), note: means('short') },
    ),
    figure(6, name('switches each / CFS'), switches(gittins) / switches(cfs), 'ratio', {
      bound: atMost(0.5),
      note: `CFS ${switches(cfs).toFixed(1)}, SFS ${switches(sfs).toFixed(1)}, Gittins ${switches(gittins).toFixed(1)}`,
    }),
    figure(
      6,
      name('scheduling thread'),
      cpu == null ? Number.NaN : 100 * (cpu.polling + cpu.scheduling),
      '% of host',
      { bound: atMost(1) },
    ),
    figure(6, name('not completed'), lost(gittins), 'invocations', { bound: atMost(0), across: 'worst' }),
  ];
}
