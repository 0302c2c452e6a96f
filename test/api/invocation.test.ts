/** One invocation: where it stands, what was decided, its end. */
import t from 'tap';
import type { ExplanationBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { type Rig, rig, serve } from './simulated.js';

t.setTimeout(120_000);

async function connected(test: { teardown(release: () => unknown): void }, simulated: Rig): Promise<Caller> {
  const api = await Caller.connect(test, (await serve(test, simulated)).path);
  await api.call('POST', '/v1/invocations', {
    body: [
      { id: 'a', functionName: 'f', pid: 77 },
      { id: 'a', source: 'hook', functionName: 'g', pid: 77 },
    ],
  });
  return api;
}

t.test('an invocation is found by id and source', async (t) => {
  const api = await connected(t, rig());
  const plain = await api.call('GET', '/v1/invocations/a');
  t.equal(plain.status, 200);
  t.same(plain.json, {
    id: 'a',
    source: 'api',
    functionName: 'f',
    policy: 'sfs',
    state: 'queued',
    arrivedAtMs: 5000,
  });
  const hooked = await api.call('GET', '/v1/invocations/a?source=hook');
  t.match(hooked.json, { source: 'hook', functionName: 'g' });
});

t.test('its decisions come oldest first, in milliseconds', async (t) => {
  const api = await connected(t, rig());
  const { status, json } = await api.call('GET', '/v1/invocations/a/decisions');
  t.equal(status, 200);
  const { decisions, incomplete } = json as ExplanationBody;
  t.equal(incomplete, false);
  t.same(decisions, [{ kind: 'arrived', atMs: 5000, worker: -1, cpuMs: 0, value: 20_000, extra: 0 }]);
});

t.test(
  'end says completed and delete cancelled, and both are idempotent while it is remembered',
  async (t) => {
    const simulated = rig();
    const api = await connected(t, simulated);
    for (const _ of [1, 2]) {
      const ended = await api.call('POST', '/v1/invocations/a/end');
      t.equal(ended.status, 204);
      t.equal(ended.bytes.length, 0);
      t.equal((await api.call('DELETE', '/v1/invocations/a?source=hook')).status, 204);
    }
    t.equal(simulated.plane.endedAs('api', 'a'), 'completed');
    t.equal(simulated.plane.endedAs('hook', 'a'), 'cancelled');
    t.match((await api.call('GET', '/v1/invocations/a')).json, { state: 'ended' });
    t.equal(simulated.plane.live, 0);
  },
);

t.test('a content type without a body does no harm', async (t) => {
  const api = await connected(t, rig());
  const headers = { 'content-type': 'application/json' };
  t.equal((await api.call('POST', '/v1/invocations/a/end', { headers })).status, 204);
  t.equal((await api.call('DELETE', '/v1/invocations/a', { headers })).status, 204);
});

t.test('what is not known is 404 everywhere', async (t) => {
  const api = await connected(t, rig());
  for (const [method, path] of [
    ['GET', '/v1/invocations/none'],
    ['GET', '/v1/invocations/none/decisions'],
    ['POST', '/v1/invocations/none/end'],
    ['DELETE', '/v1/invocations/none'],
    ['GET', '/v1/invocations/a?source=nobody'],
  ] as const) {
    const { status, json } = await api.call(method, path);
    t.equal(status, 404, path);
    t.match(json, { code: 'SFSD_ERR_INVOCATION_UNKNOWN' });
  }
});

t.test('malformed ids and queries are 400', async (t) => {
  const api = await connected(t, rig());
  for (const path of [
    '/v1/invocations/a%20b',
    '/v1/invocations/%0A',
    `/v1/invocations/${'x'.repeat(129)}`,
    '/v1/invocations/a?source=a%20b',
    '/v1/invocations/a?source=x&source=y',
    '/v1/invocations/a?souce=api',
  ]) {
    for (const [method, tail] of [
      ['GET', ''],
      ['DELETE', ''],
    ] as const) {
      const { status, json } = await api.call(method, path + tail);
      t.equal(status, 400, `${method} ${path}`);
      t.match(json, { code: 'SFSD_ERR_REQUEST_INVALID' });
    }
  }
});

t.test('deleting a function run of ours ends the function', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  await api.call('PUT', '/v1/functions/f', { body: { command: 'x' } });
  const headers = { 'sfsd-id': 'run' };
  await api.call('POST', '/v1/functions/f/invocations?async=true', { headers });
  t.equal((await api.call('DELETE', '/v1/invocations/run')).status, 204);
  t.equal(simulated.launcher.launches[0]?.request.signal?.aborted, true);
  t.match((await api.call('GET', '/v1/invocations/run')).json, {
    state: 'ended',
    result: { exit: 'cancelled' },
  });
});

t.test('a later registration of the same name does not carry an earlier result', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  await api.call('PUT', '/v1/functions/f', { body: { command: 'x' } });
  simulated.launcher.ending = {};
  await api.call('POST', '/v1/functions/f/invocations?async=true', { headers: { 'sfsd-id': 'run' } });
  await api.call('POST', '/v1/invocations', { body: [{ id: 'run', functionName: 'g', pid: 77 }] });
  const { json } = await api.call('GET', '/v1/invocations/run');
  t.same(json, {
    id: 'run',
    source: 'api',
    functionName: 'g',
    policy: 'sfs',
    state: 'queued',
    arrivedAtMs: 5000,
  });
});
