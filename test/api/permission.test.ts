/** Who may do what: the daemon's own uid and root everything, everybody else may look. */
import t from 'tap';
import { Caller } from './caller.js';
import { daemonUid, rig, serve } from './simulated.js';

t.setTimeout(120_000);

const guarded = [
  ['PUT', '/v1/functions/a'],
  ['GET', '/v1/functions'],
  ['GET', '/v1/functions/a'],
  ['DELETE', '/v1/functions/a'],
  ['POST', '/v1/functions/a/invocations'],
  ['POST', '/v1/invocations'],
  ['GET', '/v1/invocations/a'],
  ['GET', '/v1/invocations/a/decisions'],
  ['POST', '/v1/invocations/a/end'],
  ['DELETE', '/v1/invocations/a'],
  ['GET', '/v1/stream'],
] as const;
const open = ['/v1/status', '/healthz', '/metrics', '/openapi.json'];

t.test('every route is either guarded or open', async (t) => {
  const { document } = await Caller.connect(t, (await serve(t, rig())).path);
  const routes = Object.values(document.paths).flatMap((operations) => Object.keys(operations));
  t.equal(routes.length, guarded.length + open.length);
});

t.test('another uid is refused before its body is read, and may look at the rest', async (t) => {
  const simulated = rig();
  simulated.world.uid = 1001;
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  for (const [method, path] of guarded) {
    const call = method === 'GET' || method === 'DELETE' ? {} : { raw: '{' };
    const { status, json } = await api.call(method, path, call);
    t.equal(status, 403, `${method} ${path}`);
    t.match(json, { code: 'SFSD_ERR_FORBIDDEN', message: /uid 1001 .* uid 4242 and root/ });
  }
  for (const path of open) t.equal((await api.call('GET', path)).status, 200, path);
  t.equal(simulated.launcher.launches.length, 0);
});

t.test('root and the daemon\u2019s own uid are obeyed, and functions run as who asked', async (t) => {
  for (const uid of [0, daemonUid]) {
    const simulated = rig();
    simulated.world.uid = uid;
    simulated.launcher.ending = {};
    const api = await Caller.connect(t, (await serve(t, simulated)).path);
    t.equal((await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } })).status, 201);
    t.equal((await api.call('POST', '/v1/functions/a/invocations')).status, 200);
    t.same(simulated.launcher.launches[0]?.request.credentials, { uid, gid: 1 });
  }
});

t.test('the peer is asked once for each connection', async (t) => {
  const simulated = rig();
  let asked = 0;
  const ports = {
    ...simulated.ports,
    peerOf: () => {
      asked += 1;
      return { uid: 0, gid: 0 };
    },
  };
  const { path } = await serve(t, { ...simulated, ports });
  const api = await Caller.connect(t, path);
  for (const _ of [1, 2, 3]) await api.call('GET', '/v1/functions');
  t.equal(asked, 1);
  const other = await Caller.connect(t, path);
  await other.call('GET', '/v1/functions');
  t.equal(asked, 2);
});

t.test('a peer that the kernel does not name may do nothing guarded', async (t) => {
  const simulated = rig();
  simulated.world.peerFails = true;
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  const { status, json } = await api.call('GET', '/v1/functions');
  t.equal(status, 500);
  t.match(json, { code: 'SFSD_ERR_KERNEL' });
  t.equal((await api.call('GET', '/healthz')).status, 200);
});
