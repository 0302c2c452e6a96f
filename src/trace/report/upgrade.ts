/**
 * Summaries of earlier versions, made readable as the current one: what they did not have yet is null, nothing is computed anew.
 *
 *   1   CFS and SFS only; no settings
 *   2   at first without Gittins
 */
import { summaryVersion } from '../replay/comparison.js';

type Fields = Readonly<Record<string, unknown>>;

/** As it is, where it is of the current version or no summary at all: the schema says what is wrong with it. */
export function upgraded(value: unknown): unknown {
  if (!isObject(value)) return value;
  const whole = { gittins: null, ...value };
  if (value.version !== 1) return whole;
  return {
    ...whole,
    version: summaryVersion,
    host: isObject(value.host) ? { ...value.host, roundRobinQuantumMs: null } : value.host,
    srtf: null,
    fifo: null,
    rr: null,
    cfs: withoutSettings(value.cfs),
    sfs: withoutSettings(value.sfs),
  };
}

function withoutSettings(run: unknown): unknown {
  return isObject(run) ? { ...run, settings: null } : run;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
