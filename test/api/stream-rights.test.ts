/** A stream of invocations asks for the same rights, line by line, as a request for each would. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import t, { type Test } from 'tap';
import { createServer } from '../../src/api/server.js';
import { listenTcp } from '../../src/api/tcp.js';
import { TokenTable } from '../../src/api/token-table.js';
import { InvocationStreamClient } from '../../src/cli/invocation-stream.js';
import { Caller } from './caller.js';
import { rig, serve } from './simulated.js';
import { accessConfig } from './simulated-world.js';

t.setTimeout(120_000);

const submitters = [
  { role: 'submit', uid: 1001 },
  { role: 'submit', uid: 1002 },
] as const;

/** Functions `own` of uid 1001 and `other` of uid 1002; `open` is a stream of uid 1001. */
async function world(t: Test, limits: { requestsPerSecond?: number; requestsBurst?: number } = {}) {
  const simulated = rig();
  simulated.launcher.ending = {};
  const access = { ...accessConfig, rules: submitters, ...limits };
  const config = { ...simulated.ports.config, access };
  const { path } = await serve(t, { ...simulated, ports: { ...simulated.ports, config } });
  for (const [name, uid] of [
    ['other', 1002],
    ['own', 1001],
  ] as const) {
    Object.assign(simulated.world, { uid, gid: uid });
    const api = await Caller.connect(t, path);
    await api.call('PUT', `/v1/functions/${name}`, { body: { command: 'x' } });
  }
  const open = async () => {
    const stream = await InvocationStreamClient.open(path);
    t.teardown(() => stream.close());
    return stream;
  };
  return { simulated, open };
}

t.test(
  'a line for another one\u2019s function is refused and starts nothing; the next one runs',
  async (t) => {
    const { simulated, open } = await world(t);
    const stream = await open();
    await t.rejects(stream.invoke({ id: 'a', functionName: 'other' }), { code: 'SFSD_ERR_FORBIDDEN' });
    t.equal(simulated.launcher.launches.length, 0);
    t.match(await stream.invoke({ id: 'b', functionName: 'own' }), { exit: 'exited 0' });
    t.same(simulated.launcher.launches[0]?.request.credentials, { uid: 1001, gid: 1001 });
  },
);

t.test('each line counts against the client\u2019s rate', async (t) => {
  const { simulated, open } = await world(t, { requestsPerSecond: 1, requestsBurst: 5 });
  // Its PUT, the description that the caller reads, and the upgrade have spent three.
  const stream = await open();
  const answers = await Promise.allSettled(
    ['a', 'b', 'c', 'd'].map((id) => stream.invoke({ id, functionName: 'own' })),
  );
  t.same(
    answers.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  );
  const refused = answers.find(({ status }) => status === 'rejected');
  t.match(refused, { reason: { code: 'SFSD_ERR_RATE_LIMITED' } });
  t.equal(simulated.launcher.launches.length, 2);
});

t.test('over TCP the upgrade needs a token, and its role', async (t) => {
  const simulated = rig();
  const secret = (name: string) => `${name}-0123456789abcdef0123456789abcdef`;
  const tokens = new TokenTable([
    { name: 'reader', role: 'read', secret: secret('reader'), credentials: { uid: -1, gid: -1 } },
    { name: 'gateway', role: 'submit', secret: secret('gateway'), credentials: { uid: 1001, gid: 1001 } },
  ]);
  const app = createServer({ ...simulated.ports, tokens });
  await app.ready();
  const listening = await listenTcp(app, { host: '127.0.0.1', port: 0 });
  t.teardown(() => Promise.all([app.close(), listening.close()]));
  const answerTo = async (authorization: string) => {
    const socket = createConnection(listening.port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.write(
      `GET /v1/stream HTTP/1.1\r\nconnection: upgrade\r\nupgrade: sfsd-invocations\r\n${authorization}\r\n`,
    );
    const [chunk] = (await once(socket.setEncoding('latin1'), 'data')) as [string];
    return chunk.split(' ')[1];
  };
  t.equal(await answerTo(''), '401');
  t.equal(await answerTo('authorization: Bearer guessed\r\n'), '401');
  t.equal(await answerTo(`authorization: Bearer ${secret('reader')}\r\n`), '403');
  t.equal(await answerTo(`authorization: Bearer ${secret('gateway')}\r\n`), '101');
});
