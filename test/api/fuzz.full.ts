/** The whole daemon under 100,000 malformed requests and 10,000 callers that go in the middle of a run; e2e/fuzz.test.ts is the short one. */
import t from 'tap';
import { attackDaemon } from './fuzz-daemon.js';

t.setTimeout(50 * 60_000);

const seed = Number(process.env.SFSD_SEED ?? Date.now() % 1e9);

t.test('a daemon survives what clients may send', { skip: process.getuid?.() !== 0 && 'needs root' }, (t) =>
  attackDaemon(t, {
    seed,
    requests: 100_000,
    aborts: 10_000,
    lifeMaxSeconds: 45 * 60,
    growthMaxMiB: 24,
  }),
);
