/** What goes wrong outside of any one route: unknown routes, broken HTTP, slow clients, bugs. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import t from 'tap';
import { Caller } from './caller.js';
import { rig, serve } from './simulated.js';

t.setTimeout(120_000);

/** Writes bytes on a fresh connection and reads until the server closes it. */
async function exchange(path: string, bytes: string): Promise<string> {
  const socket = createConnection(path);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  // A server that closes at once makes the write fail; the close that follows is what counts.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  await closed;
  return answer;
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

t.test('an unknown route is 404 and names itself, without its query', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/v1/nothing?x=1'],
    ['PATCH', '/v1/functions/a'],
    ['POST', '/v1/status'],
    ['GET', '/v1/status/'],
  ] as const) {
    const { status, json, headers } = await api.undocumented(method, path);
    t.equal(status, 404);
    t.match(json, {
      code: 'SFSD_ERR_ROUTE_UNKNOWN',
      message: `${method} ${path.split('?')[0]}. GET /openapi.json`,
    });
    t.match(headers['content-type'], 'application/json');
  }
});

t.test('a path that cannot be decoded, or is too long, is refused in the same form', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  for (const path of [
    '/v1/functions/%zz',
    `/v1/functions/${'x'.repeat(1025)}`,
    '/%',
    '/v1/invocations/%E0%A4%A',
  ]) {
    const { status, json } = await api.undocumented('GET', path);
    t.equal(status, path === '/%' ? status : 400, path);
    t.match(json, { code: /^SFSD_ERR_(REQUEST_INVALID|ROUTE_UNKNOWN)$/ });
  }
});

t.test('bytes that are no HTTP get a coded answer and the connection is closed', async (t) => {
  const { path } = await serve(t, rig());
  for (const [bytes, reason] of [
    ['hello\r\n\r\n', 'not well-formed'],
    ['GET / HTTP/1.1\r\nbad header\r\n\r\n', 'not well-formed'],
    ['POST /v1/invocations HTTP/1.1\r\ncontent-length: x\r\n\r\n', 'not well-formed'],
    [`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 'headers are too large'],
  ] as const) {
    const answer = await exchange(path, bytes);
    t.match(answer, /^HTTP\/1\.1 400 /);
    t.match(bodyOf(answer), { code: 'SFSD_ERR_REQUEST_INVALID', message: reason });
  }
});

t.test('an expectation that nobody can meet is refused in the same form', async (t) => {
  const { path } = await serve(t, rig());
  const answer = await exchange(path, 'GET /healthz HTTP/1.1\r\nexpect: miracles\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 400 /);
  t.match(bodyOf(answer), {
    code: 'SFSD_ERR_REQUEST_INVALID',
    message: /header\/expect must be 100-continue/,
  });
});

t.test('a client that sends too slowly is cut off; one that waits for a long function is not', async (t) => {
  const simulated = rig();
  const { path } = await serve(t, simulated, {
    headersTimeoutMs: 60,
    requestTimeoutMs: 120,
    timeoutCheckMs: 20,
  });
  const api = await Caller.connect(t, path);
  await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } });
  const launched = new Promise<void>((resolve) => {
    simulated.launcher.onLaunch = () => resolve();
  });
  const waiting = api.call('POST', '/v1/functions/a/invocations');
  await launched;
  // Both exchanges last longer than the timeouts, because it is the timeouts that end them.
  for (const bytes of [
    'GET /v1/status HTT',
    'POST /v1/invocations HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n[',
  ]) {
    const answer = await exchange(path, bytes);
    t.match(answer, /^HTTP\/1\.1 400 /);
    t.match(bodyOf(answer), { code: 'SFSD_ERR_REQUEST_INVALID', message: 'not received whole in time' });
  }
  simulated.launcher.launches[0]?.finish({ stdout: 'late' });
  t.equal((await waiting).bytes.toString(), 'late');
});

t.test('connections beyond the bound are closed at once and counted', async (t) => {
  const simulated = rig();
  const { path } = await serve(t, simulated, { connectionsMax: 2 });
  const api = await Caller.connect(t, path);
  const second = createConnection(path);
  await once(second, 'connect');
  await api.call('GET', '/healthz');
  for (const _ of [1, 2]) t.equal(await exchange(path, 'GET /healthz HTTP/1.1\r\n\r\n'), '');
  second.destroy();
  const { bytes } = await api.call('GET', '/metrics');
  t.match(bytes.toString(), '\nsfsd_http_connections_dropped_total 2\n');
  t.equal(simulated.logged.filter((line) => line.event === 'connection_dropped').length, 1);
});

t.test('a bug is SFSD_ERR_INTERNAL: told by request id, explained in the log', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  simulated.plane.status = () => {
    throw new TypeError('secret detail');
  };
  for (const path of ['/v1/status', '/metrics']) {
    const { status, json, bytes } = await api.call('GET', path);
    t.equal(status, 500);
    t.match(json, { code: 'SFSD_ERR_INTERNAL', message: /request req-\w+ failed unexpectedly/ });
    t.notMatch(bytes.toString(), /secret|\.ts|\.js|at /);
  }
  await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } });
  for (const thrown of [new Error('secret detail'), 'a string', undefined, null]) {
    simulated.launcher.failure = thrown ?? Object.create(null);
    t.equal((await api.call('POST', '/v1/functions/a/invocations')).status, 500);
  }
  const failed = simulated.logged.filter((line) => line.event === 'request_failed');
  t.equal(failed.length, 6);
  t.match(failed[0], { code: 'SFSD_ERR_INTERNAL', err: { message: 'secret detail' }, level: 50 });
});

t.test('each request is one line in the log, at debug', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  simulated.logged.length = 0;
  await api.call('GET', '/v1/status');
  await api.undocumented('GET', '/nothing');
  // The line of a request is written after its answer; the next request's answer comes later still.
  await api.call('GET', '/healthz');
  const [status, nothing] = simulated.logged;
  t.match(status, { level: 20, event: 'request', method: 'GET', route: '/v1/status', status: 200 });
  t.match(nothing, { level: 20, event: 'request', route: 'unknown', status: 404 });
});

t.test('HEAD answers as GET does, without the body', async (t) => {
  const api = await Caller.connect(t, (await serve(t, rig())).path);
  const { status, bytes } = await api.undocumented('HEAD', '/healthz');
  t.equal(status, 200);
  t.equal(bytes.length, 0);
});
