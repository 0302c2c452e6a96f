/**
 * Asynchronous invocations that were in flight when a daemon died, as results whose exit is `lost`: GET finds them where it finds all
 * others, and newer results push them out. What ran of them, and how far, is not known.
 */
import type { LostInvocation } from '../contracts/store.js';
import type { FinishedRun } from './bodies.js';
import type { ApiContext } from './context.js';

/** Before the first request. */
export function tellOfLost({ ports, results, metrics }: ApiContext): void {
  for (const invocation of ports.store.lostInvocations) {
    results.put({
      run: lostRun(invocation, ports.functions.get(invocation.functionName)?.uid),
      decisions: [],
    });
    if (invocation.fresh) metrics.lost(invocation.functionName);
  }
}

/** When it started is not known any more; its arrival is the best that can be said. */
function lostRun(
  { source, id, functionName, arrivedAt, lostAt }: LostInvocation,
  ownerUid: number | undefined,
): FinishedRun {
  return {
    source,
    id,
    functionName,
    ownerUid,
    enqueuedAt: arrivedAt,
    outcome: {
      exit: { kind: 'lost' },
      stdout: new Uint8Array(0),
      stderr: new Uint8Array(0),
      truncated: false,
      arrivedAt,
      startedAt: arrivedAt,
      endedAt: lostAt,
      cpuMs: 0,
      voluntarySwitches: 0,
      involuntarySwitches: 0,
      rssMaxBytes: 0,
    },
  };
}
