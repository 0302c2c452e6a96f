/** The short form of gittins-must-hold.full.ts: a few seeds. */
import t from 'tap';
import { boundsAtFull, boundsBelow, checkGittins } from './gittins-must-hold.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

const few = { cores: 12, requests: 20_000, seeds: 4 };

/** The backlog that CFS leaves to short functions grows with the run. */
const shorter = { part: 'short', figure: 'mean', to: 'cfs', atMost: 0.25 } as const;

t.test('poisson, load 1.0: all are done sooner, long ones too', (t) =>
  checkGittins(t, { ...few, load: 1 }, boundsAtFull.poisson),
);
t.test('bursty, load 1.0: all are done sooner, long ones too', (t) => {
  const bounds = boundsAtFull.bursty.map((bound) => (bound.part === 'short' ? shorter : bound));
  return checkGittins(t, { ...few, gaps: 'bursty', load: 1 }, bounds);
});
t.test('load 0.8: no worse than SFS', (t) => checkGittins(t, { ...few, load: 0.8 }, boundsBelow));
