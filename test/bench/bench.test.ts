/**
 * Each measure works: a short run of it gives figures, and each is a number. How fast anything was is judged by `npm run bench` alone.
 */
import { availableParallelism } from 'node:os';
import t from 'tap';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { atLeast, atMost, below, combine, type Figure, holds } from './measure.js';
import { measures } from './run-measures.js';
import { rowsTable, valueText } from './table.js';

const figure: Figure = { line: 1, name: 'lag', value: 3, unit: 'ms', bound: below(5) };

t.test('a bound says whether it includes its own value', async (t) => {
  t.equal(holds(5, below(5)), false);
  t.equal(holds(5, atMost(5)), true);
  t.equal(holds(5, atLeast(5)), true);
  t.equal(holds(Number.NaN, atMost(5)), false, 'what was not measured does not hold');
});

t.test('runs become their median, or the worst where one is too many', async (t) => {
  const values = [3, 9, 4];
  const runs = values.map((value) => [{ ...figure, value }]);
  t.match(combine('replay', runs), [{ value: 4, holds: true, runs: values }]);
  const worst = values.map((value) => [{ ...figure, value, across: 'worst' as const }]);
  t.match(combine('replay', worst), [{ value: 9, holds: false }]);
});

t.test('the table names each figure, its bound and whether it holds', async (t) => {
  const table = rowsTable(combine('replay', [[figure, { ...figure, name: 'loss', value: 7 }]]));
  t.match(table, /lag +3 +ms +< 5 +yes/);
  t.match(table, /loss +7 +ms +< 5 +NO/);
  t.equal(valueText(1.23456), '1.23');
  t.equal(valueText(12345.6), '12346');
});

/** A short run takes some seconds, several times that on a host where other tests run. */
const measureLimitMs = 60_000;

/** All of them; tap would end the file after 30 s. */
t.setTimeout(3 * measureLimitMs);

const loaded = loadKoffiLibc();
for (const measure of measures) {
  const needsRoot = process.getuid?.() === 0 ? false : 'real-time priorities need root';
  t.test(
    `${measure.name}: ${measure.title}, short`,
    { skip: needsRoot, timeout: measureLimitMs },
    async (t) => {
      if (!loaded.ok) throw new Error(loaded.reason);
      const context = {
        libc: loaded.libc,
        short: true,
        seed: 1,
        cores: availableParallelism(),
        say: () => {},
      };
      const figures = await measure.run(context);
      t.ok(figures.length > 0);
      for (const { name, value } of figures) t.ok(Number.isFinite(value), `${name}: ${value} is a number`);
    },
  );
}
