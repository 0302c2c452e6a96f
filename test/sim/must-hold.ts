/**
 * What SFS must achieve in simulation: Poisson arrivals, the paper's Table I with log-normal variation (sigma 0.5), N = 100, no warm-up
 * left out.
 */

import {
  figuresOf,
  type PolicyFigures,
  type PolicySummary,
  summaryOf,
} from '../../src/cli/simulate/figures.js';
import type { ComparedPolicy } from '../../src/cli/simulate/plan.js';
import type { SfsParameters } from '../../src/contracts/scheduler.js';
import { simulate } from '../../src/sim/fleet.js';
import { generateWorkload } from '../../src/trace/workload/generate.js';
import { fleetFor, parametersFor } from './machines.js';

export interface Study {
  readonly cores: number;
  readonly load: number;
  readonly requests: number;
  readonly seeds: number;
  readonly parameters?: Partial<SfsParameters>;
}

export async function study(
  of: Study,
): Promise<{ readonly sfs: PolicySummary; readonly cfs: PolicySummary }> {
  const policies: readonly ComparedPolicy[] = ['cfs', 'sfs'];
  const figures: PolicyFigures[] = [];
  for (let seed = 1; seed <= of.seeds; seed += 1) {
    const workload = await generateWorkload({
      durations: 'table',
      gaps: 'poisson',
      sigma: 0.5,
      stratified: true,
      requests: of.requests,
      load: of.load,
      cores: of.cores,
      seed,
    });
    for (const policy of ['cfs', 'sfs'] as const) {
      const parameters = parametersFor(of.cores, of.parameters);
      const run = simulate(workload.requests, fleetFor(of.cores, { policy, parameters }));
      figures.push(figuresOf(policy, workload, run));
    }
  }
  const [cfs, sfs] = policies.map((policy) => summaryOf(policy, figures));
  if (cfs === undefined || sfs === undefined) throw new Error('two policies were simulated');
  return { cfs, sfs };
}
