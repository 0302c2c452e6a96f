/**
 * `sfsd replay`: real function processes under each policy, and the table that compares them.
 */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import { type ReplayPolicy, replayPolicies } from '../contracts/replay.js';
import { type AblationFlags, ablationSettings, addAblationOptions } from './ablation-options.js';
import { type CliContext, commonOptions, namedSocket, withJson, withSocket } from './context.js';
import type { ReplayPlan } from './replay/plan.js';
import { overrides } from './start.js';
import { addWorkloadOptions, type WorkloadFlags, workloadFlagNames } from './workload-options.js';

interface ReplayFlags extends WorkloadFlags, AblationFlags {
  readonly workload?: string;
  readonly policy: readonly ReplayPolicy[];
  readonly out?: string;
  readonly keep?: boolean;
  readonly set?: readonly string[];
}

/** The plain kernel first: a host that is not idle then shows before sfsd's own run. */
const runOrder: readonly ReplayPolicy[] = ['cfs', 'sfs', 'gittins', 'fifo', 'rr'];
const compared: readonly ReplayPolicy[] = ['cfs', 'sfs'];

export function addReplayCommand(program: Command, context: CliContext): void {
  const command = program
    .command('replay')
    .description('run one workload under the kernel’s scheduler and under sfsd, and compare')
    .addOption(
      new Option('--workload <file>', 'a compiled one (`sfsd trace gen`)').conflicts([...workloadFlagNames]),
    );
  addAblationOptions(addWorkloadOptions(command))
    .addOption(
      new Option('--policy <policies>', `of ${runOrder.join(', ')}; all within the FILTER budget`)
        .argParser(parsePolicies)
        .default(compared, compared.join(',')),
    )
    .option('--out <folder>', 'where the results go (default: out/replay-TIME)')
    .option('--set <key=value>', 'configure the private daemon; may be repeated', collect)
    .option('--keep', 'keep the private daemon’s log there too')
    .addHelpText('after', helpText)
    .action(async (flags: ReplayFlags) => {
      const { runReplay } = await import('./replay/session.js');
      await runReplay(planOf(flags, { command, context }), context);
    });
  withJson(withSocket(command));
}

const helpText = `
Without options: the bundled Azure sample, 400 invocations, under 4 minutes on 2 cores.
A private daemon is started and ended, unless --socket names one that runs.

Examples:
  sfsd replay
  sfsd replay --durations table --gaps bursty --load 0.8 --count 600 --scale 0.5 --seed 7
  sfsd replay --policy cfs,sfs,fifo,rr
  sfsd replay --durations table --gaps bursty --no-bypass --slice 50
  sfsd replay --workload workload.jsonl --policy sfs --socket /run/sfsd/sfsd.sock`;

function planOf(
  flags: ReplayFlags,
  from: { readonly command: Command; readonly context: CliContext },
): ReplayPlan {
  const socket = namedSocket(from.command, from.context);
  const settings = { ...ablationSettings(flags), ...overrides(flags.set ?? []) };
  if (socket !== undefined && Object.keys(settings).length > 0)
    throw new SfsdError('SFSD_ERR_USAGE', {
      reason: `the daemon on --socket runs already: ${Object.keys(settings).join(', ')} cannot be set for it`,
    });
  if (flags.cores !== undefined && flags.cores > availableParallelism())
    throw new SfsdError('SFSD_ERR_USAGE', { reason: `this host has ${availableParallelism()} cores` });
  const own = flags.policy.filter((policy) => !compared.includes(policy));
  if (socket !== undefined && own.length > 0)
    throw new SfsdError('SFSD_ERR_USAGE', {
      reason: `${own.join(' and ')} need a daemon of their own; the one on --socket runs already`,
    });
  return {
    source:
      flags.workload === undefined ? { kind: 'generated', flags } : { kind: 'file', file: flags.workload },
    policies: flags.policy,
    socket,
    settings,
    outFolder: flags.out,
    keepLog: flags.keep === true,
    json: commonOptions(from.command).json === true,
    cores: flags.cores,
    command: ['sfsd', 'replay', ...argumentsAfter('replay')].join(' '),
  };
}

/** As it was typed; the report shows it, for whoever wants to run it again. */
function argumentsAfter(name: string): readonly string[] {
  return process.argv.slice(process.argv.indexOf(name) + 1);
}

function parsePolicies(text: string): readonly ReplayPolicy[] {
  const names: readonly string[] = text.split(',');
  const unknown = names.find((name) => !replayPolicies.some((known) => known === name));
  if (unknown !== undefined)
    throw new SfsdError('SFSD_ERR_USAGE', {
      reason: `${JSON.stringify(unknown)} is no policy; there are ${replayPolicies.join(', ')}`,
    });
  return runOrder.filter((name) => names.includes(name));
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
