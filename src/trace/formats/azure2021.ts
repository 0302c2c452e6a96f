/**
 * The Azure Functions 2021 trace (Zhang et al., SOSP 2021; CC-BY 4.0): one row an invocation.
 *
 *   app,func,end_timestamp,duration        seconds; start = end_timestamp - duration
 *
 * Rows are sorted by start, so ends are out of order. A function is (app, func): func alone repeats across apps.
 */
import { commaLayout, numberOf } from './csv.js';
import type { ListFormat } from './invocation-list.js';

/** Of a function's hash, as in workloads from the trace of 2019. */
const nameLength = 10;

export const azure2021: ListFormat = {
  name: 'azure2021',
  layout: commaLayout,
  columns: ['app', 'func', 'end_timestamp', 'duration'],
  parse([app = '', func = '', endText = '', durationText = '']) {
    const [end, duration] = [numberOf(endText), numberOf(durationText)];
    if (!Number.isFinite(end)) return { code: 'not-a-number', detail: `end_timestamp ${endText}` };
    if (!Number.isFinite(duration)) return { code: 'not-a-number', detail: `duration ${durationText}` };
    if (duration < 0) return { code: 'time-negative', detail: `duration ${durationText}` };
    return {
      startUs: Math.round((end - duration) * 1e6),
      durationMs: duration * 1000,
      functionKey: `${app}/${func}`,
      functionName: func.slice(0, nameLength),
    };
  },
};
