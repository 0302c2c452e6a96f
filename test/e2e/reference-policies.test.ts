/** FIFO and RR as a replay configures them: what the kernel says of the tasks while they run, and after. */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { daemonGroups } from '../../src/cli/replay/daemon-groups.js';
import type { ReplayPolicy } from '../../src/contracts/replay.js';
import { DaemonUnderTest, projectRoot, sleep } from './daemon-under-test.js';
import { observeInRealTime, policyOf } from './processes.js';

// The machine that runs all tests is busy: bounded by the daemon's own life instead.
t.setTimeout(170_000);

const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';
const burn = join(projectRoot, 'native/build/burn');
const lookEveryMs = 5;
const invocations = 3;

function burnPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`) === burn;
      } catch {
        return false;
      }
    });
}

/** How many of the functions had each policy, at the look at which most were real-time. */
async function mostRealtime(t: Test, policy: ReplayPolicy, settings: Readonly<Record<string, unknown>>) {
  const [group] = daemonGroups([policy], settings);
  const texts = Object.entries(group?.settings ?? {}).map(([key, value]) => `${key}=${String(value)}`);
  const daemon = await DaemonUnderTest.start(texts);
  let most = { SCHED_FIFO: 0, SCHED_RR: 0 };
  try {
    await daemon.putBurn();
    let running = true;
    const clients = Array.from({ length: invocations }, () => daemon.client());
    const path = '/v1/functions/burn/invocations?detail=true';
    const answers = Promise.all(
      clients.map(async (client) => {
        const answer = await client.request({ method: 'POST', path, body: '200\n' });
        await answer.body.text();
        return answer.statusCode;
      }),
    ).finally(() => {
      running = false;
    });
    while (running) {
      const policies = burnPids().map((pid) => policyOf(pid));
      const count = (name: string) => policies.filter((one) => one === name).length;
      const now = { SCHED_FIFO: count('SCHED_FIFO'), SCHED_RR: count('SCHED_RR') };
      if (now.SCHED_FIFO + now.SCHED_RR > most.SCHED_FIFO + most.SCHED_RR) most = now;
      await sleep(lookEveryMs);
    }
    const statuses = await answers;
    t.same(
      burnPids().map((pid) => policyOf(pid)),
      [],
      'no function outlives its answer',
    );
    for (const client of clients) await client.close();
    return { most, statuses, counters: (await daemon.status()).counters };
  } finally {
    await daemon.stop();
    t.same(burnPids(), [], 'nothing is left behind');
  }
}

observeInRealTime();
const completed = Array.from({ length: invocations }, () => 200);

t.test('under fifo one invocation a worker is SCHED_FIFO, to its end', { skip }, async (t) => {
  const { most, statuses, counters } = await mostRealtime(t, 'fifo', { 'scheduler.workers': 1 });
  t.same(statuses, completed);
  t.same(most, { SCHED_FIFO: 1, SCHED_RR: 0 });
  t.match(counters, { promotions: invocations, demotions: 0, bypasses: 0 });
  t.ok(counters.budgetPauses > 0, 'within the FILTER budget');
});

t.test('under rr all of them are SCHED_RR at once, though there is no core for each', { skip }, async (t) => {
  const { most, statuses, counters } = await mostRealtime(t, 'rr', {});
  t.same(statuses, completed);
  t.same(most, { SCHED_FIFO: 0, SCHED_RR: invocations });
  t.match(counters, { promotions: invocations, demotions: 0, blocks: 0, bypasses: 0 });
  t.ok(counters.budgetPauses > 0, 'within the FILTER budget');
});
