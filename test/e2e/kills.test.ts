/** Ten kills of each kind; kills.full.ts has hundreds. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { Rounds } from './kills/rounds.js';

const roundsInAll = 10;
const skip =
  process.getuid?.() === 0 && existsSync('/sys/fs/cgroup/cpu/cpu.rt_runtime_us')
    ? false
    : 'needs root and a v1 cpu tree with real-time budgets';

t.setTimeout(170_000);

t.test('no kill leaves a task real-time, and all of them are survived', { skip }, async (t) => {
  const rounds = await Rounds.begin(t, Number(process.env.SFSD_TEST_SEED ?? Date.now() % 100_000));
  try {
    for (let round = 0; round < roundsInAll; round += 1)
      for (const kind of ['guard', 'spawner', 'stop', 'daemon'] as const) await rounds.kill(kind);
    await rounds.end();
  } catch (thrown) {
    await rounds.abort();
    throw thrown;
  }
});
