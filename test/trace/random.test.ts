import t from 'tap';
import { inverseNormal, normalBelow } from '../../src/trace/workload/inverse-normal.js';
import { RandomStream } from '../../src/trace/workload/random.js';

const draws = 100_000;

function taken(seed: number, label: string, count = 8): number[] {
  const random = new RandomStream(seed, label);
  return Array.from({ length: count }, () => random.word());
}

t.test('a seed and a label give one stream, others give others', (t) => {
  t.same(taken(1, 'gaps'), taken(1, 'gaps'));
  const streams = [
    [0, ''],
    [1, 'gaps'],
    [1, 'durations'],
    [2, 'gaps'],
    [2 ** 32 + 1, 'gaps'],
    [2 ** 53 - 1, 'gaps'],
  ] as const;
  const firsts = streams.map(([seed, label]) => taken(seed, label).join());
  t.equal(new Set(firsts).size, streams.length);
  t.end();
});

t.test('the stream of seed 1 does not change between releases', (t) => {
  t.same(taken(1, 'gaps', 4), [1860785013, 953451729, 3987201702, 860209045]);
  t.end();
});

t.test('uniform draws fill 100 cells evenly', (t) => {
  const random = new RandomStream(42, 'cells');
  const cells = new Uint32Array(100);
  for (let draw = 0; draw < draws; draw += 1) {
    const cell = Math.floor(random.uniform() * 100);
    cells[cell] = (cells[cell] ?? 0) + 1;
  }
  const expected = draws / 100;
  const chiSquare = cells.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  t.ok(chiSquare > 61 && chiSquare < 149, `chi-square ${chiSquare} of 99 degrees lies within its 0.1% tails`);
  t.end();
});

t.test('exponential and normal draws have their moments', (t) => {
  const random = new RandomStream(7, 'moments');
  const moments = (draw: () => number): { mean: number; variance: number } => {
    let sum = 0;
    let squares = 0;
    for (let count = 0; count < draws; count += 1) {
      const value = draw();
      sum += value;
      squares += value * value;
    }
    return { mean: sum / draws, variance: squares / draws - (sum / draws) ** 2 };
  };
  const exponential = moments(() => random.exponential());
  t.ok(Math.abs(exponential.mean - 1) < 0.02 && Math.abs(exponential.variance - 1) < 0.05);
  const normal = moments(() => random.normal());
  t.ok(Math.abs(normal.mean) < 0.02 && Math.abs(normal.variance - 1) < 0.02);
  t.end();
});

t.test('a shuffle keeps every element and reaches every order', (t) => {
  const random = new RandomStream(3, 'order');
  const orders = new Map<string, number>();
  for (let count = 0; count < 6000; count += 1) {
    const list = ['a', 'b', 'c'];
    random.shuffle(list);
    orders.set(list.join(''), (orders.get(list.join('')) ?? 0) + 1);
  }
  t.equal(orders.size, 6);
  for (const count of orders.values()) t.ok(count > 850 && count < 1150);
  t.end();
});

t.test('the inverse normal has its known quantiles and inverts the distribution function', (t) => {
  const known = { 0.5: 0, 0.975: 1.959963985, 0.0013498980316: -3, 0.000031671241833: -4 };
  for (const [quantile, z] of Object.entries(known)) {
    t.ok(Math.abs(inverseNormal(Number(quantile)) - z) < 1e-7, `${quantile}`);
  }
  for (let quantile = 0.0005; quantile < 0.5; quantile += 0.0101) {
    t.ok(Math.abs(normalBelow(inverseNormal(quantile)) - quantile) < 1e-10);
  }
  t.end();
});
