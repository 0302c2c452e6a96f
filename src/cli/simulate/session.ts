/**
 * One `sfsd simulate`: for each seed the workload, for each policy its run, and at the end one table or one JSON document.
 *
 * Schema `sfsd-simulation`, version 1. Times in milliseconds, shares from 0 to 1, null where a figure cannot be had.
 */
import type { Command } from 'commander';
import { fromMs, sum } from '../../contracts/time.js';
import { simulate } from '../../sim/fleet.js';
import { formatMs } from '../../trace/report/format.js';
import type { Workload, WorkloadHeader } from '../../trace/workload/workload.js';
import { type CliContext, commonOptions, printJson } from '../context.js';
import { compileWorkload, loadWorkload } from '../replay/workload-source.js';
import { figuresOf, type PolicyFigures, summaryOf } from './figures.js';
import { coresOf, fleetOptions, parametersOf, type SimulateFlags } from './plan.js';
import { createSimulationProgress, type SimulationProgress } from './progress.js';
import { simulationTable } from './table.js';

export async function runSimulate(
  flags: SimulateFlags,
  { command, context }: { readonly command: Command; readonly context: CliContext },
): Promise<void> {
  const { terminal } = context;
  // Before anything is drawn: whoever sees a run fail can repeat it.
  if (flags.faults === true) terminal.err(`faults from seed ${flags.seed}\n`);
  const progress = createSimulationProgress({
    stderr: process.stderr,
    environment: terminal.environment,
    write: (line) => terminal.err(`${line}\n`),
  });
  const figures: PolicyFigures[] = [];
  const headers: WorkloadHeader[] = [];
  try {
    for (let seed = flags.seed; seed < flags.seed + flags.seeds; seed += 1) {
      const workload = await workloadOf({ ...flags, seed });
      headers.push(workload.header);
      figures.push(...runPolicies(workload, { ...flags, seed }, progress));
    }
  } finally {
    progress.stop();
  }
  const policies = flags.policy.map((policy) => summaryOf(policy, figures));
  const [header] = headers;
  if (header === undefined) return;
  if (commonOptions(command).json === true) {
    printJson(context, {
      format: 'sfsd-simulation',
      version: 1,
      hosts: flags.hosts,
      front: flags.hosts > 1 ? flags.front : null,
      cores: coresOf(flags),
      fair: flags.fair,
      parameters: parametersOf(flags, coresOf(flags)),
      workloads: headers.map(({ validation: _validation, ...rest }) => rest),
      policies,
      runs: figures,
    });
    return;
  }
  terminal.out(`${simulationTable(policies, { columns: terminal.size().columns, seeds: flags.seeds })}\n`);
  terminal.out(`${factLines(flags, header, figures).join('\n')}\n`);
}

function runPolicies(
  workload: Workload,
  flags: SimulateFlags,
  progress: SimulationProgress,
): readonly PolicyFigures[] {
  const { requests } = workload;
  return flags.policy.map((policy) => {
    if (policy === 'ideal') return figuresOf('ideal', workload, undefined);
    const options = fleetOptions(flags, { seed: flags.seed, liveMax: requests.length });
    const label = flags.seeds > 1 ? `${policy}, seed ${flags.seed}` : policy;
    const run = simulate(requests, {
      ...options,
      policy,
      onProgress: (arrived) => progress.update({ label, arrived, requests: requests.length }),
    });
    return figuresOf(policy, workload, run);
  });
}

async function workloadOf(flags: SimulateFlags): Promise<Workload> {
  if (flags.workload !== undefined)
    return launched(await loadWorkload({ kind: 'file', file: flags.workload }), flags);
  const cores = coresOf(flags) * flags.hosts;
  return launched(await compileWorkload({ ...flags, cores }, { stratified: flags.drawn !== true }), flags);
}

/** On a real host starting a process, and the daemon's part in it, take CPU time too: each request needs that much more. */
function launched({ header, requests }: Workload, { launchCost }: SimulateFlags): Workload {
  const cost = fromMs(launchCost);
  return {
    header,
    requests: requests.map((request) => ({ ...request, demand: sum(request.demand, cost) })),
  };
}

function factLines(
  flags: SimulateFlags,
  header: WorkloadHeader,
  figures: readonly PolicyFigures[],
): readonly string[] {
  const hosts = flags.hosts === 1 ? 'one host' : `${flags.hosts} hosts (${flags.front})`;
  const sfs = figures.find(({ policy }) => policy === 'sfs');
  const killed = figures.reduce((sum, one) => sum + one.killed, 0);
  return [
    `${header.requests} requests, load ${header.loadRealised.toFixed(2)} on ${hosts} of ${coresOf(flags)} cores, ${header.gaps} gaps; ` +
      `short is below ${formatMs(header.shortBelow / 1000)} alone.`,
    `Durations: ${header.source}; seed ${flags.seed}${flags.seeds > 1 ? ` to ${flags.seed + flags.seeds - 1}` : ''}; fair scheduler: ${flags.fair}${flags.launchCost > 0 ? `; ${flags.launchCost} ms to launch each` : ''}.`,
    ...(sfs?.counters == null
      ? []
      : [
          `SFS: ${sfs.counters.promotions} promotions, ${sfs.counters.demotions} demotions, ${sfs.counters.bypasses} bypasses, ` +
            `${sfs.counters.blocks} blocks, ${sfs.counters.budgetPauses} pauses of the budget.`,
        ]),
    ...(flags.faults === true ? [`Faults ended ${killed} requests; every step held its invariants.`] : []),
  ];
}
