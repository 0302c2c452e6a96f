/**
 * Waits until a deadline with an error well below a millisecond, without spinning: the generator shares the host with what it
 * measures.
 *
 *   1. more than `fineBefore` (2 ms) away: a timer, which fires up to 1 ms late;
 *   2. the rest: blocking waits of at most `stepMs`, and between them one turn of the event loop, so that requests still
 *      leave and answers still arrive. At most `fineBefore / stepMs` turns.
 *
 * Rejected: spinning on setImmediate, which takes up to 2 ms of a core for each request; one blocking wait for the whole rest,
 * which holds back a request whose connection is just being made.
 */
import type { Clock, Instant } from '../../contracts/time.js';
import { between, fromMs, toMs } from '../../contracts/time.js';

/** Resolves at the deadline, at once if it is past, or early when the signal aborts. */
export type SleepUntil = (deadline: Instant, signal?: AbortSignal) => Promise<void>;

const fineBefore = fromMs(2);
const stepMs = 0.25;
/** Node fires a longer timer at once; a longer wait takes several. */
const timerMaxMs = 2 ** 31 - 1;

export function sleepUntilOn(clock: Clock): SleepUntil {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return async (deadline, signal) => {
    for (;;) {
      const left = between(clock.now(), deadline);
      if (signal?.aborted === true) return;
      if (left > fineBefore) {
        await timer(Math.min(Math.floor(toMs(left) - toMs(fineBefore)), timerMaxMs), signal);
        continue;
      }
      await new Promise((resolve) => setImmediate(resolve));
      const rest = between(clock.now(), deadline);
      if (rest <= 0) return;
      Atomics.wait(cell, 0, 0, Math.min(toMs(rest), stepMs));
    }
  };
}

function timer(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(handle);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const handle = setTimeout(done, delayMs);
    signal?.addEventListener('abort', done, { once: true });
  });
}
