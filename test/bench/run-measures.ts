/**
 * Runs measures one after the other, each as often as asked, and makes rows of what they say. A measure that fails is a fault of its
 * own and does not keep the others from running.
 */
import { reasonOf } from '../../src/contracts/errors.js';
import { ffiMeasure } from './ffi.js';
import { fullMeasure } from './full.js';
import { gittinsMeasure } from './gittins.js';
import { launchMeasure } from './launch.js';
import { combine, type Figure, type Measure, type MeasureContext, type Row } from './measure.js';
import { pollMeasure } from './poll.js';
import { registrationsMeasure } from './registrations.js';
import { registrationsRealMeasure } from './registrations-real.js';
import { replayMeasure } from './replay.js';
import { sliceMeasure } from './slice.js';
import { traceMeasure } from './trace.js';

/** In the order of the lines. */
export const measures: readonly Measure[] = [
  replayMeasure,
  gittinsMeasure,
  sliceMeasure,
  fullMeasure,
  pollMeasure,
  registrationsMeasure,
  registrationsRealMeasure,
  launchMeasure,
  ffiMeasure,
  traceMeasure,
];

export interface Fault {
  readonly measure: string;
  readonly reason: string;
}

export interface Report {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
}

export async function runMeasures(
  selected: readonly Measure[],
  options: {
    readonly runs: number;
    readonly context: Omit<MeasureContext, 'seed'>;
    readonly seed: number;
    /** Aborted: what runs is ending already, and nothing more is started. */
    readonly signal: AbortSignal;
  },
): Promise<Report> {
  const rows: Row[] = [];
  const faults: Fault[] = [];
  for (const measure of selected) {
    const runs: (readonly Figure[])[] = [];
    try {
      for (let run = 0; run < options.runs; run += 1) {
        options.signal.throwIfAborted();
        options.context.say(`${measure.name}: ${measure.title}, run ${run + 1} of ${options.runs}`);
        runs.push(await measure.run({ ...options.context, seed: options.seed + run }));
      }
    } catch (thrown) {
      faults.push({ measure: measure.name, reason: reasonOf(thrown) });
    }
    rows.push(...combine(measure.name, runs));
  }
  return { rows, faults };
}
