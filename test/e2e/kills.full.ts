/**
 * 300 kills of the daemon, and 100 of each other kind. SFSD_TEST_KILLS sets another number of daemon kills; the others are a third.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import { Rounds } from './kills/rounds.js';

const daemonKills = Number(process.env.SFSD_TEST_KILLS ?? 300);
const skip =
  process.getuid?.() === 0 && existsSync('/sys/fs/cgroup/cpu/cpu.rt_runtime_us')
    ? false
    : 'needs root and a v1 cpu tree with real-time budgets';

t.setTimeout(50 * 60_000);

t.test('hundreds of kills leave no task real-time, and all of them are survived', { skip }, async (t) => {
  const rounds = await Rounds.begin(t, Number(process.env.SFSD_TEST_SEED ?? Date.now() % 100_000));
  try {
    for (let round = 0; round < daemonKills; round += 1) {
      if (round % 3 === 0) for (const kind of ['guard', 'spawner', 'stop'] as const) await rounds.kill(kind);
      await rounds.kill('daemon');
    }
    await rounds.end();
  } catch (thrown) {
    await rounds.abort();
    throw thrown;
  }
});
