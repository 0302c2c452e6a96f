/**
 * The real wait on the real clock: a few milliseconds in all.
 */
import t from 'tap';
import type { Clock } from '../../src/contracts/time.js';
import { after, fromMs, instant } from '../../src/contracts/time.js';
import { sleepUntilOn } from '../../src/trace/replay/wait.js';

const clock: Clock = { now: () => instant(Number(process.hrtime.bigint() / 1000n)) };

t.test('a wait never ends before its deadline', async (t) => {
  const sleepUntil = sleepUntilOn(clock);
  for (const waitMs of [0, 0.1, 1.3, 2.5, 6]) {
    const deadline = after(clock.now(), fromMs(waitMs));
    await sleepUntil(deadline);
    t.ok(clock.now() >= deadline, `${waitMs} ms`);
  }
});

t.test('the event loop turns while the last milliseconds are waited for', async (t) => {
  const sleepUntil = sleepUntilOn(clock);
  let turns = 0;
  let waiting = true;
  const turn = () => {
    turns += 1;
    if (waiting) setImmediate(turn);
  };
  setImmediate(turn);
  await sleepUntil(after(clock.now(), fromMs(1.8)));
  waiting = false;
  t.ok(turns >= 2, `${turns} turns`);
});

t.test('a long wait ends when its signal aborts', async (t) => {
  const sleepUntil = sleepUntilOn(clock);
  const abort = new AbortController();
  const began = clock.now();
  const waiting = sleepUntil(after(clock.now(), fromMs(60_000)), abort.signal);
  setImmediate(() => abort.abort());
  await waiting;
  t.ok(clock.now() - began < 10_000_000);
  await sleepUntil(after(clock.now(), fromMs(60_000)), abort.signal);
});
