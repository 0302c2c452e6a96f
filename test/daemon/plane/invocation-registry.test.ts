/** The control plane's memory of invocations, against a plain model of it. */
import fc from 'fast-check';
import t from 'tap';
import { type InvocationKey, invocationKey } from '../../../src/contracts/invocation.js';
import type { Decision } from '../../../src/contracts/scheduler.js';
import { fromMs, instant, noTime } from '../../../src/contracts/time.js';
import { InvocationRegistry } from '../../../src/daemon/plane/invocation-registry.js';

const seed = Number(process.env.SFSD_TEST_SEED ?? Date.now() % 2 ** 31);
t.comment(`seed ${seed}`);

const fresh = (id: string, source = 'api') => ({
  id,
  source,
  functionName: 'f',
  group: { kind: 'process', pid: 1, startTime: '1' } as const,
  arrivedAt: instant(0),
});

function decided(kind: Decision['kind'], key: InvocationKey, atMs = 0): Decision {
  return { kind, key, at: instant(fromMs(atMs)), worker: -1, cpuTime: noTime, value: 0, extra: 0 };
}

const context = { overflowed: false };

t.test('a name is found while it is live, and finished; it is given away when it has finished', async (t) => {
  const registry = new InvocationRegistry({ finishedMax: 10 });
  const { key } = registry.add(fresh('a'));
  t.throws(() => registry.add(fresh('a')), { code: 'SFSD_ERR_INVOCATION_DUPLICATE' });
  registry.add(fresh('a', 'other'));
  t.equal(registry.liveCount, 2);
  t.equal(registry.apply(decided('ended', key), context), true);
  t.equal(registry.apply(decided('ended', key), context), false, 'it ends once');
  t.equal(registry.liveCount, 1);
  t.equal(registry.find('api', 'a'), key);
  t.equal(registry.isLive(key), false);
  const again = registry.add(fresh('a'));
  t.equal(registry.find('api', 'a'), again.key);
  t.equal(registry.explain(key), undefined, 'the former one is forgotten');
  t.equal(registry.liveCount, 2);
});

t.test(
  'one that its caller has ended gives its name away and is known by its key until it has ended',
  async (t) => {
    const registry = new InvocationRegistry({ finishedMax: 10 });
    const { key } = registry.add(fresh('a'));
    registry.endAsked(key);
    const second = registry.add(fresh('a'));
    t.equal(registry.find('api', 'a'), second.key);
    t.equal(registry.isLive(key), true);
    registry.apply(decided('ended', key), context);
    t.equal(registry.find('api', 'a'), second.key);
    t.equal(registry.liveCount, 1);
  },
);

t.test(
  'the oldest finished ones are forgotten, and of a flood all but the first of each 100 ms',
  async (t) => {
    const few = new InvocationRegistry({ finishedMax: 3 });
    const keys = ['a', 'b', 'c', 'd'].map((id) => few.add(fresh(id)).key);
    for (const key of keys) few.apply(decided('ended', key), context);
    t.same(
      keys.map((key) => few.explain(key)?.state),
      [undefined, 'ended', 'ended', 'ended'],
    );
    const many = new InvocationRegistry({ finishedMax: 10_000 });
    const flood = Array.from({ length: 450 }, (_, index) => many.add(fresh(String(index))).key);
    flood.forEach((key, index) => {
      many.apply(decided('ended', key, index < 250 ? 10 : 110), context);
    });
    const known = flood.filter((key) => many.explain(key) !== undefined).length;
    t.equal(known, 400);
    t.equal(many.liveCount, 0);
  },
);

t.test(
  'when the records are used up the oldest finished ones are forgotten, and a live one is incomplete',
  async (t) => {
    const registry = new InvocationRegistry({ finishedMax: 1 });
    const recordsMax = 8 * 1024;
    const gone = registry.add(fresh('gone')).key;
    registry.apply(decided('ended', gone), context);
    const live = Array.from({ length: recordsMax + 1 }, (_, index) => registry.add(fresh(`${index}`)).key);
    for (const key of live) registry.apply(decided('arrived', key), context);
    t.equal(registry.explain(gone), undefined);
    const told = live.map((key) => registry.explain(key));
    t.equal(told.filter((each) => each?.decisions.length === 1 && !each.incomplete).length, recordsMax);
    t.match(told.at(-1), { state: 'queued', decisions: [], incomplete: true });
  },
);

t.test('keys a whole index apart do not hide each other', async (t) => {
  const registry = new InvocationRegistry({ finishedMax: 4 });
  const first = registry.add(fresh('long')).key;
  for (let count = 1; count < 2 ** 16; count += 1)
    registry.apply(decided('ended', registry.add(fresh(`short ${count % 7}`)).key, count), context);
  const second = registry.add(fresh('crowded')).key;
  t.equal((second - first) % 2 ** 16, 0);
  t.equal(registry.invocation(first)?.id, 'long');
  t.equal(registry.invocation(second)?.id, 'crowded');
  registry.remove(second);
  t.equal(registry.find('api', 'crowded'), undefined);
  t.equal(registry.find('api', 'long'), first);
  t.equal(registry.liveCount, 1);
});

t.test('it behaves like a list of entries', async (t) => {
  const step = fc.record({ id: fc.nat(5).map(String), does: fc.constantFrom('add', 'end', 'ask', 'remove') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const registry = new InvocationRegistry({ finishedMax: 1000 });
      let model: { id: string; key: number; asked: boolean; ended: boolean }[] = [];
      steps.forEach(({ id, does }, index) => {
        const newest = model.findLast((entry) => entry.id === id);
        if (does === 'add') {
          const taken = newest !== undefined && !newest.ended && !newest.asked;
          try {
            const { key } = registry.add(fresh(id));
            if (taken) throw new Error('a duplicate was accepted');
            if (newest?.ended === true) model = model.filter((entry) => entry !== newest);
            model.push({ id, key, asked: false, ended: false });
          } catch (thrown) {
            if (!taken) throw thrown;
          }
        } else if (newest !== undefined) {
          const key = invocationKey(newest.key);
          if (does === 'end') {
            registry.apply(decided('ended', key, index * 1000), context);
            newest.ended = true;
          } else if (does === 'ask') {
            registry.endAsked(key);
            newest.asked = true;
          } else if (!newest.ended) {
            registry.remove(key);
            model = model.filter((entry) => entry !== newest);
          }
        }
        for (const name of ['0', '1', '2', '3', '4', '5']) {
          const expected = model.findLast((entry) => entry.id === name)?.key;
          if (registry.find('api', name) !== expected) throw new Error(`${name} is found wrongly`);
        }
        if (registry.liveCount !== model.filter((entry) => !entry.ended).length)
          throw new Error('miscounted');
      });
    }),
    { seed, numRuns: 300 },
  );
  t.pass();
});
