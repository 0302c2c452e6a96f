/**
 * `sfsd simulate`: the workloads of `sfsd replay` on simulated hosts of any size, under the daemon's own policy object and under references
 * that no kernel has.
 */
import { type Command, Option } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import { frontNames } from '../sim/fleet.js';
import { addAblationOptions } from './ablation-options.js';
import { type CliContext, withJson } from './context.js';
import { parseCount, parsePositive, parseWithin } from './quantities.js';
import { type ComparedPolicy, comparedPolicies, type SimulateFlags } from './simulate/plan.js';
import { addWorkloadOptions, workloadFlagNames } from './workload-options.js';

export function addSimulateCommand(program: Command, context: CliContext): void {
  const command = program
    .command('simulate')
    .description('run one workload on simulated hosts under several policies, and compare')
    .addOption(
      new Option('--workload <file>', 'a compiled one (`sfsd trace gen`)').conflicts([...workloadFlagNames]),
    );
  addHostOptions(addWorkloadOptions(command));
  addPlaneOptions(addAblationOptions(command))
    .option('--drawn', 'draw durations at random instead of giving each bucket its exact share')
    .option(
      '--seeds <count>',
      'this many seeds from --seed on; figures get 95% intervals',
      parseAtLeastOne,
      1,
    )
    .option('--faults', 'exits in calls, refused promotions, wake storms, late polls; every step is checked')
    .addHelpText('after', helpText)
    .action(async (flags: SimulateFlags) => {
      if (flags.workload !== undefined && flags.seeds > 1)
        throw new SfsdError('SFSD_ERR_USAGE', { reason: '--seeds needs a generated workload' });
      const { runSimulate } = await import('./simulate/session.js');
      await runSimulate(flags, { command, context });
    });
  withJson(command);
}

/**
 * The kernel's fair slice is 0.7 to 2.8 ms by the number of cores, and ends at the first tick after it: 4 ms at HZ=250. 100 ms is its
 * RR_TIMESLICE.
 */
function addHostOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--policy <policies>', `of ${comparedPolicies.join(', ')}`)
        .argParser(parsePolicies)
        .default(comparedPolicies, 'all'),
    )
    .option('--hosts <count>', 'independent hosts of --cores each; the load is for all', parseAtLeastOne, 1)
    .addOption(
      new Option('--front <front>', 'chooses the host of each request')
        .choices([...frontNames])
        .default('random'),
    )
    .addOption(
      new Option('--fair <model>', 'the fair scheduler: a fluid, or slice by slice')
        .choices(['fluid', 'eevdf'])
        .default('fluid'),
    )
    .option('--fair-slice <ms>', 'of eevdf', parsePositive, 4)
    .option('--switch-cost <us>', 'of eevdf', parseCount, 5)
    .option('--quantum <ms>', 'of rr', parsePositive, 100);
}

/** What a real host has of itself. */
function addPlaneOptions(command: Command): Command {
  return command
    .option('--budget <percent>', 'FILTER budget; 100: off', parseWithin(1, 100))
    .option('--launch-cost <ms>', 'CPU time to start each, the daemon’s included', parseWithin(0, 1000), 0)
    .option('--pickup-delay <us>', 'from an event to the turn that sees it', parseCount, 0)
    .option('--lateness <us>', 'of polls and slice ends', parseCount, 0)
    .option('--lag <ms>', 'tick of the kernel’s CPU accounts; 0: exact', parseWithin(0, 1000), 0);
}

const helpText = `
Without options: 400 invocations of the bundled Azure sample on as many cores as this host has.

Examples:
  sfsd simulate --durations table --sigma 0.5 --cores 72 --count 20000 --seeds 20
  sfsd simulate --durations table --cores 12 --policy cfs,sfs --slice 50 --no-bypass --load 0.8
  sfsd simulate --durations table --cores 8 --hosts 16 --front least-loaded --count 50000 --json`;

function parsePolicies(text: string): readonly ComparedPolicy[] {
  const names: readonly string[] = text.split(',');
  const unknown = names.find((name) => !comparedPolicies.some((known) => known === name));
  if (unknown !== undefined)
    throw new SfsdError('SFSD_ERR_USAGE', {
      reason: `${JSON.stringify(unknown)} is no policy; there are ${comparedPolicies.join(', ')}`,
    });
  return comparedPolicies.filter((name) => names.includes(name));
}

function parseAtLeastOne(text: string): number {
  const count = parseCount(text);
  if (count < 1)
    throw new SfsdError('SFSD_ERR_USAGE', { reason: 'counts of hosts, seeds and arrivals start at 1' });
  return count;
}
