/**
 * A compiled workload: every arrival, its function and its demand, fixed before the run, so that every policy runs identical requests
 * paired by id. All times are integer microseconds.
 *
 * E[IAT] = E[D] / (load x cores)                      (FaaSBench adjusts the IAT proportionally to simulate a load: paper, section VIII)
 * loadRealised = sum of demands / (span x cores), span = last arrival - first arrival
 */
import type { Duration } from '../../contracts/time.js';
import { fromMs, scaled } from '../../contracts/time.js';
import type { ValidationReport } from '../formats/report.js';

/** The programs that stand for functions; each is a real program under native/. */
export type Application = 'burn' | 'fib' | 'md' | 'sa';

export const applications: readonly Application[] = ['burn', 'fib', 'md', 'sa'];

/** A sleep inside a run: once the run has used `at` of CPU time, it sleeps for `length`. */
export interface Sleep {
  readonly at: Duration;
  readonly length: Duration;
}

/** One compiled request: what every policy runs identically, paired by id. */
export interface WorkloadRequest {
  /** Unique in the workload. */
  readonly id: string;
  readonly functionName: string;
  readonly application: Application;
  /** From the run's start; the earliest is 0, and requests are in the order of arrival. */
  readonly arrival: Duration;
  /** CPU time asked for; the host's calibration says what the program needs of it in wall-clock time. At least 1 ms. */
  readonly demand: Duration;
  /** In the order of `at`; each `at` lies below the demand. */
  readonly sleeps: readonly Sleep[];
}

export type GapKind = 'poisson' | 'bursty' | 'uniform' | 'trace';

export const gapKinds: readonly GapKind[] = ['poisson', 'bursty', 'uniform', 'trace'];

export interface WorkloadHeader {
  readonly format: 'sfsd-workload';
  readonly version: 1;
  /** Number of requests that follow; a file with fewer was cut short. */
  readonly requests: number;
  readonly seed: number;
  /** Where durations came from and what was scaled: `table`, `lognormal`, `azure2019: ...`, `jsonl`. */
  readonly source: string;
  readonly gaps: GapKind;
  readonly durationScale: number;
  readonly cores: number;
  readonly loadTarget: number;
  readonly loadRealised: number;
  readonly demandMean: Duration;
  /** Coefficient of variation (standard deviation / mean) of the realised gaps. */
  readonly gapCv: number;
  /** Requests below are short functions, from it on long ones: 400 ms x durationScale. */
  readonly shortBelow: Duration;
  /** Present when the workload was compiled from a trace. */
  readonly validation?: ValidationReport;
}

export interface Workload {
  readonly header: WorkloadHeader;
  readonly requests: readonly WorkloadRequest[];
}

/** Short and long part here: the shares of the paper's Table I have a gap there, between fib 31 (346 ms) and fib 34 (1,425 ms). */
export const shortBelowUnscaled = fromMs(400);

/** Programs start in about 1 ms: a smaller demand would measure the start alone. */
export const demandMin = fromMs(1);

export function isShort(request: WorkloadRequest, header: WorkloadHeader): boolean {
  return request.demand < header.shortBelow;
}

export function shortBelowAt(durationScale: number): Duration {
  return scaled(shortBelowUnscaled, durationScale);
}

/** Total length of the sleeps: what the ideal turnaround has on top of the demand. */
export function sleepTotal(request: WorkloadRequest): Duration {
  let total = 0;
  for (const sleep of request.sleeps) total += sleep.length;
  return total as Duration;
}
