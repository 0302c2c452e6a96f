/** What policy gittins is told: weights, expectations, and who may push ahead. */

import t from 'tap';
import { fromMs } from '../../src/contracts/time.js';
import { Caller } from './caller.js';
import { rig, serve } from './simulated.js';
import { accessConfig } from './simulated-world.js';

t.setTimeout(120_000);

async function world(test: { teardown(release: () => unknown): void }, uid: number) {
  const simulated = rig();
  const access = { ...accessConfig, rules: [{ role: 'submit', uid: 1001 }] } as const;
  const config = { ...simulated.ports.config, access };
  Object.assign(simulated.world, { uid, gid: uid });
  const { path } = await serve(test, { ...simulated, ports: { ...simulated.ports, config } });
  return { simulated, api: await Caller.connect(test, path) };
}

t.test('anybody may give a function less weight, only an operator more', async (t) => {
  const put = async (uid: number, weight: number) => {
    const { api } = await world(t, uid);
    return (await api.call('PUT', '/v1/functions/a', { body: { command: 'x', weight } })).status;
  };
  t.equal(await put(1001, 0.5), 201);
  t.equal(await put(1001, 2), 403);
  t.equal(await put(0, 2), 201);
  t.equal(await put(0, 1000), 400);
});

t.test('a registration of too much weight is refused alone', async (t) => {
  const { api, simulated } = await world(t, 1001);
  const item = { functionName: 'f', cgroup: '/nobody' };
  const { json } = await api.call('POST', '/v1/invocations', { body: [{ ...item, id: 'a', weight: 5 }] });
  t.match(json, [{ code: 'SFSD_ERR_FORBIDDEN' }]);
  t.equal(simulated.plane.registered.length, 0);
});

t.test('an expectation reaches the launch, from a header and a line of a stream', async (t) => {
  const { api, simulated } = await world(t, 0);
  simulated.launcher.ending = {};
  await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } });
  const headers = { 'sfsd-expected-ms': '12.5' };
  t.equal((await api.call('POST', '/v1/functions/a/invocations', { body: '', headers })).status, 200);
  t.equal(simulated.launcher.launches[0]?.request.expected, fromMs(12.5));
  const wrong = { 'sfsd-expected-ms': 'soon' };
  t.equal((await api.call('POST', '/v1/functions/a/invocations', { body: '', headers: wrong })).status, 400);
});

t.test('a policy that the scheduler does not have is refused, for operators too', async (t) => {
  const { api, simulated } = await world(t, 0);
  await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } });
  const headers = { 'sfsd-policy': 'gittins' };
  const { status, json } = await api.call('POST', '/v1/functions/a/invocations', { body: '', headers });
  t.equal(status, 400);
  t.match(json, { code: 'SFSD_ERR_REQUEST_INVALID', message: /gittins needs another scheduler.policy/ });
  t.equal(simulated.launcher.launches.length, 0);
});
