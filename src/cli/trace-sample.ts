/**
 * `sfsd trace sample`: a cut of a trace with its own durations at its own pace, as a workload that replay and simulate run. Where
 * `trace gen` brings any trace to a load and a mean that end in a minute, nothing is changed here that is not asked for:
 *
 *   all invocations of [--from, --to), or --count of them; durations x --scale; time x --time-scale, or as --target-load needs it
 */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import { type CliContext, commonOptions, printJson, withJson } from './context.js';
import { parseCount, parsePositive } from './quantities.js';
import { addTraceCutOptions, type TraceCutFlags, traceCutChoice } from './trace-options.js';
import { workloadLines } from './trace-workload-lines.js';

interface SampleFlags extends TraceCutFlags {
  readonly out: string;
  readonly count?: number;
  readonly scale: number;
  readonly timeScale?: number;
  readonly targetLoad?: number;
  readonly cores?: number;
  readonly clipMs?: number;
  readonly seed: number;
}

export function addTraceSample(group: Command, context: CliContext): void {
  const command = group
    .command('sample')
    .argument('<path...>', 'files or folders: Azure 2019 or 2021, or an SFS list')
    .description('cut a trace into a workload that keeps its durations and its pace');
  addTraceCutOptions(command)
    .requiredOption('--out <file>', 'where it goes (JSON lines)')
    .option('--count <count>', 'invocations, evenly along the trace (default: all)', parseCount)
    .option('--scale <factor>', 'multiplies all durations', parsePositive, 1)
    .addOption(
      new Option('--time-scale <factor>', 'multiplies all times of arrival (default: 1)')
        .argParser(parsePositive)
        .conflicts('targetLoad'),
    )
    .option('--target-load <load>', 'stretches time until demand is this share of the cores', parsePositive)
    .option('--cores <count>', 'cores that the load is of (default: all)', parseCount)
    .option('--clip-ms <ms>', 'shortens longer durations, before the scale (default: none)', parsePositive)
    .option('--seed <seed>', 'the same seed gives the same sample', parseCount, 1)
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd trace sample --from 60 --to 70 --out ten-minutes.jsonl day1/\n  sfsd trace sample --count 5000 --target-load 0.9 --cores 72 --out fleet.jsonl 2021.csv',
    )
    .action(async (paths: readonly string[], flags: SampleFlags) => {
      const { writeWorkload } = await import('../trace/formats/json-lines.js');
      const workload = await sampleWorkload(paths, flags);
      await writeWorkload(flags.out, workload);
      if (commonOptions(command).json) printJson(context, { file: flags.out, header: workload.header });
      else context.terminal.out(`${workloadLines(flags.out, workload, flags.targetLoad).join('\n')}\n`);
    });
  withJson(command);
}

async function sampleWorkload(paths: readonly string[], flags: SampleFlags) {
  const { generateWorkload } = await import('../trace/workload/generate.js');
  const { count, scale, timeScale, targetLoad, cores, clipMs, seed } = flags;
  try {
    return await generateWorkload({
      ...traceCutChoice(flags),
      trace: paths,
      durations: 'azure2019',
      gaps: 'trace',
      requests: count ?? 'all',
      durationScale: scale,
      clipMs: clipMs ?? Number.POSITIVE_INFINITY,
      // A cut shows the trace as it is: its most invoked function may be most of it.
      functionShareMax: 1,
      functionsMin: 1,
      ...(targetLoad === undefined ? { pace: 'trace', timeScale: timeScale ?? 1 } : { load: targetLoad }),
      cores: cores ?? availableParallelism(),
      seed,
    });
  } catch (thrown) {
    if (!(thrown instanceof SfsdError) || thrown.code !== 'SFSD_ERR_WORKLOAD_INVALID') throw thrown;
    throw new SfsdError('SFSD_ERR_USAGE', { reason: String(thrown.details.reason) }, { cause: thrown });
  }
}
