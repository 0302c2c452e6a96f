/** The whole daemon under malformed requests and callers that go in the middle of a run; api/fuzz.full.ts is the long one. */
import t from 'tap';
import { attackDaemon } from '../api/fuzz-daemon.js';

t.setTimeout(120_000);

const seed = Number(process.env.SFSD_SEED ?? 20_220_401);

t.test('a daemon survives what clients may send', { skip: process.getuid?.() !== 0 && 'needs root' }, (t) =>
  attackDaemon(t, { seed, requests: 2000, aborts: 300, lifeMaxSeconds: 110, growthMaxMiB: 48 }),
);
