/** 12 and 72 cores, 20 seeds: the bounds hold for the whole 95% interval. */
import t from 'tap';
import { study } from './must-hold.js';
import { boundsAt, check } from './must-hold-bounds.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(1_800_000);

for (const cores of [12, 72]) {
  const whole = { cores, requests: 50_000, seeds: 20 };
  t.test(`${cores} cores, load 1.0, no budget`, async (t) => {
    check(t, (await study({ ...whole, load: 1, parameters: { budgetShare: 1 } })).sfs, boundsAt.full);
  });
  t.test(`${cores} cores, load 1.0, the daemon’s budget`, async (t) => {
    check(t, (await study({ ...whole, load: 1 })).sfs, boundsAt.full);
  });
  t.test(`${cores} cores, load 0.8, the daemon’s budget`, async (t) => {
    check(t, (await study({ ...whole, load: 0.8 })).sfs, boundsAt.four5ths);
  });
}
