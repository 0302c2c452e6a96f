/**
 * What makes the figures of a comparison doubtful, in words a reader can act on. Empty: nothing known.
 * The bounds are those the comparison is held to: generator lag p99 under 5 ms, realised load within 0.01 of the target, nothing lost.
 */
import type { WorkloadHeader } from '../workload/workload.js';
import type { RunSummary } from './comparison.js';

const lagP99MaxMs = 5;
const loadErrorMax = 0.01;
/** CPU time used may differ this much from what was asked for before IDEAL is no reference any more. */
const calibrationErrorMax = 0.05;
const aboveOneShareMax = 0.02;

export interface WarningInput {
  /** By title. */
  readonly runs: Readonly<Record<string, RunSummary | null>>;
  readonly workload: WorkloadHeader;
  readonly paired: number;
}

export function warningsOf({ runs, workload, paired }: WarningInput): readonly string[] {
  const warnings: string[] = [];
  if (Math.abs(workload.loadRealised - workload.loadTarget) > loadErrorMax) {
    warnings.push(
      `The workload's realised load ${workload.loadRealised.toFixed(3)} is not its target ${workload.loadTarget.toFixed(2)}.`,
    );
  }
  if (paired === 0) warnings.push('No request completed under every policy: there is nothing to compare.');
  for (const [title, run] of Object.entries(runs))
    if (run !== null) warnings.push(...warningsOfRun(title, run, paired));
  return warnings;
}

function warningsOfRun(name: string, run: RunSummary, paired: number): readonly string[] {
  const warnings: string[] = [];
  const { counts, lagMs, cpuOverDemand, rte } = run;
  const missing = [
    count(counts.failed, 'failed'),
    count(counts.refusedByDaemon, 'refused by the daemon'),
    count(counts.refusedByGenerator, 'not sent: too many in flight'),
    count(counts.lost, 'lost'),
  ].filter((text) => text !== '');
  if (missing.length > 0) {
    warnings.push(
      `${name}: of ${counts.requested} requests, ${missing.join(', ')}. They are in no turnaround.`,
    );
  }
  if (lagMs !== null && lagMs.p99 >= lagP99MaxMs) {
    warnings.push(
      `${name}: the generator was late by ${lagMs.p99.toFixed(1)} ms (p99), more than ${lagP99MaxMs} ms.`,
    );
  }
  if (cpuOverDemand !== null && Math.abs(cpuOverDemand - 1) > calibrationErrorMax) {
    warnings.push(
      `${name}: programs used ${cpuOverDemand.toFixed(2)} times the CPU time asked for; IDEAL is off by as much. Calibrate again.`,
    );
  }
  if (rte.aboveOne > aboveOneShareMax * paired) {
    warnings.push(
      `${name}: ${rte.aboveOne} requests ended faster than their demand (RTE above 1): bad calibration.`,
    );
  }
  return warnings;
}

function count(value: number, what: string): string {
  return value === 0 ? '' : `${value} ${what}`;
}
