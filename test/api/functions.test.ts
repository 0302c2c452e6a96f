/** Registered functions over the socket. */
import t from 'tap';
import type { FunctionBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { daemonUid, functionsConfig, rig, serve } from './simulated.js';

t.setTimeout(120_000);

const whole: FunctionBody = {
  name: 'resize',
  command: '/usr/bin/resize',
  args: ['--width', '100'],
  env: { LANG: 'C' },
  workingDirectory: '/tmp',
  memoryMaxBytes: 64 * 1024 * 1024,
  pidsMax: 16,
  timeoutMs: 500,
  concurrency: 2,
  outputMaxBytes: 1000,
  policy: 'cfs',
};

t.test('a function round-trips whole, is listed, replaced and deleted', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  const created = await api.call('PUT', '/v1/functions/resize', { body: whole });
  t.equal(created.status, 201);
  const owned = { ...whole, uid: daemonUid, gid: 1 };
  t.same(created.json, owned);
  t.same((await api.call('GET', '/v1/functions/resize')).json, owned);
  t.same((await api.call('GET', '/v1/functions')).json, [owned]);
  const replaced = await api.call('PUT', '/v1/functions/resize', { body: { ...whole, concurrency: 9 } });
  t.equal(replaced.status, 200);
  t.equal(simulated.functions.get('resize')?.concurrency, 9);
  const deleted = await api.call('DELETE', '/v1/functions/resize');
  t.equal(deleted.status, 204);
  t.equal(deleted.bytes.length, 0);
  t.same((await api.call('GET', '/v1/functions')).json, []);
});

t.test('only the command must be given; the rest comes from the configuration', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  const { status, json } = await api.call('PUT', '/v1/functions/a', { body: { command: 'true' } });
  t.equal(status, 201);
  t.same(json, {
    name: 'a',
    command: 'true',
    args: [],
    env: {},
    workingDirectory: '/',
    timeoutMs: functionsConfig.timeoutMs,
    concurrency: functionsConfig.concurrency,
    outputMaxBytes: functionsConfig.outputMaxBytes,
    uid: daemonUid,
    gid: 1,
  });
  t.ok(Object.isFrozen(simulated.functions.get('a')));
});

t.test('every fault of a definition is named with its path', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  const { status, json } = await api.call('PUT', '/v1/functions/a', {
    body: {
      args: 'x',
      env: { 'A=B': 'c', D: 1 },
      workingDirectory: 'relative',
      memoryMaxBytes: '1',
      timeoutMs: -1,
      concurrency: 0,
      policy: 'fifo',
      colour: 'blue',
    },
  });
  t.equal(status, 400);
  t.match(json, { code: 'SFSD_ERR_REQUEST_INVALID' });
  const { message } = json as { message: string };
  for (const fault of [
    "body must have required property 'command'",
    'body has the unknown field "colour"',
    'body/args must be array',
    'body/env has the field "A=B"',
    'body/env/D must be string',
    'body/workingDirectory must match pattern',
    'body/memoryMaxBytes must be integer',
    'body/timeoutMs must be >= 0',
    'body/concurrency must be >= 1',
    'body/policy must be one of sfs, cfs',
  ]) {
    t.match(message, fault);
  }
});

t.test('what the store refuses has its own code', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  const refused = await api.call('PUT', '/v1/functions/a', { body: { command: '/refused' } });
  t.equal(refused.status, 400);
  t.match(refused.json, { code: 'SFSD_ERR_FUNCTION_INVALID' });
  for (const name of ['a', 'b', 'c'])
    await api.call('PUT', `/v1/functions/${name}`, { body: { command: 'x' } });
  const full = await api.call('PUT', '/v1/functions/d', { body: { command: 'x' } });
  t.equal(full.status, 429);
  t.match(full.json, { code: 'SFSD_ERR_FUNCTIONS_FULL' });
  t.equal(full.headers['retry-after'], '1');
});

t.test('the name in the body, if any, is the name in the path', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  const { status } = await api.call('PUT', '/v1/functions/a', { body: { name: 'b', command: 'x' } });
  t.equal(status, 400);
});

t.test('unknown functions are 404 and malformed names 400', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  for (const method of ['GET', 'DELETE'] as const) {
    const unknown = await api.call(method, '/v1/functions/none');
    t.equal(unknown.status, 404);
    t.match(unknown.json, { code: 'SFSD_ERR_FUNCTION_UNKNOWN' });
  }
  for (const name of ['a%20b', 'a%2Fb', '%00', 'x'.repeat(129), '%C3%A9']) {
    const malformed = await api.call('PUT', `/v1/functions/${name}`, { body: { command: 'x' } });
    t.equal(malformed.status, 400, name);
    t.match(malformed.json, { code: 'SFSD_ERR_REQUEST_INVALID', message: 'path/name' });
  }
});

t.test('a definition that is missing, not an object, or not JSON is refused', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  for (const body of [null, [], 'x', 1, true]) {
    t.equal((await api.call('PUT', '/v1/functions/a', { body })).status, 400);
  }
  t.equal((await api.call('PUT', '/v1/functions/a')).status, 400);
  const json = { 'content-type': 'application/json' };
  for (const raw of [
    '',
    '{',
    '{"command":',
    '\u0000',
    '{"__proto__":{"command":"x"}}',
    '['.repeat(100_000),
  ]) {
    t.equal((await api.call('PUT', '/v1/functions/a', { raw, headers: json })).status, 400);
  }
  const text = await api.call('PUT', '/v1/functions/a', {
    raw: 'x',
    headers: { 'content-type': 'text/plain' },
  });
  t.equal(text.status, 415);
  t.match(text.json, { code: 'SFSD_ERR_MEDIA_TYPE', message: 'text/plain' });
});
