/**
 * A run that nobody waits for. It is in the store from before its 202 until its outcome is known, so that the daemon after a crash can
 * say that it is lost.
 *
 *   1. the store is told, and the function started meanwhile  2. both are done: 202  3. its end: the result is kept, the record goes
 *
 * While the daemon stops the record stays: nobody can fetch the result any more, so the next daemon says that it is lost.
 */
import type { ApiContext } from './context.js';
import { decisionsOf, finishRun, type OpenRun, type RunRequest, startRun } from './run-function.js';

/** Rejects when it does not start, and with SFSD_ERR_STORE_FAILED: what cannot be recorded is ended, for the caller is told no. */
export async function startRecorded(
  context: ApiContext,
  open: OpenRun,
  wanted: Pick<RunRequest, 'policy' | 'expectedMs' | 'body'>,
): Promise<void> {
  const { run } = open;
  const { ports, results } = context;
  const { invocations } = ports.store;
  const recorded = invocations.begin(run).then(
    () => undefined,
    (failure: unknown) => ({ failure }),
  );
  try {
    const { key, outcome } = await startRun(context, open, wanted);
    void outcome.then((known) => {
      const done = finishRun(context, run, known);
      results.put({ run: done, key, decisions: decisionsOf(context, key) });
      if (!ports.stopping()) invocations.end(run);
    });
  } catch (thrown) {
    invocations.end(run);
    throw thrown;
  }
  const refused = await recorded;
  if (refused === undefined) return;
  run.cancel();
  throw refused.failure;
}
