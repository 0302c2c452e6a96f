/**
 * The request lists that the SFS evaluation replays: no header, cells apart by a blank.
 *
 *   jobName exec fibN start id             arrival = start x 9 ms
 *
 * What a run of fib N takes is not in the list. The paper's Table I has fib 31 at 346 ms; the naive recursion of fib N calls itself
 * fib(N + 1) times, which grows by the golden ratio with each N:  ms(N) = 346 x 1.618^(N - 31).  That gives fib 34 1,466 ms, where the
 * table has 1,425.
 */
import { numberOf } from './csv.js';
import type { ListFormat } from './invocation-list.js';

const startMultiplier = 9;
const goldenRatio = (1 + Math.sqrt(5)) / 2;
const anchor = { fib: 31, ms: 346 } as const;
/** fib 50 takes an hour by the formula; the lists end at 36. */
const fibMax = 50;

export function fibMs(fib: number): number {
  return anchor.ms * goldenRatio ** (fib - anchor.fib);
}

export const sfsList: ListFormat = {
  name: 'sfs',
  layout: { separator: /\s+/, columnNames: ['job', 'exec', 'fib', 'start', 'id'] },
  columns: ['fib', 'start', 'id'],
  parse([fibText = '', startText = '', id = '']) {
    const [fib, start] = [numberOf(fibText), numberOf(startText)];
    if (!Number.isFinite(fib)) return { code: 'not-a-number', detail: `fib ${fibText}` };
    if (!Number.isFinite(start)) return { code: 'not-a-number', detail: `start ${startText}` };
    if (start < 0) return { code: 'time-negative', detail: `start ${startText}` };
    if (!Number.isInteger(fib) || fib < 0 || fib > fibMax) {
      return { code: 'fib-out-of-range', detail: `fib ${fibText} is no integer from 0 to ${fibMax}` };
    }
    return {
      startUs: Math.round(start * startMultiplier * 1000),
      durationMs: fibMs(fib),
      functionKey: `fib${fib}`,
      functionName: `fib${fib}`,
      id,
    };
  },
};
