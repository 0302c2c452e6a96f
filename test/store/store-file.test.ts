/** What is written comes back, whatever wrote it and however that ended. */
import { chmodSync, copyFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { schemaVersion } from '../../src/store/schema.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { begin, fixtures, Holder, namesIn, now, open, pathIn, put, row } from './files.js';

t.test('functions come back in order of their names, each as it was put last', async (t) => {
  const path = pathIn(t);
  const file = open(path);
  t.same(file.contents, { functions: [], lost: [], beliefs: [] });
  put(file, 'b', 'a', 'c');
  file.apply([{ kind: 'put', row: { name: 'b', definition: '{"command":"other"}', createdAtUnixMs: 2 } }]);
  file.apply([{ kind: 'delete', name: 'c' }]);
  file.apply([{ kind: 'delete', name: 'never there' }]);
  file.close();
  const again = open(path);
  t.teardown(() => again.close());
  t.same(again.contents.functions, [
    row('a'),
    { name: 'b', definition: '{"command":"other"}', createdAtUnixMs: 1 },
  ]);
});

t.test('beliefs come back, those kept longest ago first, each as it was kept last', async (t) => {
  const path = pathIn(t);
  const file = open(path);
  const keep = (name: string, ...weights: readonly number[]) =>
    file.apply([{ kind: 'keep', rows: [{ name, weights }] }]);
  keep('function a', 1, 0.5);
  keep('host', 3);
  keep('function a', 2, 0.25);
  file.close();
  const again = open(path);
  t.teardown(() => again.close());
  t.same(
    again.contents.beliefs.map(({ name, weights }) => ({ name, weights: [...Array.from(weights)] })),
    [
      { name: 'host', weights: [3] },
      { name: 'function a', weights: [2, 0.25] },
    ],
  );
});

t.test('folder and file are for their owner alone, also one that was not', async (t) => {
  const path = join(t.testdir(), 'one', 'two', 'sfsd.db');
  const file = open(path);
  t.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  t.equal(statSync(path).mode & 0o777, 0o600);
  put(file, 'a');
  t.equal(statSync(`${path}-wal`).mode & 0o777, 0o600);
  file.close();
  chmodSync(path, 0o644);
  t.same(namesIn(path), ['a']);
  t.equal(statSync(path).mode & 0o777, 0o600);
});

t.test('a file of version 1 is brought to the version of today, and keeps its functions', async (t) => {
  const path = pathIn(t);
  copyFileSync(join(fixtures, 'version-1.db'), path);
  const file = open(path);
  t.match(file.contents, { functions: [{ name: 'hello', createdAtUnixMs: 1_700_000_000_000 }], lost: [] });
  begin(file, 'x');
  file.close();
  const database = openSqlite(path);
  t.equal(database.pragma('user_version', { simple: true }), schemaVersion);
  database.close();
});

t.test('what was in flight is lost at the next open, once and for all', async (t) => {
  const path = pathIn(t);
  const first = open(path);
  begin(first, 'a', 'b', 'c');
  first.apply([{ kind: 'end', source: 'api', id: 'b' }]);
  first.close();
  const lost = (id: string) => ({
    source: 'api',
    id,
    functionName: 'f',
    arrivedAtUnixMs: 1.5,
    lostAtUnixMs: now,
  });
  const second = open(path);
  t.same(second.contents.lost, [lost('a'), lost('c')]);
  // The same name anew: its earlier fate is forgotten.
  begin(second, 'a');
  second.apply([{ kind: 'end', source: 'api', id: 'a' }]);
  second.close();
  const third = open(path, { now: now + 1000 });
  t.teardown(() => third.close());
  t.same(third.contents.lost, [lost('c')]);
});

t.test('of the lost the oldest are dropped', async (t) => {
  const path = pathIn(t);
  const first = open(path);
  begin(first, 'a', 'b', 'c', 'd');
  first.close();
  const second = open(path, { lostMax: 2 });
  t.same(
    second.contents.lost.map(({ id }) => id),
    ['c', 'd'],
  );
  second.close();
  const third = open(path, { lostMax: 0 });
  t.same(third.contents.lost, []);
  third.close();
});

t.test('a row that is set aside is no function any more, and can be looked at', async (t) => {
  const path = pathIn(t);
  const file = open(path);
  put(file, 'good', 'bad');
  file.apply([{ kind: 'setAside', name: 'bad', reason: 'not JSON', at: 7 }]);
  file.close();
  t.same(namesIn(path), ['good']);
  const database = openSqlite(path);
  t.match(database.prepare('SELECT * FROM refused').all(), [
    { name: 'bad', reason: 'not JSON', refused_at: 7 },
  ]);
  database.close();
});

t.test('a second process is refused while the first has it open; a SIGKILL gives it free', async (t) => {
  const path = pathIn(t);
  const holder = await Holder.start(path, { count: 1, atLeast: 1 });
  t.throws(() => open(path), { code: 'SFSD_ERR_STORE_IN_USE' });
  await holder.kill();
  t.same(namesIn(path), ['f0']);
});

t.test('every function that was put before a SIGKILL is there after it', async (t) => {
  const path = pathIn(t);
  const holder = await Holder.start(path, { count: 100_000, atLeast: 20 });
  await holder.kill();
  const found = new Set(namesIn(path));
  t.ok(holder.put.length >= 20);
  t.same(
    holder.put.filter((name) => !found.has(name)),
    [],
  );
});
