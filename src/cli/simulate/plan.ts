/** What one `sfsd simulate` was asked to do, and the simulated hosts that follow from it. */
import { availableParallelism } from 'node:os';
import type { SfsParameters } from '../../contracts/scheduler.js';
import { duration, fromMs } from '../../contracts/time.js';
import { loadConfig } from '../../daemon/config/config.js';
import { sfsParameters, workerCount } from '../../daemon/config/parameters.js';
import type { FairRule } from '../../sim/fair-rule.js';
import { type FaultRule, noFaults } from '../../sim/faults.js';
import type { FleetOptions, FrontName } from '../../sim/fleet.js';
import type { SimulatedPolicy } from '../../sim/host.js';
import { RandomStream } from '../../trace/workload/random.js';
import { type AblationFlags, ablationSettings } from '../ablation-options.js';
import type { WorkloadFlags } from '../workload-options.js';

export type ComparedPolicy = 'ideal' | SimulatedPolicy;
/** In the order of the table. */
export const comparedPolicies: readonly ComparedPolicy[] = [
  'ideal',
  'srtf',
  'fifo',
  'rr',
  'cfs',
  'sfs',
  'gittins',
];

export interface SimulateFlags extends WorkloadFlags, AblationFlags {
  readonly workload?: string;
  readonly policy: readonly ComparedPolicy[];
  readonly hosts: number;
  readonly front: FrontName;
  readonly fair: FairRule['kind'];
  readonly fairSlice: number;
  readonly switchCost: number;
  readonly quantum: number;
  readonly budget?: number;
  readonly launchCost: number;
  readonly pickupDelay: number;
  readonly lateness: number;
  readonly lag: number;
  readonly drawn?: boolean;
  readonly seeds: number;
  readonly faults?: boolean;
}

/** Of faults: often enough that a run of some hundred requests meets each. */
const faultRule: FaultRule = {
  exitShare: 0.0005,
  denialShare: 0.02,
  stormShare: 0.002,
  lateShare: 0.1,
  latenessMax: fromMs(8),
};

/** A tick's length: how often a kernel of HZ=250 looks for an uneven spread. */
const balanceInterval = fromMs(4);

export function coresOf(flags: SimulateFlags): number {
  return flags.cores ?? availableParallelism();
}

/** Everything but the policy. @param liveMax nothing is refused in a simulation: the number of requests. */
export function fleetOptions(
  flags: SimulateFlags,
  run: { readonly seed: number; readonly liveMax: number },
): Omit<FleetOptions, 'policy'> {
  const cores = coresOf(flags);
  const faults = new RandomStream(run.seed, 'faults');
  const front = new RandomStream(run.seed, 'front');
  return {
    cores,
    hosts: flags.hosts,
    front: flags.front,
    fair: fairRule(flags),
    quantum: fromMs(flags.quantum),
    parameters: { ...parametersOf(flags, cores), liveMax: run.liveMax },
    pickupDelay: duration(flags.pickupDelay),
    tickLateness: duration(flags.lateness),
    observationLag: fromMs(flags.lag),
    faults: flags.faults === true ? faultRule : noFaults,
    checked: flags.faults === true,
    draw: () => faults.uniform(),
    drawHost: () => front.uniform(),
  };
}

function fairRule(flags: SimulateFlags): FairRule {
  if (flags.fair === 'fluid') return { kind: 'fluid' };
  return {
    kind: 'eevdf',
    slice: fromMs(flags.fairSlice),
    switchCost: duration(flags.switchCost),
    balanceInterval,
  };
}

/** The daemon's defaults, but for what was asked for. The budget of 100%, off, is one that its configuration refuses. */
export function parametersOf(flags: SimulateFlags, cores: number): SfsParameters {
  const { scheduler } = loadConfig({ environment: {}, flags: ablationSettings(flags) });
  const budgetPercent = flags.budget ?? scheduler.budgetPercent;
  return sfsParameters(
    { ...scheduler, budgetPercent },
    { workers: workerCount(scheduler, cores), budgeted: true },
  );
}
