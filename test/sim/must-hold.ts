/**
 * What policies must achieve in simulation: the paper's Table I with log-normal variation (sigma 0.5), N = 100, no warm-up
 * left out.
 */

import {
  figuresOf,
  type PolicyFigures,
  type PolicySummary,
  summaryOf,
} from '../../src/cli/simulate/figures.js';
import type { SfsParameters } from '../../src/contracts/scheduler.js';
import { simulate } from '../../src/sim/fleet.js';
import type { SimulatedPolicy } from '../../src/sim/host.js';
import { generateWorkload } from '../../src/trace/workload/generate.js';
import { fleetFor, parametersFor } from './machines.js';

export interface Study {
  readonly cores: number;
  readonly load: number;
  readonly requests: number;
  readonly seeds: number;
  /** Default: Poisson. */
  readonly gaps?: 'poisson' | 'bursty';
  readonly parameters?: Partial<SfsParameters>;
}

/** Every policy over the same workloads, one for each seed. */
export async function figuresFor(
  of: Study,
  policies: readonly SimulatedPolicy[],
): Promise<readonly PolicyFigures[]> {
  const figures: PolicyFigures[] = [];
  for (let seed = 1; seed <= of.seeds; seed += 1) {
    const workload = await generateWorkload({
      durations: 'table',
      gaps: of.gaps ?? 'poisson',
      sigma: 0.5,
      stratified: true,
      requests: of.requests,
      load: of.load,
      cores: of.cores,
      seed,
    });
    for (const policy of policies) {
      const parameters = parametersFor(of.cores, of.parameters);
      const run = simulate(workload.requests, fleetFor(of.cores, { policy, parameters }));
      figures.push(figuresOf(policy, workload, run));
    }
  }
  return figures;
}

export async function study(of: Study): Promise<{ readonly sfs: PolicySummary }> {
  return { sfs: summaryOf('sfs', await figuresFor(of, ['cfs', 'sfs'])) };
}
