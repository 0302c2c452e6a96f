/** The queue against a sorted list. */
import t from 'tap';
import { RankedQueue } from '../../../src/scheduler/gittins/ranked-queue.js';
import { noSlot } from '../../../src/scheduler/slot-ring.js';
import { RandomStream } from '../../../src/trace/workload/random.js';

t.test('any order of comings, goings and changes: the best first, equals as they came', (t) => {
  const capacity = 60;
  const random = new RandomStream(3, 'queue');
  const ranks = new Float64Array(capacity);
  const queue = new RankedQueue(capacity, (slot) => ranks[slot] ?? 0);
  let model: { readonly slot: number; readonly rank: number }[] = [];
  const below = (bound: number) => Math.floor(random.uniform() * bound);
  for (let step = 0; step < 20_000; step += 1) {
    const slot = below(capacity);
    const rank = below(8);
    const known = model.some((entry) => entry.slot === slot);
    if (!known) {
      ranks[slot] = rank;
      queue.enqueue(slot);
      model.push({ slot, rank });
    } else if (random.uniform() < 0.5) {
      queue.remove(slot);
      model = model.filter((entry) => entry.slot !== slot);
    } else {
      ranks[slot] = rank;
      queue.update(slot);
      model = model.map((entry) => (entry.slot === slot ? { slot, rank } : entry));
    }
    const least = Math.min(...model.map((entry) => entry.rank));
    const best = model.find((entry) => entry.rank === least)?.slot ?? noSlot;
    if (queue.first !== best || queue.oldest !== (model[0]?.slot ?? noSlot) || queue.length !== model.length)
      return t.fail(`step ${step}: ${queue.first} is not ${best}`);
  }
  t.pass('20,000 steps');
  return t.end();
});

t.test('looks take turns', (t) => {
  const queue = new RankedQueue(8, () => 0);
  t.equal(queue.look(), noSlot);
  for (const slot of [5, 2, 7]) queue.enqueue(slot);
  t.same([queue.look(), queue.look(), queue.look(), queue.look()], [5, 2, 7, 5]);
  queue.remove(2);
  t.same([queue.look(), queue.look()], [7, 5]);
  t.end();
});
