/** A real daemon under policy gittins: short functions overtake known long ones, and what was learned outlasts a restart. */
import { join } from 'node:path';
import t from 'tap';
import type { ExplanationBody } from '../../src/contracts/http.js';
import { DaemonUnderTest } from './daemon-under-test.js';

t.setTimeout(120_000);

const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';

t.test('a short function takes the worker of a long one; a restart forgets nothing', { skip }, async (t) => {
  const settings = [
    'scheduler.policy=gittins',
    'scheduler.workers=1',
    `store.path=${join(t.testdir(), 'sfsd.db')}`,
  ];
  const first = await DaemonUnderTest.start(settings);
  for (const name of ['fast', 'slow']) await first.putBurn(name);
  for (let run = 0; run < 12; run += 1) await first.invoke('fast', '10');
  for (let run = 0; run < 3; run += 1) await first.invoke('slow', '1000');
  const accepted = await first.request('POST', '/v1/functions/slow/invocations?async=true', {
    body: '1000',
    headers: { 'sfsd-id': 'long' },
  });
  t.equal(accepted.status, 202);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const fast = await first.invoke('fast', '10');
  t.ok(fast.turnaroundMs < 300, `${fast.turnaroundMs} ms beside a long one`);
  const ranked = (await first.status()).workers[0]?.invocation;
  t.equal(ranked?.functionName, 'slow');
  t.ok((ranked?.rankMs ?? 0) > 50, `rank ${ranked?.rankMs} ms`);
  while ((await first.status()).live > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const kinds = await decisionsOf(first, 'long');
  t.ok(kinds.includes('preempted'), kinds.join(' '));
  t.ok((await first.status()).counters.preemptions > 0);
  await first.stop();

  const second = await DaemonUnderTest.start(settings);
  t.teardown(() => second.stop());
  const [fastAgain, slowAgain] = [await second.invoke('fast', '10'), await second.invoke('slow', '1000')];
  const expected = [fastAgain, slowAgain].map(
    ({ decisions }) => (decisions.find(({ kind }) => kind === 'arrived')?.value ?? 0) / 1000,
  );
  t.ok((expected[0] ?? 0) < 60, `${expected[0]} ms are expected of the short one`);
  t.ok((expected[1] ?? 0) > 400, `${expected[1]} ms are expected of the long one`);
});

async function decisionsOf(daemon: DaemonUnderTest, id: string): Promise<string[]> {
  const { text } = await daemon.get(`/v1/invocations/${id}/decisions`);
  return (JSON.parse(text) as ExplanationBody).decisions.map(({ kind }) => kind);
}
