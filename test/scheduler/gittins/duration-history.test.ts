/** What is believed of a function, by what its runs, its application's and the host's have used. */
import t from 'tap';
import { fromMs } from '../../../src/contracts/time.js';
import { bucketOf } from '../../../src/scheduler/gittins/duration-buckets.js';
import { DurationHistory } from '../../../src/scheduler/gittins/duration-history.js';

const startOf = (history: DurationHistory, name: string) => history.beliefOf(name).rankAt(0);
const learn = (history: DurationHistory, name: string, ms: number, runs: number) => {
  for (let run = 0; run < runs; run += 1) history.beliefOf(name).learn(fromMs(ms));
};

t.test('known functions are ranked by what they use', (t) => {
  const history = new DurationHistory();
  for (const [name, ms] of [
    ['fast', 5],
    ['middle', 100],
    ['slow', 4000],
  ] as const)
    learn(history, name, ms, 50);
  const ranks = ['fast', 'middle', 'slow'].map((name) => startOf(history, name) / 1000);
  t.same(
    ranks,
    [...ranks].sort((left, right) => left - right),
  );
  for (const [index, ms] of [5, 100].entries())
    t.ok(Math.abs(Math.log2((ranks[index] ?? 0) / ms)) < 0.5, `${ranks[index]} ms is about ${ms} ms`);
  const mean = history.beliefOf('slow').mean / 1000;
  t.ok(mean > 3500 && mean < 4500, `${mean} ms is about 4000 ms`);
  t.end();
});

t.test('a function never seen is ranked as its application, and that as the host', (t) => {
  const history = new DurationHistory();
  learn(history, 'shop/cart', 8, 50);
  learn(history, 'video/encode', 3000, 50);
  t.ok(startOf(history, 'shop/new') < startOf(history, 'video/new') / 20);
  const unknown = startOf(history, 'new');
  t.ok(unknown > startOf(history, 'shop/new') && unknown < startOf(history, 'video/new'));
  t.ok(
    startOf(history, 'figlet.shop') < startOf(history, 'figlet.video') / 20,
    'OpenFaaS names the namespace last',
  );
  t.end();
});

t.test('a function that changes is believed after some tens of runs', (t) => {
  const history = new DurationHistory();
  learn(history, 'f', 2000, 300);
  const before = startOf(history, 'f');
  learn(history, 'f', 10, 60);
  t.ok(startOf(history, 'f') < before / 50, `${startOf(history, 'f')} us, ${before} us before`);
  t.end();
});

t.test('a run that outlives all that were seen has a rank, and a worse one than before', (t) => {
  const history = new DurationHistory();
  learn(history, 'f', 10, 100);
  const belief = history.beliefOf('f');
  const late = belief.rankAt(bucketOf(fromMs(200)));
  t.ok(Number.isFinite(late) && late > 20 * belief.rankAt(0), `${late} us`);
  t.end();
});

t.test('what was learned is taken over', (t) => {
  const first = new DurationHistory();
  learn(first, 'shop/cart', 30, 40);
  const second = new DurationHistory();
  t.same(first.namesOf('shop/cart'), ['function shop/cart', 'application shop', 'host']);
  for (const name of first.namesOf('shop/cart')) second.restore(name, first.find(name)?.weights ?? []);
  t.equal(startOf(second, 'shop/cart'), startOf(first, 'shop/cart'));
  t.equal(startOf(second, 'shop/new'), startOf(first, 'shop/new'));
  t.equal(startOf(second, 'new'), startOf(first, 'new'));
  t.end();
});

t.test('it is bounded, and forgets who has not run for longest', (t) => {
  const history = new DurationHistory();
  learn(history, 'old', 10, 20);
  learn(history, 'busy', 10, 20);
  for (let count = 0; count < 20_000; count += 1) {
    history.beliefOf(`f${count}`);
    if (count % 1000 === 0) history.beliefOf('busy');
  }
  t.equal(history.find('function old'), undefined);
  t.ok(history.find('function busy') !== undefined);
  t.end();
});
