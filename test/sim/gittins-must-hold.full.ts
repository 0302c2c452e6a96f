/** 12 cores, 20 seeds, both kinds of arrivals: the bounds hold for the whole 95% interval. */
import t from 'tap';
import { boundsAtFull, boundsBelow, checkGittins } from './gittins-must-hold.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(3_000_000);

const whole = { cores: 12, requests: 50_000, seeds: 20 };
const kinds = ['poisson', 'bursty'] as const;

for (const gaps of kinds) {
  t.test(`${gaps}, load 1.0`, (t) => checkGittins(t, { ...whole, gaps, load: 1 }, boundsAtFull[gaps]));
  for (const load of [0.5, 0.6, 0.7, 0.8, 0.9])
    t.test(`${gaps}, load ${load}`, (t) => checkGittins(t, { ...whole, gaps, load }, boundsBelow));
}
