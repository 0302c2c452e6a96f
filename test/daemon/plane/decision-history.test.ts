/** Chains of decisions in one block of records, against arrays. */
import fc from 'fast-check';
import t from 'tap';
import { invocationKey } from '../../../src/contracts/invocation.js';
import { type Decision, decisionKinds } from '../../../src/contracts/scheduler.js';
import { duration, instant } from '../../../src/contracts/time.js';
import {
  DecisionHistory,
  decisionsPerInvocationMax,
  EmptyChain,
} from '../../../src/daemon/plane/decision-history.js';

const seed = Number(process.env.SFSD_TEST_SEED ?? Date.now() % 2 ** 31);
t.comment(`seed ${seed}`);

const key = invocationKey(7);

function decision(number: number): Decision {
  return {
    kind: decisionKinds[number % decisionKinds.length] ?? 'arrived',
    at: instant(number),
    key,
    worker: number % 3,
    cpuTime: duration(number / 2),
    value: -number,
    extra: number * 1e9,
  };
}

t.test('a chain gives back what was put into it, and all its records', async (t) => {
  const history = new DecisionHistory({ recordsMax: 3 });
  for (let round = 0; round < 3; round += 1) {
    const chain = new EmptyChain();
    const decisions = [1, 2, 3].map((number) => decision(number + round));
    for (const each of decisions) t.equal(history.append(chain, each), 'ok');
    t.same(history.list(chain, key), decisions);
    t.equal(history.append(chain, decision(9)), 'full');
    t.equal(history.append(new EmptyChain(), decision(9)), 'full');
    t.same(history.list(chain, key), decisions, 'a refused one leaves no trace');
    history.release(chain);
    t.same(history.list(chain, key), []);
  }
});

t.test('of a life without end the first and the last decisions are kept', async (t) => {
  const history = new DecisionHistory({ recordsMax: 1000 });
  const chain = new EmptyChain();
  for (let number = 0; number < 500; number += 1)
    t.equal(history.append(chain, decision(number)), number < decisionsPerInvocationMax ? 'ok' : 'dropped');
  const half = decisionsPerInvocationMax / 2;
  const kept = Array.from({ length: half }, (_, index) => decision(index));
  const last = Array.from({ length: half }, (_, index) => decision(500 - half + index));
  t.same(history.list(chain, key), [...kept, ...last]);
});

t.test('many chains side by side behave like arrays', async (t) => {
  const step = fc.record({
    chain: fc.nat(4),
    does: fc.constantFrom('append', 'append', 'append', 'release'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const recordsMax = 20;
      const history = new DecisionHistory({ recordsMax });
      const chains = Array.from({ length: 5 }, () => new EmptyChain());
      const model: Decision[][] = Array.from({ length: 5 }, () => []);
      for (const [number, { chain: which, does }] of steps.entries()) {
        const chain = chains[which] ?? new EmptyChain();
        if (does === 'release') {
          history.release(chain);
          model[which] = [];
        } else {
          const full = model.flat().length === recordsMax;
          const answer = history.append(chain, decision(number));
          if (answer !== (full ? 'full' : 'ok')) throw new Error(`${answer} of ${model.flat().length}`);
          if (!full) model[which]?.push(decision(number));
        }
        for (const [index, each] of chains.entries())
          if (JSON.stringify(history.list(each, key)) !== JSON.stringify(model[index]))
            throw new Error(`chain ${index}`);
      }
    }),
    { seed, numRuns: 300 },
  );
  t.pass();
});
