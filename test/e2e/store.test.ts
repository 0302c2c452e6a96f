/** What a daemon promised before it was killed, the next one keeps. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { InvocationBody } from '../../src/contracts/http.js';
import { DaemonUnderTest } from './daemon-under-test.js';

async function killed(daemon: DaemonUnderTest): Promise<void> {
  daemon.signal(await daemon.pid(), 'SIGKILL');
  await daemon.ended();
  await daemon.stop();
}

async function metric(daemon: DaemonUnderTest, line: string): Promise<boolean> {
  return (await daemon.get('/metrics')).text.split('\n').includes(line);
}

t.test('functions outlast a SIGKILL; asynchronous invocations in flight are lost', async (t) => {
  const path = join(t.testdir(), 'state', 'sfsd.db');
  const settings = [`store.path=${path}`];
  const first = await DaemonUnderTest.start(settings);
  await first.putBurn();
  await first.putFunction('gone', { command: '/bin/true' });
  t.equal((await first.request('DELETE', '/v1/functions/gone')).status, 204);
  const invoke = (id: string, words: string) =>
    first.request('POST', '/v1/functions/burn/invocations?async=true', {
      body: words,
      headers: { 'sfsd-id': id },
    });
  t.equal((await invoke('done', '1')).status, 202);
  for (let state = ''; state !== 'ended'; ) {
    state = (JSON.parse((await first.get('/v1/invocations/done')).text) as InvocationBody).state;
  }
  t.equal((await invoke('cut-off', '20000')).status, 202);
  await killed(first);
  const second = await DaemonUnderTest.start(settings);
  t.teardown(() => second.stop());
  t.match(await second.invoke('burn', '1'), { exit: 'exited 0' });
  t.equal((await second.get('/v1/functions/gone')).status, 404);
  const body = JSON.parse((await second.get('/v1/invocations/cut-off')).text) as InvocationBody;
  t.match(body, { state: 'ended', functionName: 'burn', result: { exit: 'lost' } });
  t.ok((body.result?.turnaroundMs ?? -1) >= 0);
  t.equal((await second.get('/v1/invocations/done')).status, 404, 'results are not kept');
  t.match((await second.status()).store, { path, lostInvocations: 1, rowsSetAside: 0, writeFailures: 0 });
  t.ok(await metric(second, 'sfsd_invocations_total{function="burn",outcome="lost"} 1'));
  t.match(second.log, '"event":"invocations_lost"');
});

t.test('what an orderly stop cuts off is lost as well', async (t) => {
  const settings = [`store.path=${join(t.testdir(), 'sfsd.db')}`];
  const first = await DaemonUnderTest.start(settings);
  await first.putFunction('sleep', { command: '/bin/sleep', args: ['20'] });
  const headers = { 'sfsd-id': 'cut-off' };
  await first.request('POST', '/v1/functions/sleep/invocations?async=true', { headers });
  t.equal(await first.stop(), 0);
  const second = await DaemonUnderTest.start(settings);
  t.teardown(() => second.stop());
  t.match(JSON.parse((await second.get('/v1/invocations/cut-off')).text), { result: { exit: 'lost' } });
});

t.test('a damaged store does not keep the daemon down: log, status and metric tell of it', async (t) => {
  const path = join(t.testdir(), 'sfsd.db');
  writeFileSync(path, randomBytes(20_000));
  const daemon = await DaemonUnderTest.start([`store.path=${path}`]);
  t.teardown(() => daemon.stop());
  const { store } = await daemon.status();
  t.match(store.setAside, `${path}.damaged-`);
  t.ok(existsSync(store.setAside ?? ''));
  t.match(daemon.log, '"event":"store_damaged"');
  t.ok(await metric(daemon, 'sfsd_store_damaged 1'));
  await daemon.putBurn();
  t.match(await daemon.invoke('burn', '1'), { exit: 'exited 0' });
});

t.test('a second daemon on the same store does not start, and leaves the first alone', async (t) => {
  const path = join(t.testdir(), 'sfsd.db');
  const first = await DaemonUnderTest.start([`store.path=${path}`]);
  t.teardown(() => first.stop());
  await t.rejects(DaemonUnderTest.start([`store.path=${path}`]), { message: 'Another sfsd has the store' });
  await first.putBurn();
  t.match(await first.invoke('burn', '1'), { exit: 'exited 0' });
});

t.test("a daemon without a store keeps nothing, and touches nobody's file", async (t) => {
  const path = '/var/lib/sfsd/sfsd.db';
  const before = existsSync(path) ? statSync(path).mtimeMs : undefined;
  const daemon = await DaemonUnderTest.start();
  t.teardown(() => daemon.stop());
  await daemon.putBurn();
  t.equal((await daemon.status()).store.path, undefined);
  const open = readFileSync(`/proc/${await daemon.pid()}/maps`, 'utf8');
  t.notMatch(open, 'better-sqlite3', 'SQLite is not even loaded');
  t.equal(existsSync(path) ? statSync(path).mtimeMs : undefined, before);
});
