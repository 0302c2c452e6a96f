/**
 * What a demand means on this host. `burn` stops at an exact CPU time; the Python programs take a number of repetitions, whose cost is
 * the host's. Each program is run alone with few and with many units, several times, and the medians give two lines:
 *
 *   cpuTime(units)    = cpuOverhead + units x cpuPerUnit                 units = (demand - cpuOverhead) / cpuPerUnit, at least 1
 *   turnaround(units) = turnaroundOverhead + units x turnaroundPerUnit   ideal = turnaround(units) + sleeps
 *
 * The units of `burn` are microseconds of CPU time, so its cpuPerUnit is 1 and its cpuOverhead 0 by definition.
 */
import { SfsdError } from '../../contracts/errors.js';
import { type Duration, duration } from '../../contracts/time.js';
import { type Application, sleepTotal, type Workload, type WorkloadRequest } from './workload.js';

export interface Measurement {
  readonly turnaround: Duration;
  readonly cpuTime: Duration;
}

/** Runs the application once with this body on the idle host. The caller makes sure that nothing else runs. */
export type MeasureAlone = (application: Application, body: Uint8Array) => Promise<Measurement>;

/** All in us; the slopes are us for each unit. */
export interface CalibrationRow {
  readonly application: Application;
  readonly cpuOverhead: number;
  readonly cpuPerUnit: number;
  readonly turnaroundOverhead: number;
  readonly turnaroundPerUnit: number;
}

export type Calibration = ReadonlyMap<Application, CalibrationRow>;

export const calibrationRuns = 5;

/** Units of the short and the long probe: the long one takes 50 to 100 ms more on a host of today. */
const probesOf = {
  burn: { few: 5_000, many: 100_000 },
  fib: { few: 1, many: 1_000 },
  md: { few: 1, many: 1_000 },
  sa: { few: 1, many: 5_000 },
} as const satisfies Readonly<Record<Application, { few: number; many: number }>>;
/** A guard against a calibration on a noisy host: no program does a repetition in less. */
const cpuPerUnitMin = 0.1;

/** One after the other, so that nothing contends. About 2 s for all applications. */
export async function calibrate(
  applications: Iterable<Application>,
  measure: MeasureAlone,
  runs: number = calibrationRuns,
): Promise<Calibration> {
  const rows = new Map<Application, CalibrationRow>();
  for (const application of new Set(applications)) {
    const probes = probesOf[application];
    const few = await medianOf(application, probes.few, { measure, runs });
    const many = await medianOf(application, probes.many, { measure, runs });
    rows.set(application, rowFrom(application, probes, { few, many }));
  }
  return rows;
}

export function applicationsOf(workload: Workload): ReadonlySet<Application> {
  return new Set(workload.requests.map((request) => request.application));
}

/** What goes to the program's standard input. */
export function bodyOf(request: WorkloadRequest, calibration: Calibration): Uint8Array {
  const units = unitsFor(request, rowOf(request.application, calibration));
  return bodyFor(request.application, units, request);
}

/** Turnaround of the request when it has the host to itself. */
export function idealOf(request: WorkloadRequest, calibration: Calibration): Duration {
  const row = rowOf(request.application, calibration);
  const running = row.turnaroundOverhead + unitsFor(request, row) * row.turnaroundPerUnit;
  return duration(running + sleepTotal(request));
}

/** CPU time that the request will need: the demand, but for programs whose start alone needs more. */
export function cpuTimeOf(request: WorkloadRequest, calibration: Calibration): Duration {
  const row = rowOf(request.application, calibration);
  return duration(row.cpuOverhead + unitsFor(request, row) * row.cpuPerUnit);
}

function unitsFor(request: WorkloadRequest, row: CalibrationRow): number {
  return Math.max(1, Math.round((request.demand - row.cpuOverhead) / row.cpuPerUnit));
}

function bodyFor(
  application: Application,
  units: number,
  { sleeps }: Pick<WorkloadRequest, 'sleeps'>,
): Uint8Array {
  if (application !== 'burn') return Buffer.from(JSON.stringify({ repeat: units }));
  const words = [msText(units)];
  for (const sleep of sleeps) words.push('--sleep-ms', msText(sleep.length), '--at-ms', msText(sleep.at));
  return Buffer.from(`${words.join(' ')}\n`);
}

function msText(us: number): string {
  return (us / 1000).toFixed(3);
}

async function medianOf(
  application: Application,
  units: number,
  { measure, runs }: { readonly measure: MeasureAlone; readonly runs: number },
): Promise<Measurement> {
  const body = bodyFor(application, units, { sleeps: [] });
  const seen: Measurement[] = [];
  for (let run = 0; run < runs; run += 1) seen.push(await measure(application, body));
  const middle = (values: readonly Duration[]): Duration =>
    values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? duration(0);
  return {
    turnaround: middle(seen.map((one) => one.turnaround)),
    cpuTime: middle(seen.map((one) => one.cpuTime)),
  };
}

function rowFrom(
  application: Application,
  probes: { readonly few: number; readonly many: number },
  { few, many }: { readonly few: Measurement; readonly many: Measurement },
): CalibrationRow {
  const units = probes.many - probes.few;
  const turnaroundPerUnit = (many.turnaround - few.turnaround) / units;
  const turnaroundOverhead = Math.max(0, few.turnaround - probes.few * turnaroundPerUnit);
  const exact = application === 'burn';
  const cpuPerUnit = exact ? 1 : (many.cpuTime - few.cpuTime) / units;
  const cpuOverhead = exact ? 0 : Math.max(0, few.cpuTime - probes.few * cpuPerUnit);
  if (cpuPerUnit < cpuPerUnitMin || turnaroundPerUnit < cpuPerUnitMin) {
    throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', {
      reason: `calibration of ${application}: ${probes.many} units took ${many.cpuTime} us of CPU time, ${probes.few} took ${few.cpuTime}; is the host idle?`,
    });
  }
  return { application, cpuOverhead, cpuPerUnit, turnaroundOverhead, turnaroundPerUnit };
}

function rowOf(application: Application, calibration: Calibration): CalibrationRow {
  const row = calibration.get(application);
  if (row === undefined) {
    throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', {
      reason: `${application} was not calibrated on this host`,
    });
  }
  return row;
}
