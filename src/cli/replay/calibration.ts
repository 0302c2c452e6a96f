/**
 * IDEAL, measured: each program of the workload alone on the idle host, through the same path as the replay, under cfs
 * (trace/workload/calibrate.ts says how runs become lines). What it gives replaces, in the records, the demand that was asked
 * for by the one that the program can meet, and the turnaround alone by what it was here.
 */
import { SfsdError } from '../../contracts/errors.js';
import type { Submit } from '../../contracts/replay.js';
import type { Clock } from '../../contracts/time.js';
import { between, toMs } from '../../contracts/time.js';
import type { RequestRecord } from '../../trace/replay/record.js';
import {
  applicationsOf,
  type Calibration,
  calibrate,
  cpuTimeOf,
  idealOf,
  type MeasureAlone,
} from '../../trace/workload/calibrate.js';
import type { Application, Workload } from '../../trace/workload/workload.js';
import { functionNameOf } from './workload-functions.js';

const attemptsMax = 3;
/** One repetition to the Python programs, 1 ms to burn. */
const warmUpBodies = { burn: '1\n', python: '{}' } as const;

export interface CalibrationOptions {
  readonly workload: Workload;
  readonly submit: Submit;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function calibrateHost(options: CalibrationOptions): Promise<Calibration> {
  const measure = measureAlone(options);
  const applications = applicationsOf(options.workload);
  // The first run of a program reads it, and its interpreter, from the disk.
  for (const application of applications) await measure(application, warmUpBody(application));
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await calibrate(applications, measure);
    } catch (thrown) {
      // A host that was busy for a moment gives lines that cannot be.
      const noisy = thrown instanceof SfsdError && thrown.code === 'SFSD_ERR_WORKLOAD_INVALID';
      if (!noisy || attempt === attemptsMax) throw thrown;
    }
  }
}

function warmUpBody(application: Application): Uint8Array {
  return Buffer.from(application === 'burn' ? warmUpBodies.burn : warmUpBodies.python);
}

function measureAlone({ submit, clock, signal }: CalibrationOptions): MeasureAlone {
  let runs = 0;
  return async (application, body) => {
    signal.throwIfAborted();
    runs += 1;
    const functionName = functionNameOf(application);
    const arrivedAt = clock.now();
    const id = `calibration-${runs}`;
    const { errorCode, exit, endedAt, cpuTime } = await submit({
      id,
      functionName,
      arrivedAt,
      policy: 'cfs',
      body,
    });
    if (errorCode !== undefined || exit.kind !== 'exited' || exit.code !== 0)
      throw new SfsdError('SFSD_ERR_FUNCTION_FAILED', {
        name: functionName,
        outcome: `${errorCode ?? JSON.stringify(exit)}, alone on the idle host`,
      });
    return { turnaround: between(arrivedAt, endedAt), cpuTime };
  };
}

export interface Measured {
  readonly workload: Workload;
  readonly calibration: Calibration;
}

export function withCalibration(
  records: readonly RequestRecord[],
  { workload, calibration }: Measured,
): readonly RequestRecord[] {
  const requests = new Map(workload.requests.map((request) => [request.id, request]));
  return records.map((record) => {
    const request = requests.get(record.id);
    if (request === undefined) return record;
    const idealMs = toMs(idealOf(request, calibration));
    return { ...record, idealMs, demandMs: toMs(cpuTimeOf(request, calibration)) };
  });
}

/** One sentence a program, for the log of a replay. */
export function calibrationLines(calibration: Calibration): string[] {
  return [...calibration.values()].map(({ application, turnaroundOverhead, turnaroundPerUnit }) => {
    const start = `${(turnaroundOverhead / 1000).toFixed(2)} ms`;
    return application === 'burn'
      ? `alone, burn takes ${start} + ${turnaroundPerUnit.toFixed(3)} x its CPU time`
      : `alone, ${application} takes ${start} + ${turnaroundPerUnit.toFixed(1)} us a repetition`;
  });
}
