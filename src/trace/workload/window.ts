/**
 * A window of a trace, in minutes from its start: [from, to). What lies outside is as if it had never been recorded, and the report's
 * totals speak of the window.
 */
import { SfsdError } from '../../contracts/errors.js';
import type { AzureTrace } from '../formats/azure2019.js';
import type { ListTrace } from '../formats/invocation-list.js';
import { minuteLength } from './minutes.js';

export interface TraceWindow {
  /** Whole minutes for a trace of counts. Default 0. */
  readonly fromMinute?: number;
  /** Default: the trace's end. */
  readonly toMinute?: number;
}

export type Trace = AzureTrace | ListTrace;

export function isList(trace: Trace): trace is ListTrace {
  return 'starts' in trace;
}

/** Throws SFSD_ERR_WORKLOAD_INVALID when the window is none of the trace. */
export function windowOf(trace: Trace, { fromMinute = 0, toMinute = trace.minutes }: TraceWindow): Trace {
  if (fromMinute === 0 && toMinute >= trace.minutes) return trace;
  if (!(fromMinute >= 0 && fromMinute < toMinute && fromMinute < trace.minutes)) {
    throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', {
      reason: `minutes ${fromMinute} to ${toMinute} are no window of a trace of ${trace.minutes} minutes`,
    });
  }
  return isList(trace) ? listWindow(trace, fromMinute, toMinute) : countsWindow(trace, fromMinute, toMinute);
}

function countsWindow(trace: AzureTrace, fromMinute: number, toMinute: number): AzureTrace {
  if (!Number.isInteger(fromMinute) || !Number.isInteger(toMinute)) {
    throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', {
      reason: 'a trace of counts per minute is cut at whole minutes',
    });
  }
  const functions = trace.functions
    .map((one) => {
      const counts = one.counts.slice(fromMinute, toMinute);
      return { ...one, counts, invocations: counts.reduce((sum, count) => sum + count, 0) };
    })
    .filter((one) => one.invocations > 0);
  const invocations = functions.reduce((sum, one) => sum + one.invocations, 0);
  return {
    functions,
    minutes: Math.min(toMinute, trace.minutes) - fromMinute,
    report: { ...trace.report, functions: functions.length, invocations },
  };
}

function listWindow(trace: ListTrace, fromMinute: number, toMinute: number): ListTrace {
  const origin = trace.starts[0] ?? 0;
  const begin = firstAtLeast(trace.starts, origin + fromMinute * minuteLength);
  const end = firstAtLeast(trace.starts, origin + toMinute * minuteLength);
  const functionOf = trace.functionOf.slice(begin, end);
  return {
    ...trace,
    starts: trace.starts.slice(begin, end),
    durationsMs: trace.durationsMs.slice(begin, end),
    functionOf,
    minutes: Math.min(toMinute, trace.minutes) - fromMinute,
    report: { ...trace.report, functions: new Set(functionOf).size, invocations: end - begin },
  };
}

function firstAtLeast(starts: Float64Array, bound: number): number {
  const index = starts.findIndex((start) => start >= bound);
  return index === -1 ? starts.length : index;
}
