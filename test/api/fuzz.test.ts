/** Malformed bodies, seeded: none may be a 500, and none may leave anything behind. */
import t from 'tap';
import { Caller } from './caller.js';
import { rig, serve } from './simulated.js';

t.setTimeout(120_000);

const seed = Number(process.env.SFSD_SEED ?? 20_220_401);
const bodies = 2000;

/** mulberry32: small, seeded, good enough to choose inputs. */
function randomOf(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = randomOf(seed);
const below = (bound: number) => Math.floor(random() * bound);
function pick<Item>(items: readonly [Item, ...Item[]]): Item {
  return items[below(items.length)] ?? items[0];
}

const fieldNames = [
  'id',
  'source',
  'functionName',
  'policy',
  'weight',
  'expectedMs',
  'pid',
  'startTime',
  'tids',
  'cgroup',
  'command',
  'args',
  'env',
  'name',
  'timeoutMs',
  'constructor',
  'toString',
  '__proto__',
  '',
  '\u0000',
] as const;
const scalars = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  77,
  '',
  'a',
  '\ud800',
  '/a',
  '\u0000',
  'x'.repeat(5000),
] as const;

function anyValue(depth: number): unknown {
  if (depth === 0 || random() < 0.5) return pick(scalars);
  if (random() < 0.5) return Array.from({ length: below(6) }, () => anyValue(depth - 1));
  return anyObject(depth - 1);
}

function anyObject(depth: number): unknown {
  const names = Array.from({ length: below(6) }, () => pick(fieldNames));
  return Object.fromEntries(names.map((name) => [name, anyValue(depth)]));
}

/** A good item, mostly with one field spoilt, so that the deeper checks are reached too. */
function spoiltItem(): unknown {
  const good = { id: `i${below(20)}`, functionName: 'f', pid: 77, startTime: '1', tids: [1, 2] };
  return random() < 0.3 ? good : { ...good, [pick(fieldNames)]: anyValue(2) };
}

function brokenText(text: string): string {
  const at = below(text.length + 1);
  const kinds = [
    text.slice(0, at),
    `${text.slice(0, at)}${pick(['}', '"', '\u0000', '\\', ',', '[', '\ufeff', '1'])}${text.slice(at)}`,
    `${text}${text}`,
  ] as const;
  return pick(kinds);
}

function anyBody(): string {
  const value =
    random() < 0.6
      ? Array.from({ length: below(4) }, () => (random() < 0.8 ? spoiltItem() : anyValue(3)))
      : anyValue(4);
  const text = JSON.stringify(value) ?? 'undefined';
  return random() < 0.4 ? brokenText(text) : text;
}

t.test('2,000 malformed bodies are never a 500', async (t) => {
  t.comment(`SFSD_SEED=${seed}`);
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  simulated.launcher.ending = { stdout: 'x' };
  await api.call('PUT', '/v1/functions/f', { body: { command: 'x' } });
  const statuses = new Map<number, number>();
  for (let index = 0; index < bodies; index += 1) {
    const raw = anyBody();
    const [method, path] = pick([
      ['POST', '/v1/invocations'],
      ['POST', '/v1/invocations'],
      ['PUT', '/v1/functions/f'],
      ['POST', '/v1/functions/f/invocations?detail=true'],
      ['POST', '/v1/invocations/i1/end'],
    ] as const);
    const type = random() < 0.85 ? 'application/json' : pick(['text/plain', '\u00ff;', '']);
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
