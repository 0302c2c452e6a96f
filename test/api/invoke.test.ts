/** Runs of registered functions: synchronous, detailed, asynchronous, refused, and abandoned. */
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import type { AcceptedBody, InvocationBody, ResultBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { daemonUid, functionsConfig, type Rig, rig, serve } from './simulated.js';

t.setTimeout(120_000);

const runs = '/v1/functions/hello/invocations';

async function registered(test: { teardown(release: () => unknown): void }, simulated: Rig): Promise<Caller> {
  const api = await Caller.connect(test, (await serve(test, simulated)).path);
  await api.call('PUT', '/v1/functions/hello', { body: { command: '/bin/hello', timeoutMs: 250 } });
  return api;
}

/** Launches wait at the gate, after their reservation and before their image is in place. */
function closeGate({ plane, launcher }: Rig): { readonly reached: Promise<void>; open(): void } {
  let open: () => void = () => {};
  launcher.startGate = new Promise((resolve) => {
    open = resolve;
  });
  const { reserve } = plane;
  const reached = new Promise<void>((resolve) => {
    plane.reserve = (count) => {
      resolve();
      return reserve.call(plane, count);
    };
  });
  return { reached, open: () => open() };
}

t.test(
  'the body is the input and the output the answer, byte for byte, whatever the content type',
  async (t) => {
    const simulated = rig();
    const api = await registered(t, simulated);
    simulated.launcher.ending = (request) => ({ stdout: request.body });
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256));
    for (const type of [undefined, 'application/json', 'text/plain', 'nonsense', 'a/b; c', 'image/png']) {
      const headers = type === undefined ? {} : { 'content-type': type };
      const { status, ...answer } = await api.call('POST', runs, { raw: bytes, headers });
      t.equal(status, 200, type ?? 'none');
      t.ok(answer.bytes.equals(bytes));
      t.equal(answer.headers['content-type'], 'application/octet-stream');
    }
    const empty = await api.call('POST', runs);
    t.equal(empty.status, 200);
    t.equal(empty.bytes.length, 0);
  },
);

t.test('the headers of an answer say which invocation it was and what it cost', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.ending = { truncated: true };
  simulated.launcher.onLaunch = () => simulated.plane.advance(30);
  const { headers } = await api.call('POST', runs, { headers: { 'sfsd-id': 'mine' } });
  t.equal(headers['sfsd-invocation-id'], 'mine');
  t.equal(headers['sfsd-turnaround-ms'], '30');
  t.equal(headers['sfsd-cpu-ms'], '12.5');
  t.equal(headers['sfsd-exit'], 'exited 0');
  t.equal(headers['sfsd-truncated'], 'true');
});

t.test('the request headers reach the launch', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.ending = {};
  await api.call('POST', runs, {
    headers: {
      'sfsd-id': 'mine',
      'sfsd-source': 'replay',
      'sfsd-policy': 'cfs',
      'sfsd-arrived-at-ms': '4999.125',
    },
  });
  await api.call('POST', runs);
  const [named, plain] = simulated.launcher.launches.map((launch) => launch.request);
  t.match(named, { id: 'mine', source: 'replay', policy: 'cfs', arrivedAt: 4_999_125 });
  t.same(named?.credentials, { uid: daemonUid, gid: 1 });
  t.match(plain, { source: 'api', arrivedAt: 5_000_000 });
  t.match(plain?.id, /^[0-9a-f-]{36}$/);
  t.notOk(plain !== undefined && 'policy' in plain);
});

t.test('malformed request headers and queries are refused before anything happens', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  for (const headers of [
    { 'sfsd-id': 'a b' },
    { 'sfsd-id': '' },
    { 'sfsd-id': 'x'.repeat(129) },
    { 'sfsd-source': 'a/b' },
    { 'sfsd-policy': 'fifo' },
    { 'sfsd-arrived-at-ms': '-1' },
    { 'sfsd-arrived-at-ms': 'NaN' },
    { 'sfsd-arrived-at-ms': '1e3' },
    { 'sfsd-arrived-at-ms': '5000.001' },
  ]) {
    t.equal(
      (await api.call('POST', runs, { headers: headers as Record<string, string> })).status,
      400,
      JSON.stringify(headers),
    );
  }
  for (const query of ['x=1', 'async=1', 'async=true&async=true', 'detail=', 'async=true&detail=true']) {
    t.equal((await api.call('POST', `${runs}?${query}`)).status, 400, query);
  }
  t.equal(simulated.launcher.launches.length, 0);
  t.equal(simulated.plane.live, 0);
});

t.test('an exit other than 0 is an error that carries stderr and the headers', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  for (const [exit, status, code, text] of [
    [{ kind: 'exited', code: 3 }, 502, 'SFSD_ERR_FUNCTION_FAILED', 'exited 3'],
    [{ kind: 'signalled', signal: 'SIGSEGV' }, 502, 'SFSD_ERR_FUNCTION_FAILED', 'signalled SIGSEGV'],
    [{ kind: 'cancelled' }, 502, 'SFSD_ERR_FUNCTION_FAILED', 'cancelled'],
    [{ kind: 'timeout' }, 504, 'SFSD_ERR_FUNCTION_TIMEOUT', 'timeout'],
    [{ kind: 'lost' }, 503, 'SFSD_ERR_SPAWNER_LOST', 'lost'],
  ] as const) {
    simulated.launcher.ending = { exit, stderr: 'oh \u00e9' };
    const answer = await api.call('POST', runs);
    t.equal(answer.status, status, text);
    t.match(answer.json, { code, stderr: 'oh \u00e9' });
    t.equal(answer.headers['sfsd-exit'], text);
    t.equal(answer.headers['retry-after'], status === 503 ? '1' : undefined);
  }
  simulated.launcher.ending = { exit: { kind: 'timeout' } };
  t.match((await api.call('POST', runs)).json, { message: '250 ms' });
});

t.test('detail=true answers with the result, whatever the exit was', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.ending = { exit: { kind: 'timeout' }, stdout: 'out', stderr: 'err' };
  simulated.launcher.onLaunch = () => simulated.plane.advance(7);
  const headers = { 'sfsd-id': 'd', 'sfsd-arrived-at-ms': '4990' };
  const { status, json } = await api.call('POST', `${runs}?detail=true`, { headers });
  t.equal(status, 200);
  const result = json as ResultBody;
  t.match(result, {
    id: 'd',
    source: 'api',
    functionName: 'hello',
    exit: 'timeout',
    arrivedAtMs: 4990,
    enqueuedAtMs: 5000,
    startedAtMs: 5000,
    endedAtMs: 5007,
    turnaroundMs: 17,
    cpuMs: 12.5,
  });
  t.equal(Buffer.from(result.stdoutBase64, 'base64').toString(), 'out');
  t.equal(Buffer.from(result.stderrBase64, 'base64').toString(), 'err');
  t.same(
    result.decisions.map((decision) => decision.kind),
    ['arrived', 'ended'],
  );
});

t.test(
  'an asynchronous run is accepted once started, and its result is there once it has ended',
  async (t) => {
    const simulated = rig();
    const api = await registered(t, simulated);
    const accepted = await api.call('POST', `${runs}?async=true`, { raw: 'in' });
    t.equal(accepted.status, 202);
    const { id, source } = accepted.json as AcceptedBody;
    t.equal(source, 'api');
    const location = String(accepted.headers.location);
    t.equal(location, `/v1/invocations/${id}`);
    const before = (await api.call('GET', location)).json as InvocationBody;
    t.match(before, { id, functionName: 'hello', state: 'queued' });
    t.equal(before.result, undefined);
    simulated.launcher.launches[0]?.finish({ stdout: 'done' });
    const ended = (await api.call('GET', location)).json as InvocationBody;
    t.equal(ended.state, 'ended');
    t.equal(Buffer.from(ended.result?.stdoutBase64 ?? '', 'base64').toString(), 'done');
    simulated.plane.forget('api', id);
    const later = (await api.call('GET', location)).json as InvocationBody;
    t.same(later.result, ended.result, 'the result outlives what the plane remembers');
  },
);

t.test('the location of a run with another source names it', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.ending = {};
  const headers = { 'sfsd-id': 'a/b?c', 'sfsd-source': 'hook' };
  const { headers: answered } = await api.call('POST', `${runs}?async=true`, { headers });
  t.equal(answered.location, '/v1/invocations/a%2Fb%3Fc?source=hook');
  const { json } = await api.call('GET', String(answered.location));
  t.match(json, { id: 'a/b?c', source: 'hook', result: { exit: 'exited 0' } });
});

t.test('the oldest results make room for new ones', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.ending = { stdout: 'x' };
  const count = functionsConfig.resultsMax + 2;
  for (let index = 0; index < count; index += 1) {
    await api.call('POST', `${runs}?async=true`, { headers: { 'sfsd-id': `r${index}` } });
    simulated.plane.forget('api', `r${index}`);
  }
  for (let index = 0; index < count; index += 1) {
    const { status } = await api.call('GET', `/v1/invocations/r${index}`);
    t.equal(status, index < 2 ? 404 : 200, `r${index}`);
  }
});

t.test(
  'a full or stopping daemon and a busy function refuse before any side effect, and say when to retry',
  async (t) => {
    const simulated = rig();
    const api = await registered(t, simulated);
    simulated.plane.liveMax = 0;
    const full = await api.call('POST', runs);
    t.equal(full.status, 429);
    t.match(full.json, { code: 'SFSD_ERR_QUEUE_FULL' });
    t.equal(full.headers['retry-after'], '1');
    simulated.plane.liveMax = 10;
    simulated.plane.isStopping = true;
    const stopping = await api.call('POST', `${runs}?async=true`);
    t.equal(stopping.status, 503);
    t.match(stopping.json, { code: 'SFSD_ERR_STOPPING' });
    t.equal(stopping.headers['retry-after'], '1');
    simulated.plane.isStopping = false;
    simulated.launcher.failure = new SfsdError('SFSD_ERR_FUNCTION_BUSY', { name: 'hello', concurrency: 1 });
    const busy = await api.call('POST', runs, { headers: { 'sfsd-id': 'again' } });
    t.equal(busy.status, 429);
    t.equal(busy.headers['retry-after'], '1');
    t.equal(simulated.launcher.launches.length, 0);
    t.equal(simulated.plane.live, 0);
    simulated.launcher.failure = undefined;
    simulated.launcher.ending = {};
    const again = await api.call('POST', runs, { headers: { 'sfsd-id': 'again' } });
    t.equal(again.status, 200, 'the refused id is free again');
  },
);

t.test('a launch that fails is 502 and gives its place back', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.failure = new SfsdError('SFSD_ERR_LAUNCH_FAILED', { name: 'hello', reason: 'ENOENT' });
  for (const query of ['', '?async=true']) {
    const { status, json } = await api.call('POST', `${runs}${query}`);
    t.equal(status, 502);
    t.match(json, { code: 'SFSD_ERR_LAUNCH_FAILED', message: 'ENOENT' });
  }
  t.equal(simulated.plane.live, 0);
});

t.test('a second run of a live (source, id) is a duplicate, also while the first is starting', async (t) => {
  const simulated = rig();
  const listening = await serve(t, simulated);
  const api = await Caller.connect(t, listening.path);
  const other = await Caller.connect(t, listening.path);
  await api.call('PUT', '/v1/functions/hello', { body: { command: 'x' } });
  const gate = closeGate(simulated);
  const headers = { 'sfsd-id': 'one' };
  const first = api.call('POST', `${runs}?async=true`, { headers });
  await gate.reached;
  t.match((await other.call('GET', '/v1/invocations/one')).json, {
    state: 'submitted',
    functionName: 'hello',
  });
  const starting = await other.call('POST', runs, { headers });
  t.equal(starting.status, 409);
  t.match(starting.json, { code: 'SFSD_ERR_INVOCATION_DUPLICATE' });
  gate.open();
  t.equal((await first).status, 202);
  t.equal((await other.call('POST', runs, { headers })).status, 409);
  t.equal(simulated.launcher.launches.length, 1);
  simulated.launcher.launches[0]?.finish();
  simulated.launcher.ending = {};
  t.equal((await other.call('POST', runs, { headers })).status, 200, 'once it has ended the name is free');
});

t.test('a body above the bound is refused before the function is started', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.ending = {};
  const limit = functionsConfig.bodyMaxBytes;
  t.equal((await api.call('POST', runs, { raw: Buffer.alloc(limit) })).status, 200);
  const { status, json } = await api.call('POST', runs, { raw: Buffer.alloc(limit + 1) });
  t.equal(status, 413);
  t.match(json, { code: 'SFSD_ERR_BODY_TOO_LARGE', message: `${limit} bytes` });
  t.equal(simulated.launcher.launches.length, 1);
});

t.test('an unknown function is 404', async (t) => {
  const api = await registered(t, rig());
  const { status, json } = await api.call('POST', '/v1/functions/none/invocations');
  t.equal(status, 404);
  t.match(json, { code: 'SFSD_ERR_FUNCTION_UNKNOWN' });
});

t.test('a caller that goes away ends the function it waits for', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  for (const query of ['', '?detail=true']) {
    const caller = new AbortController();
    const cancelled = new Promise<void>((resolve) => {
      simulated.launcher.onLaunch = ({ request }) => {
        request.signal?.addEventListener('abort', () => resolve());
        caller.abort();
      };
    });
    await t.rejects(api.call('POST', `${runs}${query}`, { signal: caller.signal }));
    await cancelled;
    t.equal(simulated.plane.live, 0);
  }
  const { bytes } = await api.call('GET', '/metrics');
  t.match(bytes.toString(), 'sfsd_invocations_total{function="hello",outcome="cancelled"} 2');
});

t.test('a caller that goes away while the function is starting ends it too', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  const caller = new AbortController();
  const gate = closeGate(simulated);
  const launched = new Promise<boolean>((resolve) => {
    simulated.launcher.onLaunch = ({ request }) => resolve(request.signal?.aborted === true);
  });
  const call = api.call('POST', runs, { signal: caller.signal });
  call.catch(() => {});
  await gate.reached;
  caller.abort();
  await t.rejects(call);
  // A later request on a new connection is served after the server has seen the old one close.
  await api.call('GET', '/healthz');
  gate.open();
  t.equal(await launched, true);
  t.equal(simulated.plane.live, 0);
});

t.test('a caller that goes away does not end an asynchronous run', async (t) => {
  const simulated = rig();
  const listening = await serve(t, simulated);
  const api = await Caller.connect(t, listening.path);
  await api.call('PUT', '/v1/functions/hello', { body: { command: 'x' } });
  const { json } = await api.call('POST', `${runs}?async=true`);
  await api.client.destroy();
  const other = await Caller.connect(t, listening.path);
  t.equal(simulated.launcher.launches[0]?.request.signal?.aborted, false);
  simulated.launcher.launches[0]?.finish({ stdout: 'x' });
  const { id } = json as AcceptedBody;
  t.match((await other.call('GET', `/v1/invocations/${id}`)).json, { result: { exit: 'exited 0' } });
});
