/** Who may do what: each role against each route, and what is a client's own. */
import t from 'tap';
import type { Role } from '../../src/contracts/access.js';
import type { FunctionBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { daemonUid, type Rig, rig, serve } from './simulated.js';
import { accessConfig } from './simulated-world.js';

t.setTimeout(120_000);

const routes = [
  ['read', 'GET', '/v1/status'],
  ['read', 'GET', '/healthz'],
  ['read', 'GET', '/metrics'],
  ['read', 'GET', '/openapi.json'],
  ['read', 'GET', '/v1/functions'],
  ['read', 'GET', '/v1/functions/a'],
  ['read', 'GET', '/v1/invocations/a'],
  ['read', 'GET', '/v1/invocations/a/decisions'],
  ['submit', 'PUT', '/v1/functions/a'],
  ['submit', 'DELETE', '/v1/functions/a'],
  ['submit', 'POST', '/v1/functions/a/invocations'],
  ['submit', 'POST', '/v1/invocations'],
  ['submit', 'POST', '/v1/invocations/a/end'],
  ['submit', 'DELETE', '/v1/invocations/a'],
  ['submit', 'GET', '/v1/stream'],
] as const;
const roles: readonly Role[] = ['none', 'read', 'submit', 'operate'];

type Test = { teardown(release: () => unknown): void };
type Rules = Partial<Rig['ports']['config']['access']>;

/** A server with these rules, and a caller of this uid for each call. */
async function world(test: Test, access: Rules = {}) {
  const simulated = rig();
  const config = { ...simulated.ports.config, access: { ...accessConfig, ...access } };
  const { path } = await serve(test, { ...simulated, ports: { ...simulated.ports, config } });
  const as = async (uid: number, more: Partial<Rig['world']> = {}) => {
    Object.assign(simulated.world, {
      gid: uid,
      groups: [],
      confined: false,
      nestedPids: false,
      ...more,
      uid,
    });
    return Caller.connect(test, path, document);
  };
  const { document } = await (async () => {
    simulated.world.uid = daemonUid;
    return Caller.connect(test, path);
  })();
  return { simulated, as };
}

const submitters = {
  rules: [
    { role: 'submit', uid: 1001 },
    { role: 'submit', uid: 1002 },
  ],
} as const;
const hello = { body: { command: 'x', env: { KEY: 'secret' } } };

t.test(
  'every route names the role that it needs, and lesser ones are refused before a body is read',
  async (t) => {
    const { simulated, as } = await world(t, {
      rules: roles.map((role, rank) => ({ role, uid: 2000 + rank })),
    });
    const { document } = await as(0);
    const described = Object.values(document.paths).flatMap((operations) => Object.keys(operations));
    t.equal(described.length, routes.length);
    for (const [rank, role] of roles.entries()) {
      const api = await as(2000 + rank);
      for (const [needed, method, path] of routes) {
        const call = method === 'POST' || method === 'PUT' ? { raw: '{' } : {};
        const { status, json } = await api.call(method, path, call);
        if (roles.indexOf(role) >= roles.indexOf(needed)) t.not(status, 403, `${role}: ${method} ${path}`);
        else {
          t.equal(status, 403, `${role}: ${method} ${path}`);
          t.match(json, { code: 'SFSD_ERR_FORBIDDEN', message: `uid ${2000 + rank} has the role ${role}` });
        }
      }
    }
    t.equal(simulated.launcher.launches.length, 0);
  },
);

t.test('the highest of the rules that fit counts, and the default only where none fits', async (t) => {
  const { as } = await world(t, {
    defaultRole: 'read',
    rules: [
      { role: 'none', uid: 1 },
      { role: 'submit', gid: 50 },
      { role: 'operate', uid: 3, gid: 60 },
    ],
  });
  const status = async (uid: number, more: Partial<Rig['world']>, method: 'GET' | 'DELETE') =>
    (await (await as(uid, more)).call(method, '/v1/functions/a')).status;
  t.equal(await status(1, {}, 'GET'), 403);
  t.equal(await status(2, {}, 'GET'), 404);
  t.equal(await status(2, {}, 'DELETE'), 403);
  t.equal(await status(1, { gid: 50 }, 'DELETE'), 404, 'by its group');
  t.equal(await status(2, { groups: [7, 50] }, 'DELETE'), 404, 'by a supplementary group');
  t.equal(await status(3, {}, 'DELETE'), 403, 'both must fit');
  t.equal(await status(3, { groups: [60] }, 'DELETE'), 404);
});

t.test('root and the daemon\u2019s own uid operate, and functions run as who put them', async (t) => {
  for (const uid of [0, daemonUid]) {
    const { simulated, as } = await world(t);
    simulated.launcher.ending = {};
    const api = await as(uid, { gid: 1 });
    t.equal((await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } })).status, 201);
    t.equal((await api.call('POST', '/v1/functions/a/invocations')).status, 200);
    t.same(simulated.launcher.launches[0]?.request.credentials, { uid, gid: 1 });
  }
});

t.test(
  'a function process never operates, whatever its uid, and one of root\u2019s only reads',
  async (t) => {
    const { as } = await world(t, { rules: [{ role: 'operate', uid: 1001 }] });
    for (const uid of [0, daemonUid]) {
      const api = await as(uid, { confined: true });
      t.equal((await api.call('GET', '/v1/functions')).status, 200);
      const { status, json } = await api.call('PUT', '/v1/functions/a', hello);
      t.equal(status, 403);
      t.match(json, { message: new RegExp(`a function of uid ${uid} has the role read`) });
    }
    const other = await as(1001, { confined: true });
    t.equal((await other.call('PUT', '/v1/functions/a', hello)).status, 201, 'submits what is its own');
    const { status } = await other.call('PUT', '/v1/functions/b', { body: { command: 'x', uid: 0, gid: 0 } });
    t.equal(status, 403);
  },
);

t.test('a submit client uses, replaces and deletes its own functions only', async (t) => {
  const { simulated, as } = await world(t, submitters);
  simulated.launcher.ending = {};
  const owner = await as(1001);
  t.match((await owner.call('PUT', '/v1/functions/a', hello)).json, { uid: 1001, gid: 1001 });
  t.equal((await owner.call('POST', '/v1/functions/a/invocations')).status, 200);
  const other = await as(1002);
  for (const [method, path, call] of [
    ['PUT', '/v1/functions/a', hello],
    ['DELETE', '/v1/functions/a', {}],
    ['POST', '/v1/functions/a/invocations', {}],
  ] as const) {
    const { status, json } = await other.call(method, path, call);
    t.equal(status, 403, `${method} ${path}`);
    t.match(json, { code: 'SFSD_ERR_FORBIDDEN', message: /function a belongs to uid 1001/ });
  }
  t.equal(simulated.launcher.launches.length, 1);
  const seen = async (api: Caller) => ((await api.call('GET', '/v1/functions/a')).json as FunctionBody).env;
  t.same(await seen(other), { KEY: '(hidden)' });
  t.same(await seen(owner), { KEY: 'secret' });
  const list = (await other.call('GET', '/v1/functions')).json as FunctionBody[];
  t.same(list[0]?.env, { KEY: '(hidden)' });
  t.equal((await owner.call('DELETE', '/v1/functions/a')).status, 204);
});

t.test(
  'an operator invokes another\u2019s function as its owner, and replacing it keeps the owner',
  async (t) => {
    const { simulated, as } = await world(t, submitters);
    simulated.launcher.ending = {};
    await (await as(1001)).call('PUT', '/v1/functions/a', hello);
    const root = await as(0);
    t.match((await root.call('PUT', '/v1/functions/a', { body: { command: 'y' } })).json, {
      uid: 1001,
      gid: 1001,
    });
    await root.call('POST', '/v1/functions/a/invocations');
    t.same(simulated.launcher.launches[0]?.request.credentials, { uid: 1001, gid: 1001 });
    t.same((await root.call('GET', '/v1/functions/a')).json, {
      command: 'y',
      ...defaults,
      uid: 1001,
      gid: 1001,
    });
  },
);

const defaults = {
  name: 'a',
  args: [],
  env: {},
  workingDirectory: '/',
  timeoutMs: 30_000,
  concurrency: 8,
  outputMaxBytes: 1_000_000,
};

t.test('another user for a function needs operate, and its group is never guessed', async (t) => {
  const { as } = await world(t, submitters);
  const put = async (api: Caller, body: object) =>
    (await api.call('PUT', '/v1/functions/a', { body: { command: 'x', ...body } })).status;
  const client = await as(1001);
  t.equal(await put(client, { uid: 1002, gid: 1002 }), 403);
  t.equal(await put(client, { uid: 0, gid: 0 }), 403);
  t.equal(await put(client, { gid: 0 }), 403);
  t.equal(await put(client, { uid: 1002 }), 400);
  t.equal(await put(client, { uid: 1001 }), 201);
  const root = await as(0);
  t.equal(await put(root, { uid: 1002 }), 400);
  t.equal(await put(root, { uid: 1002, gid: 100 }), 200);
  t.equal((await (await as(1002)).call('DELETE', '/v1/functions/a')).status, 204, 'it is theirs now');
});

t.test(
  'a policy that the daemon would not choose itself needs operate; staying with CFS does not',
  async (t) => {
    const { simulated, as } = await world(t, submitters);
    Object.assign(simulated.plane, { defaultPolicy: 'cfs' });
    simulated.world.pids.set(80, { startTime: '1', uid: 1001 });
    const api = await as(1001);
    const body = (policy: string) => ({ body: { command: 'x', policy } });
    t.equal((await api.call('PUT', '/v1/functions/a', body('sfs'))).status, 403);
    t.equal((await api.call('PUT', '/v1/functions/a', body('cfs'))).status, 201);
    const headers = { 'sfsd-policy': 'sfs' };
    t.equal((await api.call('POST', '/v1/functions/a/invocations', { headers })).status, 403);
    const item = { id: 'i', functionName: 'f', pid: 80, policy: 'sfs' };
    const { json } = await api.call('POST', '/v1/invocations', { body: [item] });
    t.match(json, [{ code: 'SFSD_ERR_FORBIDDEN' }]);
    t.equal((await (await as(0)).call('PUT', '/v1/functions/b', body('sfs'))).status, 201);
  },
);

t.test('a submit client ends what is its own, and nothing of others', async (t) => {
  const { simulated, as } = await world(t, submitters);
  simulated.world.pids.set(80, { startTime: '1', uid: 1001 });
  const owner = await as(1001);
  const list = ['a', 'b'].map((id) => ({ id, functionName: 'f', pid: 80 }));
  await owner.call('POST', '/v1/invocations', { body: list });
  const other = await as(1002);
  for (const [method, path] of [
    ['POST', '/v1/invocations/a/end'],
    ['DELETE', '/v1/invocations/a'],
  ] as const) {
    const { status, json } = await other.call(method, path);
    t.equal(status, 403);
    t.match(json, { message: /invocation a belongs to uid 1001/ });
  }
  t.equal(simulated.plane.live, 2);
  t.equal((await owner.call('POST', '/v1/invocations/a/end')).status, 204);
  t.equal((await (await as(0)).call('DELETE', '/v1/invocations/b')).status, 204);
  t.equal(simulated.plane.live, 0);
});

t.test(
  'a run is cancelled and its result read by its owner and by operators, its story by all',
  async (t) => {
    const { simulated, as } = await world(t, submitters);
    const owner = await as(1001);
    await owner.call('PUT', '/v1/functions/a', hello);
    const headers = { 'sfsd-id': 'r' };
    await owner.call('POST', '/v1/functions/a/invocations?async=true', { headers });
    const other = await as(1002);
    t.equal((await other.call('DELETE', '/v1/invocations/r')).status, 403);
    simulated.launcher.launches[0]?.finish({ stdout: 'secret' });
    const has = async (api: Caller, path: string) =>
      Object.hasOwn((await api.call('GET', path)).json as object, 'result');
    const path = '/v1/invocations/r';
    t.equal(await has(owner, path), true);
    t.equal(await has(other, path), false);
    t.equal(await has(other, `${path}/decisions`), false);
    t.equal(await has(await as(0), path), true);
    simulated.plane.forget('api', 'r');
    t.equal(await has(owner, path), true, 'also once the plane has forgotten it');
    t.equal(await has(other, path), false);
  },
);

t.test('the peer is asked once for each connection', async (t) => {
  const simulated = rig();
  let asked = 0;
  const peerOf = () => {
    asked += 1;
    return { pid: 2, uid: 0, gid: 0, groups: [], confined: false, nestedPids: false };
  };
  const { path } = await serve(t, { ...simulated, ports: { ...simulated.ports, peerOf } });
  const api = await Caller.connect(t, path);
  for (const _ of [1, 2, 3]) await api.call('GET', '/v1/functions');
  t.equal(asked, 1);
  const other = await Caller.connect(t, path);
  await other.call('GET', '/v1/functions');
  t.equal(asked, 2);
});

t.test('a peer that the kernel does not name may do nothing', async (t) => {
  const { simulated, as } = await world(t);
  const api = await as(0, { peerFails: true });
  const { status, json } = await api.call('GET', '/v1/functions');
  t.equal(status, 500);
  t.match(json, { code: 'SFSD_ERR_KERNEL' });
  simulated.world.peerFails = false;
});
