/** The second way in: tokens, and nothing without one. */
import { createServer as createPlain } from 'node:net';
import t from 'tap';
import { Client } from 'undici';
import { createServer } from '../../src/api/server.js';
import { listenTcp } from '../../src/api/tcp.js';
import { TokenTable } from '../../src/api/token-table.js';
import { type Rig, rig } from './simulated.js';
import { accessConfig } from './simulated-world.js';

t.setTimeout(120_000);

const secrets = {
  reader: 'reader-0123456789abcdef0123456789abcdef',
  gateway: 'gateway-0123456789abcdef0123456789abcdef',
  operator: 'operator-0123456789abcdef0123456789abcdef',
};
const tokens = new TokenTable([
  { name: 'reader', role: 'read', secret: secrets.reader, credentials: { uid: -1, gid: -1 } },
  { name: 'gateway', role: 'submit', secret: secrets.gateway, credentials: { uid: 1001, gid: 1001 } },
  { name: 'operator', role: 'operate', secret: secrets.operator, credentials: { uid: 0, gid: 0 } },
]);

async function overTcp(
  test: { teardown(release: () => unknown): void },
  simulated: Rig,
  access = accessConfig,
) {
  const config = { ...simulated.ports.config, access };
  const app = createServer({ ...simulated.ports, tokens, config });
  await app.ready();
  const listening = await listenTcp(app, { host: '127.0.0.1', port: 0 });
  test.teardown(async () => {
    await Promise.all([app.close(), listening.close()]);
  });
  const client = new Client(`http://127.0.0.1:${listening.port}`);
  test.teardown(() => client.destroy());
  const call = async (
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    authorization: string | undefined,
    body?: object,
  ) => {
    const {
      statusCode,
      headers,
      body: answer,
    } = await client.request({
      method,
      path,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: statusCode, headers, json: text === '' ? undefined : (JSON.parse(text) as unknown) };
  };
  return { call, listening, app };
}

t.test('without a valid token nothing is answered but 401, health neither', async (t) => {
  const simulated = rig();
  const { call } = await overTcp(t, simulated);
  for (const authorization of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${secrets.gateway}x`,
    `Bearer ${secrets.gateway.slice(0, -1)}`,
    `Basic ${secrets.gateway}`,
    secrets.gateway,
    `Bearer ${secrets.gateway} ${secrets.operator}`,
  ]) {
    for (const path of ['/healthz', '/v1/functions', '/none']) {
      const { status, json, headers } = await call('GET', path, authorization);
      t.equal(status, 401, `${authorization} ${path}`);
      t.match(json, { code: 'SFSD_ERR_UNAUTHENTICATED' });
      t.match(headers['www-authenticate'], /^Bearer/);
    }
  }
  t.equal(JSON.stringify(simulated.logged).includes(secrets.gateway), false, 'tokens are not logged');
});

t.test('each request has the role of its own token, on one connection', async (t) => {
  const simulated = rig();
  simulated.launcher.ending = {};
  const { call } = await overTcp(t, simulated);
  const body = { command: 'x' };
  t.equal((await call('GET', '/v1/functions', `Bearer ${secrets.reader}`)).status, 200);
  const refused = await call('PUT', '/v1/functions/a', `Bearer ${secrets.reader}`, body);
  t.equal(refused.status, 403);
  t.match(refused.json, { message: /token reader has the role read, and this needs submit/ });
  const put = await call('PUT', '/v1/functions/a', `bearer  ${secrets.gateway} `, body);
  t.equal(put.status, 201);
  t.match(put.json, { uid: 1001, gid: 1001 });
  t.equal(
    (await call('POST', '/v1/functions/a/invocations?detail=true', `Bearer ${secrets.gateway}`)).status,
    200,
  );
  t.same(simulated.launcher.launches[0]?.request.credentials, { uid: 1001, gid: 1001 });
  t.equal((await call('DELETE', '/v1/functions/a', `Bearer ${secrets.operator}`)).status, 204);
  t.equal((await call('GET', '/v1/functions', undefined)).status, 401, 'the connection itself is nobody');
});

t.test('guesses share one bucket, and do not keep those with a token out', async (t) => {
  const { call } = await overTcp(t, rig(), { ...accessConfig, requestsPerSecond: 1, requestsBurst: 5 });
  const statuses: number[] = [];
  for (let guess = 0; guess < 8; guess += 1)
    statuses.push((await call('GET', '/healthz', `Bearer guess-${guess}`)).status);
  t.same(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
  t.equal((await call('GET', '/healthz', `Bearer ${secrets.reader}`)).status, 200);
});

t.test('an address that is taken is refused with what to look at', async (t) => {
  const other = createPlain();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const { port } = other.address() as { readonly port: number };
  const app = createServer(rig().ports);
  t.teardown(() => app.close());
  await t.rejects(listenTcp(app, { host: '127.0.0.1', port }), {
    code: 'SFSD_ERR_TCP',
    message: /EADDRINUSE/,
  });
});

t.test('closing answers what is under way and lets no new connection in', async (t) => {
  const simulated = rig();
  const { call, listening, app } = await overTcp(t, simulated);
  await call('PUT', '/v1/functions/a', `Bearer ${secrets.gateway}`, { command: 'x' });
  const answer = call('POST', '/v1/functions/a/invocations?detail=true', `Bearer ${secrets.gateway}`);
  const launched = new Promise<void>((resolve) => {
    simulated.launcher.onLaunch = () => resolve();
  });
  await launched;
  const closed = Promise.all([app.close(), listening.close()]);
  simulated.launcher.launches[0]?.finish();
  t.equal((await answer).status, 200);
  await closed;
  await t.rejects(call('GET', '/healthz', `Bearer ${secrets.reader}`));
});
