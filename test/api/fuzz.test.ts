/** Malformed bodies, seeded: none may be a 500, and none may leave anything behind. */
import t from 'tap';
import { Caller } from './caller.js';
import { Fuzz } from './fuzz-bodies.js';
import { rig, serve } from './simulated.js';

t.setTimeout(120_000);

const seed = Number(process.env.SFSD_SEED ?? 20_220_401);
const bodies = 2000;

const fuzz = new Fuzz(seed);

t.test('2,000 malformed bodies are never a 500', async (t) => {
  t.comment(`SFSD_SEED=${seed}`);
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  simulated.launcher.ending = { stdout: 'x' };
  await api.call('PUT', '/v1/functions/f', { body: { command: 'x' } });
  const statuses = new Map<number, number>();
  for (let index = 0; index < bodies; index += 1) {
    const raw = fuzz.body();
    const [method, path] = fuzz.pick([
      ['POST', '/v1/invocations'],
      ['POST', '/v1/invocations'],
      ['PUT', '/v1/functions/f'],
      ['POST', '/v1/functions/f/invocations?detail=true'],
      ['POST', '/v1/invocations/i1/end'],
    ] as const);
    const type = fuzz.chance(0.85) ? 'application/json' : fuzz.pick(['text/plain', '\u00ff;', '']);
    const { status, bytes } = await api.call(method, path, { raw, headers: { 'content-type': type } });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status >= 500) t.fail(`${method} ${path} ${JSON.stringify(raw)}: ${bytes.toString()}`);
  }
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort())));
  t.ok((statuses.get(202) ?? 0) > 20, 'some are good enough to be taken');
  t.ok((statuses.get(400) ?? 0) > 500, 'many are refused');
  t.equal(simulated.logged.filter((line) => Number(line.level) >= 50).length, 0);
  t.equal((await api.call('GET', '/healthz')).status, 200);
});
