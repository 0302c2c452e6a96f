/**
 * The options that describe a workload, shared by `replay` and `trace gen`, as the generator's own. What is not given keeps the
 * generator's default; its checks name all faults at once.
 */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import type { GenerateOptions } from '../trace/workload/generate.js';
import type { GapKind } from '../trace/workload/workload.js';
import { parseCount, parsePositive } from './quantities.js';
import { addTraceCutOptions, type TraceCutFlags, traceCutChoice, traceFlagNames } from './trace-options.js';

export interface WorkloadFlags extends TraceCutFlags {
  readonly trace?: string;
  readonly durations?: 'table' | 'lognormal';
  readonly gaps: GapKind;
  readonly load: number;
  readonly targetLoad?: number;
  readonly count: number;
  readonly scale?: number;
  readonly sigma: number;
  readonly seed: number;
  readonly cores?: number;
  readonly mix: 'burn' | 'applications';
  readonly sleepShare: number;
}

export function addWorkloadOptions(command: Command): Command {
  return addTraceCutOptions(command)
    .addOption(
      new Option(
        '--trace <path>',
        'of Azure 2019, Azure 2021 or an SFS list (default: the bundled sample)',
      ).conflicts('durations'),
    )
    .addOption(
      new Option('--durations <kind>', 'no trace: the paper’s Table I, or Azure’s log-normal fit').choices([
        'table',
        'lognormal',
      ]),
    )
    .addOption(
      new Option('--gaps <kind>', 'between arrivals')
        .choices(['poisson', 'bursty', 'uniform', 'trace'])
        .default('poisson'),
    )
    .addOption(
      new Option('--load <load>', 'demand as a share of the cores').argParser(parsePositive).default(1),
    )
    .addOption(
      new Option('--target-load <load>', 'the same as --load').argParser(parsePositive).conflicts('load'),
    )
    .option('--count <count>', 'invocations', parseCount, 400)
    .option(
      '--scale <factor>',
      'multiplies all durations (default: 1; a trace: so that the mean is 185 ms)',
      parsePositive,
    )
    .option('--sigma <sigma>', 'varies each duration by a log-normal factor with mean 1', Number, 0)
    .option('--seed <seed>', 'the same seed gives the same workload', parseCount, 1)
    .option('--cores <count>', 'cores that the load is for (default: all)', parseCores)
    .addOption(
      new Option('--mix <programs>', 'exact CPU time, or fib, md and sa 60/20/20')
        .choices(['burn', 'applications'])
        .default('burn'),
    )
    .option('--sleep-share <share>', 'of the invocations that sleep once', Number, 0);
}

/** What was asked for beside a ready workload, as flags: none of it has an effect there. */
export const workloadFlagNames = [
  'trace',
  'durations',
  'gaps',
  'load',
  'count',
  'scale',
  'sigma',
  'seed',
  'mix',
  'sleepShare',
  'targetLoad',
  ...traceFlagNames,
] as const;

export function generatorChoice(flags: WorkloadFlags, stratified: boolean): Omit<GenerateOptions, 'mix'> {
  const { trace, durations, gaps, load, count, scale, sigma, seed, cores, sleepShare } = flags;
  return {
    durations: durations ?? 'azure2019',
    ...(trace === undefined ? {} : { trace: [trace] }),
    ...traceCutChoice(flags),
    gaps,
    load: flags.targetLoad ?? load,
    requests: count,
    ...(scale === undefined ? {} : { durationScale: scale }),
    sigma,
    seed,
    cores: cores ?? availableParallelism(),
    stratified,
    sleepShare,
  };
}

function parseCores(text: string): number {
  const cores = parseCount(text);
  if (cores < 1) throw new SfsdError('SFSD_ERR_USAGE', { reason: '--cores is at least 1' });
  return cores;
}
