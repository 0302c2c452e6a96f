/** How often one client may ask. */
import t from 'tap';
import { Bucket, Buckets } from '../../src/api/rate-limit.js';
import { instant } from '../../src/contracts/time.js';
import { Caller } from './caller.js';
import { rig, serve } from './simulated.js';
import { accessConfig } from './simulated-world.js';

t.setTimeout(120_000);

const limit = { requestsPerSecond: 10, requestsBurst: 3 };

t.test('a bucket gives a burst, then its rate, and never more than a burst after a pause', async (t) => {
  const bucket = new Bucket(limit);
  const at = (seconds: number) => bucket.take(instant(1e6 * (50 + seconds)));
  t.same([at(0), at(0), at(0)], [0, 0, 0]);
  t.equal(at(0), 0.1);
  t.equal(at(0.05), 0.05);
  t.equal(at(0.1), 0);
  t.ok(at(0.1) > 0);
  t.same([at(1000), at(1000), at(1000)], [0, 0, 0]);
  t.ok(at(1000) > 0);
});

t.test('the table of buckets is bounded and its oldest entry makes way', async (t) => {
  const buckets = new Buckets(limit);
  const first = buckets.of('uid 0');
  t.equal(buckets.of('uid 0'), first);
  for (let uid = 1; uid <= 10_000; uid += 1) buckets.of(`uid ${uid}`);
  t.equal(buckets.size, 4096);
  t.not(buckets.of('uid 0'), first);
});

t.test('a client that asks too often gets 429 before anything happens, and others do not', async (t) => {
  const simulated = rig();
  const access = {
    ...accessConfig,
    rules: [
      { role: 'submit', uid: 1001 },
      { role: 'submit', uid: 1002 },
    ],
    requestsPerSecond: 1,
    requestsBurst: 4,
  } as const;
  const config = { ...simulated.ports.config, access };
  const { path } = await serve(t, { ...simulated, ports: { ...simulated.ports, config } });
  simulated.world.uid = 1001;
  const api = await Caller.connect(t, path);
  const body = { command: 'x' };
  t.equal((await api.call('PUT', '/v1/functions/a', { body })).status, 201);
  t.equal((await api.undocumented('GET', '/none')).status, 404, 'what is not there counts, too');
  const again = await Caller.connect(t, path, api.document);
  t.equal((await again.call('DELETE', '/v1/functions/a')).status, 204);
  const { status, json, headers } = await again.call('PUT', '/v1/functions/b', { body });
  t.equal(status, 429);
  t.match(json, { code: 'SFSD_ERR_RATE_LIMITED', message: /^uid 1001 sends more than 1 requests/ });
  t.equal(headers['retry-after'], '1');
  t.equal(simulated.functions.get('b'), undefined);
  simulated.world.uid = 1002;
  const other = await Caller.connect(t, path, api.document);
  t.equal((await other.call('PUT', '/v1/functions/b', { body })).status, 201);
  simulated.plane.advance(1000);
  t.equal((await again.call('GET', '/healthz')).status, 200);
  t.equal((await again.call('GET', '/healthz')).status, 429);
});

t.test('an operator is not limited', async (t) => {
  const simulated = rig();
  const config = { ...simulated.ports.config, access: { ...accessConfig, requestsBurst: 1 } };
  const { path } = await serve(t, { ...simulated, ports: { ...simulated.ports, config } });
  const api = await Caller.connect(t, path);
  for (const _ of [1, 2, 3, 4]) t.equal((await api.call('GET', '/healthz')).status, 200);
});
