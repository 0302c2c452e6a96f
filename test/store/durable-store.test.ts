/** The store as the daemon has it: what is awaited is written, many changes at once cost a few writes, and failures are told. */
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { after, type Clock, fromMs, type Instant, instant } from '../../src/contracts/time.js';
import { DurableStore } from '../../src/store/durable-store.js';
import { mountTmpfs, namesIn, needsRoot, now, open, pathIn, row } from './files.js';

interface Opening {
  readonly path: string;
  readonly wallClock?: () => number;
  /** CLOCK_MONOTONIC, in ms. */
  readonly upMs?: number;
}

async function openStore({ path, wallClock = () => now, upMs = 5000 }: Opening) {
  const logged: { readonly event?: string }[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const clock: Clock = { now: () => instant(upMs * 1000) };
  const store = await DurableStore.open({ path, lostMax: 10, clock, wallClock, log });
  return { store, events: () => logged.map(({ event }) => event) };
}

function arrived(atMs: number): Instant {
  return after(instant(0), fromMs(atMs));
}

t.test('what is awaited is in the file', async (t) => {
  const path = pathIn(t);
  const { store } = await openStore({ path });
  await store.functions.put(row('a'));
  await store.functions.put(row('b'));
  await store.functions.delete('a');
  t.match(store.status(), { path, rowsSetAside: 0, writeFailures: 0 });
  await store.close();
  t.same(namesIn(path), ['b']);
});

t.test('a thousand at once are all written, in the order in which they came', async (t) => {
  const path = pathIn(t);
  const { store } = await openStore({ path });
  const order: string[] = [];
  const names = Array.from({ length: 1000 }, (_, index) => `f${String(index).padStart(4, '0')}`);
  const puts = names.map((name) => store.functions.put(row(name)).then(() => order.push(name)));
  await Promise.all([...puts, store.functions.delete('f0500')]);
  t.same(order, names);
  await store.close();
  t.same(
    namesIn(path),
    names.filter((name) => name !== 'f0500'),
  );
});

t.test('a close writes down what nobody awaited', async (t) => {
  const path = pathIn(t);
  const { store } = await openStore({ path });
  await store.invocations.begin({ source: 'api', id: 'a', functionName: 'f', arrivedAt: arrived(1) });
  store.invocations.end({ source: 'api', id: 'a' });
  await store.close();
  const file = open(path);
  t.same(file.contents.lost, []);
  file.close();
});

t.test(
  'what was in flight is told of, and only once as new; instants outlast a restart of the host',
  async (t) => {
    const path = pathIn(t);
    const first = await openStore({ path, upMs: 90_000 });
    const begun = { source: 'api', id: 'a', functionName: 'f', arrivedAt: arrived(89_000) };
    await first.store.invocations.begin(begun);
    await first.store.close();
    // A minute later the host has been up for 10 s: the arrival was 61 s ago.
    const second = await openStore({ path, upMs: 10_000, wallClock: () => now + 60_000 });
    const lost = { ...begun, arrivedAt: arrived(-51_000), lostAt: arrived(10_000), fresh: true };
    t.same(second.store.lostInvocations, [lost]);
    t.equal(second.store.status().lostInvocations, 1);
    await second.store.close();
    const third = await openStore({ path, upMs: 20_000, wallClock: () => now + 70_000 });
    t.same(third.store.lostInvocations, [{ ...lost, fresh: false }]);
    t.equal(third.store.status().lostInvocations, 0);
    await third.store.close();
  },
);

t.test('a refusal at the open is the one that the file gave', async (t) => {
  const path = pathIn(t);
  const file = open(path);
  t.teardown(() => file.close());
  await t.rejects(openStore({ path }), { code: 'SFSD_ERR_STORE_IN_USE', message: path });
});

t.test(
  'a full disk refuses changes, says so once, and the end of an invocation is tried again',
  { skip: needsRoot },
  async (t) => {
    const path = join(mountTmpfs(t, 'size=512k'), 'sfsd.db');
    const { store, events } = await openStore({ path });
    const large = row('large', 'x'.repeat(600_000));
    await store.invocations.begin({ source: 'api', id: 'a', functionName: 'f', arrivedAt: arrived(1) });
    const refused = t.rejects(store.functions.put(large), {
      code: 'SFSD_ERR_STORE_FAILED',
      message: 'SQLITE_FULL',
    });
    store.invocations.end({ source: 'api', id: 'a' });
    await refused;
    await t.rejects(store.functions.put(large), { code: 'SFSD_ERR_STORE_FAILED' });
    t.same(events(), ['store_write_failed']);
    t.equal(store.status().writeFailures, 4, 'the end failed twice');
    await store.functions.put(row('small'));
    t.same(events(), ['store_write_failed', 'store_writes_again']);
    await store.close();
    const file = open(path);
    t.same(file.contents.lost, []);
    t.match(file.contents.functions, [{ name: 'small' }]);
    file.close();
  },
);
