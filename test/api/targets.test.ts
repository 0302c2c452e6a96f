/** What a registration may name: one test for each refusal. */
import t from 'tap';
import type { RegistrationBody } from '../../src/contracts/http.js';
import { Caller } from './caller.js';
import { type Rig, rig, serve } from './simulated.js';
import {
  accessConfig,
  helperPid,
  hiddenPid,
  kernelThreadPid,
  spawnerPid,
  type World,
} from './simulated-world.js';

t.setTimeout(120_000);

const clients = { submit: 1001, operate: 0 } as const;
const startTime = '9';

/** @returns the code that the registration of one target is refused with, or `accepted`. */
async function register(
  test: { teardown(release: () => unknown): void },
  role: keyof typeof clients,
  target: Partial<RegistrationBody>,
  change: (world: World) => void = () => {},
): Promise<{ readonly verdict: string; readonly message: string; readonly simulated: Rig }> {
  const simulated = rig();
  const access = {
    ...accessConfig,
    rules: [{ role: 'submit', uid: 1001 }],
    cgroups: ['/openfaas-fn', '/docker/ab'],
  } as const;
  const config = { ...simulated.ports.config, access };
  simulated.world.uid = clients[role];
  change(simulated.world);
  const { path } = await serve(test, { ...simulated, ports: { ...simulated.ports, config } });
  const api = await Caller.connect(test, path);
  const { json } = await api.call('POST', '/v1/invocations', {
    body: [{ id: 'i', functionName: 'f', ...target }],
  });
  const [entry] = json as readonly { readonly code?: string; readonly message?: string }[];
  const verdict = entry?.code ?? 'accepted';
  const registered = simulated.plane.registered.length;
  if (registered !== (verdict === 'accepted' ? 1 : 0) || simulated.plane.live !== registered)
    throw new Error(`${verdict}, but ${registered} registered`);
  return { verdict, message: entry?.message ?? '', simulated };
}

for (const role of ['submit', 'operate'] as const) {
  t.test(`${role}: pid 1 and a cgroup that holds it are refused`, async (t) => {
    for (const target of [{ pid: 1 }, { pid: 1, startTime }, { cgroup: '/init.scope' }])
      t.equal((await register(t, role, target)).verdict, 'SFSD_ERR_TARGET_INIT');
  });

  t.test(`${role}: kernel threads are refused`, async (t) => {
    const { verdict } = await register(t, role, { pid: kernelThreadPid });
    t.equal(verdict, 'SFSD_ERR_TARGET_KERNEL_THREAD');
  });

  t.test(`${role}: the daemon, its helpers and a cgroup that holds them are refused`, async (t) => {
    for (const target of [
      { pid: spawnerPid },
      { pid: spawnerPid, startTime },
      { pid: helperPid },
      { cgroup: '/system.slice' },
    ])
      t.equal((await register(t, role, target)).verdict, 'SFSD_ERR_TARGET_OURS');
  });

  t.test(`${role}: what the daemon may not look at is refused`, async (t) => {
    t.equal((await register(t, role, { pid: hiddenPid })).verdict, 'SFSD_ERR_TARGET_HIDDEN');
  });

  t.test(`${role}: no such process is refused`, async (t) => {
    t.equal((await register(t, role, { pid: 1234 })).verdict, 'SFSD_ERR_INVOCATION_GONE');
  });
}

t.test('a process whose start time differs is refused', async (t) => {
  const { verdict, message } = await register(t, 'submit', { pid: 77, startTime: '7701' });
  t.equal(verdict, 'SFSD_ERR_INVOCATION_GONE');
  t.match(message, /started at 7700, not at 7701/);
  t.equal((await register(t, 'submit', { pid: 77, startTime: '7700' })).verdict, 'accepted');
});

t.test('a submit client may not register a process of another uid, nor a set-uid program', async (t) => {
  const { verdict, message } = await register(t, 'submit', { pid: 77 }, ({ pids }) =>
    pids.set(77, { startTime: '7700', uid: 1002 }),
  );
  t.equal(verdict, 'SFSD_ERR_TARGET_FOREIGN');
  t.match(message, /uid 1001 may register .* process 77 is neither/);
  const mixed = await register(t, 'submit', { pid: 77 }, ({ pids }) => pids.set(77, { startTime: '7700' }));
  t.equal(mixed.verdict, 'SFSD_ERR_TARGET_FOREIGN', 'its uids differ');
});

t.test('any process inside an allowed cgroup may be registered, and none beside it', async (t) => {
  const inside = (cgroup: string) =>
    register(t, 'submit', { pid: 77 }, ({ pids }) =>
      pids.set(77, { startTime: '7700', uid: 1002, cgroups: ['/user.slice', cgroup] }),
    );
  for (const cgroup of ['/openfaas-fn', '/openfaas-fn/hello', '/docker/ab/c'])
    t.equal((await inside(cgroup)).verdict, 'accepted', cgroup);
  for (const cgroup of ['/openfaas-fn-2', '/docker', '/docker/a', '/x/openfaas-fn', '/'])
    t.equal((await inside(cgroup)).verdict, 'SFSD_ERR_TARGET_FOREIGN', cgroup);
});

t.test('a submit client may register allowed cgroups only', async (t) => {
  t.equal((await register(t, 'submit', { cgroup: '/openfaas-fn/hello' })).verdict, 'accepted');
  for (const cgroup of ['/user.slice', '/docker', '/openfaas-fn-2'])
    t.equal((await register(t, 'submit', { cgroup })).verdict, 'SFSD_ERR_TARGET_FOREIGN', cgroup);
});

t.test('an operator may register any other process and any other cgroup', async (t) => {
  for (const target of [{ pid: 77 }, { pid: 1234, startTime }, { cgroup: '/user.slice' }])
    t.equal((await register(t, 'operate', target)).verdict, 'accepted');
});

t.test('pids of a caller in another pid namespace are translated, or refused', async (t) => {
  const nest = (world: World) => {
    world.nestedPids = true;
    world.nested.set(7, 77).set(8, 78).set(1, 77);
  };
  for (const role of ['submit', 'operate'] as const) {
    const { verdict, simulated } = await register(t, role, { pid: 7, tids: [7, 8] }, nest);
    t.equal(verdict, 'accepted');
    t.match(simulated.plane.registered, [
      { group: { kind: 'threads', pid: 77, startTime: '7700', tids: [77, 78] } },
    ]);
    t.equal((await register(t, role, { pid: 1 }, nest)).verdict, 'accepted', 'the container\u2019s own init');
    const missing = await register(t, role, { pid: 5 }, nest);
    t.equal(missing.verdict, 'SFSD_ERR_PID_NAMESPACE');
    t.match(missing.message, /Pid 5 .* there is no such process/);
    const host = await register(t, role, { pid: 77, pidNamespace: 'host' }, nest);
    t.equal(host.verdict, 'accepted', 'the host\u2019s own number, when it says so');
    const init = await register(t, role, { pid: 1, pidNamespace: 'host' }, nest);
    t.equal(init.verdict, 'SFSD_ERR_TARGET_INIT');
  }
});
