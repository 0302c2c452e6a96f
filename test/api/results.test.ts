/** The bounds of the store of asynchronous results. */
import t from 'tap';
import { type KeptResult, Results } from '../../src/api/results.js';
import { invocationKey } from '../../src/contracts/invocation.js';
import { instant } from '../../src/contracts/time.js';

function result(id: string, bytes: number): KeptResult {
  const at = instant(0);
  return {
    key: invocationKey(1),
    decisions: [],
    run: {
      id,
      source: 'api',
      functionName: 'f',
      ownerUid: 0,
      enqueuedAt: at,
      outcome: {
        exit: { kind: 'exited', code: 0 },
        stdout: new Uint8Array(bytes),
        stderr: new Uint8Array(0),
        truncated: false,
        arrivedAt: at,
        startedAt: at,
        endedAt: at,
        cpuMs: 0,
        voluntarySwitches: 0,
        involuntarySwitches: 0,
        rssMaxBytes: 0,
      },
    },
  };
}

function kept(results: Results, ids: string): string {
  return [...ids].filter((id) => results.get('api', id) !== undefined).join('');
}

t.test('at most countMax results are kept, the newest ones', async (t) => {
  const results = new Results({ countMax: 2 });
  for (const id of 'abc') results.put(result(id, 1));
  t.equal(kept(results, 'abc'), 'bc');
  t.equal(results.dropped, 1);
  t.equal(results.bytes, 2);
});

t.test('the oldest go until the bytes are within the bound', async (t) => {
  const results = new Results({ countMax: 10, bytesMax: 100 });
  for (const id of 'abcd') results.put(result(id, 30));
  t.equal(kept(results, 'abcd'), 'bcd');
  results.put(result('e', 70));
  t.equal(kept(results, 'abcde'), 'de');
  t.equal(results.bytes, 100);
});

t.test('the newest is kept even if it alone is larger than the bound', async (t) => {
  const results = new Results({ countMax: 10, bytesMax: 100 });
  results.put(result('a', 10));
  results.put(result('b', 1000));
  t.equal(kept(results, 'ab'), 'b');
  results.put(result('c', 1));
  t.equal(kept(results, 'bc'), 'c');
});

t.test('a name used again holds its newest result, counted once', async (t) => {
  const results = new Results({ countMax: 2, bytesMax: 100 });
  results.put(result('a', 10));
  results.put(result('b', 10));
  results.put(result('a', 20));
  t.equal(results.bytes, 30);
  results.put(result('c', 10));
  t.equal(kept(results, 'abc'), 'ac', 'the renewed one is not the oldest any more');
});

t.test('countMax 0 keeps none', async (t) => {
  const results = new Results({ countMax: 0 });
  results.put(result('a', 10));
  t.equal(results.count, 0);
  t.equal(results.bytes, 0);
});
