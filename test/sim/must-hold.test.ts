/** The short form of must-hold.full.ts: a few seeds at 12 cores. */
import t from 'tap';
import { study } from './must-hold.js';
import { type Bounds, boundsAt, check } from './must-hold-bounds.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

const few = { cores: 12, requests: 10_000, seeds: 10 };

const cases: readonly (readonly [string, Bounds, Parameters<typeof study>[0]])[] = [
  ['load 1.0, no budget', boundsAt.full, { ...few, load: 1, parameters: { budgetShare: 1 } }],
  ['load 1.0, the daemon’s budget', boundsAt.full, { ...few, load: 1 }],
  ['load 0.8, the daemon’s budget', boundsAt.four5ths, { ...few, load: 0.8 }],
];

for (const [name, bounds, of] of cases) {
  t.test(`12 cores, ${name}: short functions run as if alone, long ones as under CFS`, async (t) => {
    check(t, (await study(of)).sfs, bounds);
  });
}
