/** Asynchronous runs and the store: recorded before the 202, forgotten at their end, and told of as lost after a crash. */
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import type { ExplanationBody } from '../../src/contracts/http.js';
import type { LostInvocation } from '../../src/contracts/store.js';
import { instant } from '../../src/contracts/time.js';
import { Caller } from './caller.js';
import { type Rig, rig, serve } from './simulated.js';

const runs = '/v1/functions/hello/invocations';
const named = { headers: { 'sfsd-id': 'mine' } };

async function registered(test: { teardown(release: () => unknown): void }, simulated: Rig): Promise<Caller> {
  const api = await Caller.connect(test, (await serve(test, simulated)).path);
  await api.call('PUT', '/v1/functions/hello', { body: { command: '/bin/hello' } });
  return api;
}

/** As many turns of the event loop as a run takes to be put away. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

t.test('an asynchronous run is in the store from its 202 to its end, a synchronous one never', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  const { status } = await api.call('POST', `${runs}?async=true`, named);
  t.equal(status, 202);
  t.match(simulated.store.inFlight.get('api mine'), { functionName: 'hello', arrivedAt: 5_000_000 });
  simulated.launcher.launches[0]?.finish();
  await settled();
  t.equal(simulated.store.inFlight.size, 0);
  let recorded = 0;
  simulated.launcher.onLaunch = () => {
    recorded = simulated.store.inFlight.size;
  };
  simulated.launcher.ending = {};
  await api.call('POST', runs);
  t.equal(recorded, 0);
});

t.test('one that cannot be recorded is refused, and ended', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.store.failure = new SfsdError('SFSD_ERR_STORE_FAILED', { path: '/x', reason: 'disk full' });
  const refused = await api.call('POST', `${runs}?async=true`, named);
  t.equal(refused.status, 503);
  t.match(refused.json, { code: 'SFSD_ERR_STORE_FAILED' });
  t.equal(simulated.plane.endedAs('api', 'mine'), 'exited');
  t.equal(simulated.plane.live, 0);
  simulated.launcher.ending = {};
  t.equal((await api.call('POST', runs)).status, 200, 'synchronous runs need no store');
});

t.test('one that does not start leaves no record', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  simulated.launcher.failure = new SfsdError('SFSD_ERR_LAUNCH_FAILED', { name: 'hello', reason: 'ENOENT' });
  t.equal((await api.call('POST', `${runs}?async=true`, named)).status, 502);
  t.equal(simulated.store.inFlight.size, 0);
});

t.test('one that ends while the daemon stops stays recorded: its result goes with the daemon', async (t) => {
  const simulated = rig();
  const api = await registered(t, simulated);
  await api.call('POST', `${runs}?async=true`, named);
  simulated.world.stopping = true;
  simulated.launcher.launches[0]?.finish();
  await settled();
  t.equal(simulated.store.inFlight.size, 1);
});

function lost(id: string, fresh: boolean): LostInvocation {
  const [arrivedAt, lostAt] = [instant(1_000_000), instant(4_000_000)];
  return { source: 'api', id, functionName: 'hello', arrivedAt, lostAt, fresh };
}

t.test('a lost run is told of as one, until a run of the same name has its own result', async (t) => {
  const simulated = rig();
  simulated.store.lostInvocations = [lost('old', false), lost('mine', true)];
  const api = await registered(t, simulated);
  for (const id of ['old', 'mine']) {
    const { json } = await api.call('GET', `/v1/invocations/${id}`);
    t.match(json, {
      id,
      state: 'ended',
      functionName: 'hello',
      arrivedAtMs: 1000,
      result: { exit: 'lost', endedAtMs: 4000, turnaroundMs: 3000, stdoutBase64: '' },
    });
  }
  const why = await api.call('GET', '/v1/invocations/mine/decisions');
  t.same((why.json as ExplanationBody).decisions, []);
  simulated.launcher.ending = {};
  await api.call('POST', `${runs}?async=true`, named);
  await settled();
  t.match((await api.call('GET', '/v1/invocations/mine')).json, { result: { exit: 'exited 0' } });
});

t.test('those lost by the last daemon are counted, those of earlier ones were', async (t) => {
  const simulated = rig();
  simulated.store.lostInvocations = [lost('a', false), lost('b', true), lost('c', true)];
  const api = await registered(t, simulated);
  const text = (await api.call('GET', '/metrics')).bytes.toString();
  t.match(text, 'sfsd_invocations_total{function="hello",outcome="lost"} 2');
  t.match(text, 'sfsd_store_lost_invocations 2');
  t.match(text, 'sfsd_store_damaged 1');
});
