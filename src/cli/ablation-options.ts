/**
 * The paper's ablations as flags, the same for `replay` and `simulate`: each takes one part of SFS away, or sets it. What they set are
 * configuration keys of scheduler/, so that a replay's private daemon and a simulated one are built from the same values.
 */
import { type Command, Option } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import { parseCount, parsePositive } from './quantities.js';

export interface AblationFlags {
  readonly slice?: number;
  readonly ioAware: boolean;
  readonly bypass: boolean;
  readonly poll?: number;
  readonly window?: number;
  readonly overload?: number;
  readonly workers?: number;
}

export function addAblationOptions(command: Command): Command {
  return command
    .option('--slice <ms>', 'fixed S (default: adaptive)', parsePositive)
    .option('--no-io-aware', 'blocked invocations keep their worker')
    .option('--no-bypass', 'no overload bypass')
    .option('--poll <ms>', 'poll interval', parsePositive)
    .option('--window <count>', 'N: arrivals per slice window', parseWindow)
    .addOption(new Option('--overload <factor>', 'O').argParser(parsePositive))
    .option('--workers <count>', 'c: FILTER workers (default: one for each core)', parseWorkers);
}

/** Keys and values as `--set` has them; what no flag names keeps its default. */
export function ablationSettings(flags: AblationFlags): Readonly<Record<string, unknown>> {
  const { slice, poll, window, overload, workers } = flags;
  if (!flags.bypass && overload !== undefined)
    throw new SfsdError('SFSD_ERR_USAGE', {
      reason: '--overload sets the bypass that --no-bypass turns off',
    });
  return {
    ...(slice === undefined ? {} : { 'scheduler.sliceFixedMs': slice }),
    ...(flags.ioAware ? {} : { 'scheduler.ioAware': false }),
    ...(poll === undefined ? {} : { 'scheduler.pollMs': poll }),
    ...(window === undefined ? {} : { 'scheduler.window': window }),
    ...(overload === undefined ? {} : { 'scheduler.overloadFactor': overload }),
    ...(flags.bypass ? {} : { 'scheduler.overloadFactor': 0 }),
    ...(workers === undefined ? {} : { 'scheduler.workers': workers }),
  };
}

function parseWindow(text: string): number {
  const count = parseCount(text);
  if (count < 1) throw new SfsdError('SFSD_ERR_USAGE', { reason: '--window is a count of arrivals, from 1' });
  return count;
}

function parseWorkers(text: string): number {
  const count = parseCount(text);
  if (count < 1)
    throw new SfsdError('SFSD_ERR_USAGE', { reason: '--workers is a count of FILTER workers, from 1' });
  return count;
}
