/** Streams of invocations: both ends, over a real socket. */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { ReplyError } from '../../src/cli/client.js';
import { InvocationStreamClient } from '../../src/cli/invocation-stream.js';
import type { StreamReplyBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { functionsConfig, type Rig, rig, serve } from './simulated.js';

t.setTimeout(120_000);

const upgrade = 'connection: upgrade\r\nupgrade: sfsd-invocations\r\n';

async function opened(t: Test, simulated: Rig) {
  const listening = await serve(t, simulated);
  const api = await Caller.connect(t, listening.path);
  await api.call('PUT', '/v1/functions/hello', { body: { command: '/bin/hello' } });
  const stream = await InvocationStreamClient.open(listening.path);
  t.teardown(() => stream.close());
  return { listening, api, stream };
}

/** A stream by hand, for what the client never sends. */
async function bare(
  t: Test,
  path: string,
  first = '',
): Promise<{ socket: Socket; said(lines?: number): Promise<string> }> {
  const socket = createConnection(path);
  t.teardown(() => socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.write(`GET /v1/stream HTTP/1.1\r\n${upgrade}\r\n${first}`);
  return {
    socket,
    /** Until the server closes, or so many lines have come. */
    async said(lines = Number.POSITIVE_INFINITY) {
      while (!socket.closed && repliesIn(text).length < lines)
        await new Promise((resolve) => setTimeout(resolve, 5));
      return text;
    },
  };
}

function repliesIn(text: string): StreamReplyBody[] {
  const [, lines = ''] = text.split('\r\n\r\n');
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StreamReplyBody);
}

t.test('each line runs its function, and results come as they end', async (t) => {
  const simulated = rig();
  const { stream, api } = await opened(t, simulated);
  const results = ['a', 'b', 'c'].map((id) =>
    stream.invoke({
      id,
      functionName: 'hello',
      source: 's',
      policy: 'cfs',
      bodyBase64: Buffer.from(id).toString('base64'),
    }),
  );
  const ended: string[] = [];
  for (const result of results) void result.then(({ id }) => ended.push(id));
  while (simulated.launcher.launches.length < 3) await new Promise(setImmediate);
  for (const launch of simulated.launcher.launches.toReversed()) {
    t.match(launch.request, { source: 's', policy: 'cfs' });
    launch.finish({ stdout: launch.request.body });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const bodies = await Promise.all(results);
  t.strictSame(ended, ['c', 'b', 'a']);
  for (const body of bodies) t.equal(Buffer.from(body.stdoutBase64, 'base64').toString(), body.id);
  t.match(bodies[0], { exit: 'exited 0', functionName: 'hello', cpuMs: 12.5 });
  const { bytes } = await api.call('GET', '/metrics');
  t.match(bytes.toString(), 'sfsd_invocations_total{function="hello",outcome="succeeded"} 3');
});

t.test('what is refused is answered with its id and code, and the stream goes on', async (t) => {
  const simulated = rig();
  const { stream } = await opened(t, simulated);
  const refusal = async (request: Parameters<typeof stream.invoke>[0]) => {
    const error = await stream.invoke(request).catch((thrown: unknown) => thrown);
    t.ok(error instanceof ReplyError);
    return (error as ReplyError).code;
  };
  t.equal(await refusal({ id: 'a', functionName: 'none' }), 'SFSD_ERR_FUNCTION_UNKNOWN');
  t.equal(await refusal({ id: 'b', functionName: 'hello', arrivedAtMs: 1e14 }), 'SFSD_ERR_REQUEST_INVALID');
  t.equal(
    await refusal({ id: 'c', functionName: 'hello', bodyBase64: 'no base64' }),
    'SFSD_ERR_REQUEST_INVALID',
  );
  t.equal(await refusal({ id: 'a b', functionName: 'hello' }), 'SFSD_ERR_REQUEST_INVALID');
  const first = stream.invoke({ id: 'd', functionName: 'hello' });
  while (simulated.launcher.launches.length < 1) await new Promise(setImmediate);
  const second = await InvocationStreamClient.open((await serve(t, simulated)).path);
  t.teardown(() => second.close());
  simulated.launcher.launches[0]?.finish();
  t.match(await first, { id: 'd', exit: 'exited 0' });
  t.equal(simulated.plane.live, 0);
});

t.test('lines are found wherever they are cut, also in the upgrade request itself', async (t) => {
  const simulated = rig();
  simulated.launcher.ending = {};
  const { listening } = await opened(t, simulated);
  const line = (id: string) => `{"id":"${id}","functionName":"hello"}\n`;
  const { socket, said } = await bare(t, listening.path, line('first'));
  for (const character of `${line('second')}\n${line('third')}`) {
    socket.write(character);
    await new Promise(setImmediate);
  }
  const ids = repliesIn(await said(3)).map(({ id }) => id);
  t.strictSame(ids.toSorted(), ['first', 'second', 'third']);
});

t.test(
  'a line that is not JSON, or no request, is refused; one that is too long ends the stream',
  async (t) => {
    const simulated = rig();
    simulated.launcher.ending = {};
    const { listening } = await opened(t, simulated);
    const { socket, said } = await bare(t, listening.path);
    socket.write(
      'nonsense\n[]\nnull\n{"id":7}\n{"id":"x","functionName":"hello","more":1}\n{"id":"ok","functionName":"hello"}\n',
    );
    socket.write(
      `{"id":"long","functionName":"hello","bodyBase64":"${'A'.repeat(3 * functionsConfig.bodyMaxBytes)}`,
    );
    const replies = repliesIn(await said());
    const codes = replies.map((reply) => ('code' in reply ? reply.code : reply.exit));
    t.strictSame(codes.toSorted(), [
      'SFSD_ERR_BODY_TOO_LARGE',
      ...Array.from({ length: 5 }, () => 'SFSD_ERR_REQUEST_INVALID'),
      'exited 0',
    ]);
    t.equal(simulated.plane.live, 0);
  },
);

t.test('a caller that goes away, or ends its side, ends what runs for it', async (t) => {
  const simulated = rig();
  const { listening, stream } = await opened(t, simulated);
  const lost = stream.invoke({ id: 'lost', functionName: 'hello' });
  while (simulated.launcher.launches.length < 1) await new Promise(setImmediate);
  stream.close();
  await t.rejects(lost, { code: 'SFSD_ERR_DAEMON_UNREACHABLE' });
  while (simulated.plane.live > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const { socket, said } = await bare(t, listening.path, '{"id":"half","functionName":"hello"}\n');
  while (simulated.launcher.launches.length < 2) await new Promise(setImmediate);
  socket.end();
  t.strictSame(repliesIn(await said()), []);
  while (simulated.plane.live > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(simulated.plane.endedAs('api', 'half'), 'exited');
});

t.test('the server closes with a stream open, after the last result', async (t) => {
  const simulated = rig();
  const { listening, stream } = await opened(t, simulated);
  const result = stream.invoke({ id: 'last', functionName: 'hello' });
  while (simulated.launcher.launches.length < 1) await new Promise(setImmediate);
  const closed = listening.close();
  simulated.launcher.launches[0]?.finish();
  t.match(await result, { id: 'last' });
  await closed;
  await t.rejects(stream.invoke({ id: 'later', functionName: 'hello' }), {
    code: 'SFSD_ERR_DAEMON_UNREACHABLE',
  });
});

t.test('who may not operate is refused before any line is read, and no other path is upgraded', async (t) => {
  const simulated = rig();
  const listening = await serve(t, simulated);
  simulated.world.uid = 12_345;
  await t.rejects(InvocationStreamClient.open(listening.path), { code: 'SFSD_ERR_FORBIDDEN' });
  simulated.world.uid = 0;
  simulated.world.stopping = true;
  await t.rejects(InvocationStreamClient.open(listening.path), { code: 'SFSD_ERR_STOPPING' });
  await t.rejects(InvocationStreamClient.open('/nowhere/sfsd.sock'), { code: 'SFSD_ERR_DAEMON_UNREACHABLE' });
  simulated.world.stopping = false;
  const api = await Caller.connect(t, listening.path);
  t.match(await api.call('GET', '/v1/stream'), { status: 400, json: { code: 'SFSD_ERR_REQUEST_INVALID' } });
  const socket = createConnection(listening.path);
  t.teardown(() => socket.destroy());
  socket.write(`GET /v1/status HTTP/1.1\r\n${upgrade}\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1\.1 400 .*knows no upgrade/s);
});
