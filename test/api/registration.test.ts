/** Lists of invocations whose tasks others started. */
import t from 'tap';
import type { RegisteredBody, RegistrationBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { daemonUid, type Rig, rig, serve } from './simulated.js';

t.setTimeout(120_000);

async function connected(test: { teardown(release: () => unknown): void }, simulated: Rig): Promise<Caller> {
  return Caller.connect(test, (await serve(test, simulated)).path);
}

function list(count: number): RegistrationBody[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `i${index}`,
    functionName: 'f',
    pid: index + 10_000,
    startTime: '5',
  }));
}

t.test('a process, some of its threads, and a cgroup are registered as they were named', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  const body: RegistrationBody[] = [
    { id: 'p', functionName: 'guest/hello@0.0.1', pid: 7, startTime: '12345678901234567890' },
    { id: 't', source: 'hook', functionName: 'f', pid: 7, startTime: '1', tids: [8, 9] },
    {
      id: 'c',
      functionName: 'f',
      cgroup: '/openfaas-fn/hello',
      policy: 'cfs',
      weight: 2.5,
      expectedMs: 1.5,
      sliceMaxMs: 30,
    },
    { id: 'looked-up', functionName: 'f', pid: 77 },
  ];
  const { status, json } = await api.call('POST', '/v1/invocations', { body });
  t.equal(status, 202);
  t.same(json, [
    { id: 'p', source: 'api' },
    { id: 't', source: 'hook' },
    { id: 'c', source: 'api' },
    { id: 'looked-up', source: 'api' },
  ]);
  const arrivedAt = simulated.plane.now();
  t.same(simulated.plane.registered, [
    {
      id: 'p',
      source: 'api',
      functionName: 'guest/hello@0.0.1',
      group: { kind: 'process', pid: 7, startTime: '12345678901234567890' },
      arrivedAt,
      ownerUid: daemonUid,
    },
    {
      id: 't',
      source: 'hook',
      functionName: 'f',
      group: { kind: 'threads', pid: 7, startTime: '1', tids: [8, 9] },
      arrivedAt,
      ownerUid: daemonUid,
    },
    {
      id: 'c',
      source: 'api',
      functionName: 'f',
      group: { kind: 'cgroup', path: '/openfaas-fn/hello' },
      arrivedAt,
      ownerUid: daemonUid,
      policy: 'cfs',
      weight: 2.5,
      expected: 1500,
      sliceMax: 30_000,
    },
    {
      id: 'looked-up',
      source: 'api',
      functionName: 'f',
      group: { kind: 'process', pid: 77, startTime: '7700' },
      arrivedAt,
      ownerUid: daemonUid,
    },
  ]);
});

t.test('256 items are one list, 257 and none are refused with nothing registered', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  for (const [count, fault] of [
    [257, 'body must NOT have more than 256 items'],
    [0, 'body must NOT have fewer than 1 items'],
  ] as const) {
    const refused = await api.call('POST', '/v1/invocations', { body: list(count) });
    t.equal(refused.status, 400);
    t.match(refused.json, { code: 'SFSD_ERR_REQUEST_INVALID', message: fault });
  }
  t.equal(simulated.plane.live, 0);
  const { status, json } = await api.call('POST', '/v1/invocations', { body: list(256) });
  t.equal(status, 202);
  t.same(
    (json as RegisteredBody[]).map(({ id }) => id),
    list(256).map(({ id }) => id),
  );
  t.equal(simulated.plane.live, 256);
});

t.test('an item that fails has its own error; the others are registered and no place is lost', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  const { status, json } = await api.call('POST', '/v1/invocations', {
    body: [
      { id: 'a', functionName: 'f', pid: 77 },
      { id: 'a', functionName: 'f', pid: 77 },
      { id: 'a', source: 'other', functionName: 'f', pid: 77 },
      { id: 'gone', functionName: 'f', pid: 78 },
      { id: 'init', functionName: 'f', pid: 1 },
      { id: 'b', functionName: 'f', pid: 77 },
    ],
  });
  t.equal(status, 202);
  t.match(json, [
    { id: 'a', source: 'api' },
    { id: 'a', source: 'api', code: 'SFSD_ERR_INVOCATION_DUPLICATE' },
    { id: 'a', source: 'other' },
    { id: 'gone', source: 'api', code: 'SFSD_ERR_INVOCATION_GONE', message: 'no process 78' },
    { id: 'init', source: 'api', code: 'SFSD_ERR_TARGET_INIT', message: 'never scheduled' },
    { id: 'b', source: 'api' },
  ]);
  t.equal(simulated.plane.live, 3);
  const { bytes } = await api.call('GET', '/metrics');
  t.match(bytes.toString(), 'sfsd_registrations_total{result="accepted"} 3');
  t.match(bytes.toString(), 'sfsd_registrations_total{result="SFSD_ERR_INVOCATION_GONE"} 1');
  t.match(bytes.toString(), 'sfsd_registrations_total{result="SFSD_ERR_INVOCATION_DUPLICATE"} 1');
});

t.test('a bug in one item is its entry and is logged, and its cause is not told', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  const { register } = simulated.plane;
  simulated.plane.register = (invocation, reservation) => {
    if (invocation.id === 'i1') throw new TypeError('secret detail');
    return register.call(simulated.plane, invocation, reservation);
  };
  const { json, bytes } = await api.call('POST', '/v1/invocations', { body: list(3) });
  t.match(json, [{ id: 'i0' }, { id: 'i1', code: 'SFSD_ERR_INTERNAL' }, { id: 'i2' }]);
  t.notMatch(bytes.toString(), 'secret detail');
  t.match(
    simulated.logged.find((line) => line.event === 'registration_failed'),
    { err: { message: 'secret detail' } },
  );
  t.equal(simulated.plane.live, 2);
});

t.test('a list that does not fit is refused whole: 429, Retry-After, nothing registered', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  simulated.plane.liveMax = 10;
  const { status, json, headers } = await api.call('POST', '/v1/invocations', { body: list(11) });
  t.equal(status, 429);
  t.match(json, { code: 'SFSD_ERR_QUEUE_FULL' });
  t.equal(headers['retry-after'], '1');
  t.equal(simulated.plane.live, 0);
  t.equal(simulated.plane.registered.length, 0);
  t.equal((await api.call('POST', '/v1/invocations', { body: list(10) })).status, 202);
  simulated.plane.isStopping = true;
  const stopping = await api.call('POST', '/v1/invocations', { body: list(1) });
  t.equal(stopping.status, 503);
  t.equal(stopping.headers['retry-after'], '1');
});

t.test('wrong items are all named, and none of the list is registered', async (t) => {
  const simulated = rig();
  const api = await connected(t, simulated);
  const good = { id: 'g', functionName: 'f', pid: 77 };
  const faults: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ id: 'a', functionName: 'f' }, 'must have exactly one of pid and cgroup'],
    [{ ...good, cgroup: '/a' }, 'must have exactly one of pid and cgroup'],
    [{ id: 'a', functionName: 'f', cgroup: '/a', tids: [1] }, 'must have property pid when property tids'],
    [{ ...good, pid: 0 }, '/pid must be >= 1'],
    [{ ...good, pid: '77' }, '/pid must be integer'],
    [{ ...good, pid: 1.5 }, '/pid must be integer'],
    [{ ...good, pid: 4_194_305 }, '/pid must be <= 4194304'],
    [{ ...good, startTime: 5 }, '/startTime must be string'],
    [{ ...good, startTime: '-1' }, '/startTime must match'],
    [{ ...good, tids: [] }, '/tids must NOT have fewer than 1'],
    [{ ...good, tids: [5, 5] }, '/tids must NOT have duplicate items'],
    [
      { ...good, tids: Array.from({ length: 257 }, (_, index) => index + 1) },
      '/tids must NOT have more than 256',
    ],
    [{ ...good, weight: 0 }, '/weight must be >= 0.01'],
    [{ ...good, expectedMs: -1 }, '/expectedMs must be >= 0'],
    [{ ...good, policy: 'rr' }, '/policy must be one of sfs, cfs'],
    [{ ...good, id: '' }, '/id must NOT have fewer than 1'],
    [{ ...good, id: 'a b' }, '/id must match'],
    [{ ...good, source: 'a/b' }, '/source must match'],
    [{ ...good, functionName: 'a\nb' }, '/functionName must match'],
    [{ ...good, colour: 1 }, 'has the unknown field "colour"'],
    [{ id: 'a', functionName: 'f', cgroup: '/' }, '/cgroup must match'],
    [{ id: 'a', functionName: 'f', cgroup: '/a/../../b' }, '/cgroup must match'],
    [{ id: 'a', functionName: 'f', cgroup: 'a' }, '/cgroup must match'],
    [{ id: 'a', functionName: 'f', cgroup: '/a//b' }, '/cgroup must match'],
  ];
  for (const [item, fault] of faults) {
    const { status, json } = await api.call('POST', '/v1/invocations', { body: [good, item] });
    t.equal(status, 400);
    t.match(json, { message: fault });
    t.match(json, { message: 'body/1' });
  }
  const all = await api.call('POST', '/v1/invocations', { body: faults.map(([item]) => item) });
  const { message } = all.json as { message: string };
  for (const index of faults.keys()) t.match(message, new RegExp(`body/${index}[ /]`));
  t.equal(simulated.plane.live, 0);
});

t.test('a body with thousands of faults gets a short answer', async (t) => {
  const api = await connected(t, rig());
  const many = await api.call('POST', '/v1/invocations', { body: Array.from({ length: 250 }, () => ({})) });
  t.equal(many.status, 400);
  t.match(many.json, { message: /; and \d+ more\.$/ });
  t.ok(many.bytes.length < 8192);
  const huge = await api.call('POST', '/v1/invocations', { body: new Array(400_000).fill(0) });
  t.equal(huge.status, 400);
  t.ok(huge.bytes.length < 200, 'its first fault only');
  const nested = await api.call('POST', '/v1/invocations', {
    raw: `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    headers: { 'content-type': 'application/json' },
  });
  t.equal(nested.status, 400);
});

t.test('a list above the bound in bytes is refused by its length', async (t) => {
  const api = await connected(t, rig());
  const { status, json } = await api.call('POST', '/v1/invocations', {
    raw: Buffer.alloc(2 * 1024 * 1024 + 1, 0x20),
    headers: { 'content-type': 'application/json' },
  });
  t.equal(status, 413);
  t.match(json, { code: 'SFSD_ERR_BODY_TOO_LARGE' });
});

t.test('a list is JSON', async (t) => {
  const api = await connected(t, rig());
  const raw = JSON.stringify(list(1));
  for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-type': 'nonsense' }]) {
    const { status, json } = await api.call('POST', '/v1/invocations', { raw, headers });
    t.equal(status, 415);
    t.match(json, { code: 'SFSD_ERR_MEDIA_TYPE' });
  }
  const charset = { 'content-type': 'application/json; charset=utf-8' };
  t.equal((await api.call('POST', '/v1/invocations', { raw, headers: charset })).status, 202);
});
