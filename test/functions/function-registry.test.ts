/** Definitions are checked whole, registered within a bound, and counted while they run. */
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import type { FunctionRow, FunctionRows } from '../../src/contracts/store.js';
import { FunctionRegistry } from '../../src/functions/function-registry.js';
import { defineFunction } from '../../src/functions/function-spec.js';
import { NoStore } from '../../src/store/no-store.js';

const defaults = { timeoutMs: 1000, concurrency: 2, outputMaxBytes: 4096 };
const define = (definition: unknown, name = 'f') => defineFunction(name, definition, defaults);

t.test('absent fields get the defaults, and the spec is frozen', async (t) => {
  const spec = define({ command: '/bin/true' });
  t.same(spec, {
    name: 'f',
    command: '/bin/true',
    args: [],
    env: {},
    workingDirectory: '/',
    timeoutMs: 1000,
    concurrency: 2,
    outputMaxBytes: 4096,
  });
  t.ok(Object.isFrozen(spec) && Object.isFrozen(spec.args) && Object.isFrozen(spec.env));
});

t.test('all fields are taken as given', async (t) => {
  const whole = {
    name: 'f',
    command: 'burn',
    args: ['1', ''],
    env: { A: 'é' },
    workingDirectory: '/tmp',
    memoryMaxBytes: 1048576,
    pidsMax: 5,
    timeoutMs: 0,
    concurrency: 1,
    outputMaxBytes: 0,
    policy: 'cfs',
    sliceMaxMs: 12.5,
  };
  t.same(define(whole), whole);
});

t.test('every fault is listed at once', async (t) => {
  const definition = {
    name: 'other',
    command: 'a/b',
    args: ['x\0'],
    env: { 'A=': '1', B: 2 },
    workingDirectory: 'tmp',
    memoryMaxBytes: 10,
    pidsMax: 0,
    timeoutMs: -1,
    concurrency: 1.5,
    outputMaxBytes: 5000,
    policy: 'fifo',
    sliceMaxMs: 0.1,
    surprise: true,
  };
  const fields = [...Object.keys(definition), 'env "A="', 'env "B"'].filter((field) => field !== 'env');
  try {
    defineFunction('a b', definition, defaults);
    t.fail('it was taken');
  } catch (thrown) {
    const { message, code } = thrown as Error & { code: string };
    t.equal(code, 'SFSD_ERR_FUNCTION_INVALID');
    for (const field of fields) t.match(message, `${field}: `);
  }
});

t.test('odd definitions are refused', async (t) => {
  const odd = [
    null,
    [],
    'text',
    {},
    { command: '' },
    { command: 'x'.repeat(5000) },
    { command: 'lone \ud800 surrogate' },
    { command: 'x', args: Array.from({ length: 513 }, () => 'a') },
    { command: 'x', args: ['a'.repeat(100_000)] },
    { command: 'x', timeoutMs: 2 ** 31 },
    { command: 'x', env: 'PATH=/' },
  ];
  for (const definition of odd) t.throws(() => define(definition), { code: 'SFSD_ERR_FUNCTION_INVALID' });
  t.throws(() => define({ command: 'x' }, ''), { code: 'SFSD_ERR_FUNCTION_INVALID' });
  t.throws(() => define({ command: 'x' }, '../x'), { code: 'SFSD_ERR_FUNCTION_INVALID' });
});

t.test('the registry is bounded; replacing needs no room', async (t) => {
  const registry = new FunctionRegistry({
    registeredMax: 2,
    defaults,
    rows: new NoStore().functions,
    wallClock: () => 0,
  });
  t.equal((await registry.put('b', { command: 'x' })).created, true);
  t.equal((await registry.put('a', { command: 'x' })).created, true);
  await t.rejects(registry.put('c', { command: 'x' }), { code: 'SFSD_ERR_FUNCTIONS_FULL' });
  t.equal((await registry.put('a', { command: 'y' })).created, false);
  t.equal(registry.get('a')?.command, 'y');
  t.same(
    registry.list().map((spec) => spec.name),
    ['a', 'b'],
  );
  t.equal(await registry.delete('a'), true);
  t.equal(registry.get('a'), undefined);
  t.equal(await registry.delete('a'), false);
  t.equal(registry.size, 1);
});

t.test('slots are bounded for each function, and survive its deletion', async (t) => {
  const registry = new FunctionRegistry({
    registeredMax: 2,
    defaults,
    rows: new NoStore().functions,
    wallClock: () => 0,
  });
  const { spec } = await registry.put('a', { command: 'x' });
  const first = registry.slots.acquire(spec);
  registry.slots.acquire(spec);
  t.throws(() => registry.slots.acquire(spec), { code: 'SFSD_ERR_FUNCTION_BUSY' });
  await registry.delete('a');
  t.equal(registry.slots.running('a'), 2);
  first();
  first();
  t.equal(registry.slots.running('a'), 1, 'giving back twice gives back once');
  t.equal(registry.slots.total, 1);
});

/** Rows that a test lets through, or not. */
class GatedRows implements FunctionRows {
  readonly kept = new Map<string, FunctionRow>();
  readonly setAsideNames: string[] = [];
  gate: Promise<void> = Promise.resolve();

  async put(row: FunctionRow): Promise<void> {
    await this.gate;
    this.kept.set(row.name, row);
  }

  async delete(name: string): Promise<void> {
    await this.gate;
    this.kept.delete(name);
  }

  async setAside(name: string): Promise<void> {
    this.setAsideNames.push(name);
  }
}

function stored(name: string, definition: unknown): FunctionRow {
  const text = typeof definition === 'string' ? definition : JSON.stringify(definition);
  return { name, definition: text, createdAtUnixMs: 1 };
}

t.test('a function is registered once it is on the disk, and what it says there is all of it', async (t) => {
  const rows = new GatedRows();
  const registry = new FunctionRegistry({ registeredMax: 1, defaults, rows, wallClock: () => 42 });
  let open: () => void = () => {};
  rows.gate = new Promise((resolve) => {
    open = resolve;
  });
  const put = registry.put('a', { command: 'x' });
  await t.rejects(
    registry.put('b', { command: 'x' }),
    { code: 'SFSD_ERR_FUNCTIONS_FULL' },
    'its room is taken',
  );
  t.equal(registry.get('a'), undefined);
  open();
  const { spec } = await put;
  t.equal(registry.get('a'), spec);
  t.equal(rows.kept.get('a')?.createdAtUnixMs, 42);
  const again = new FunctionRegistry({ registeredMax: 1, defaults, rows, wallClock: () => 43 });
  t.same(again.load([...rows.kept.values()]), []);
  t.same(again.get('a'), spec);
});

t.test('what the disk refuses has not happened', async (t) => {
  const rows = new GatedRows();
  const registry = new FunctionRegistry({ registeredMax: 2, defaults, rows, wallClock: () => 0 });
  await registry.put('a', { command: 'x' });
  rows.gate = Promise.reject(new SfsdError('SFSD_ERR_STORE_FAILED', { path: 'p', reason: 'full' }));
  for (const refused of [
    () => registry.put('a', { command: 'y' }).then(() => {}),
    () => registry.put('b', { command: 'y' }).then(() => {}),
    () => registry.delete('a').then(() => {}),
  ]) {
    await t.rejects(refused, { code: 'SFSD_ERR_STORE_FAILED' });
  }
  t.equal(registry.get('a')?.command, 'x');
  t.equal(registry.size, 1);
  rows.gate = Promise.resolve();
  t.equal((await registry.put('b', { command: 'y' })).created, true, 'the room was given back');
});

t.test('a stored function that is not valid is set aside; the others are registered', async (t) => {
  const rows = new GatedRows();
  const registry = new FunctionRegistry({ registeredMax: 1, defaults, rows, wallClock: () => 0 });
  const unusable = registry.load([
    stored('not-json', '{"command":'),
    stored('nothing', null),
    stored('invalid', { command: '' }),
    stored('wide', { command: 'x', outputMaxBytes: defaults.outputMaxBytes + 1 }),
    stored('good', { command: 'x' }),
  ]);
  t.same(
    unusable.map(({ name }) => name),
    ['not-json', 'nothing', 'invalid'],
  );
  t.same(rows.setAsideNames, ['not-json', 'nothing', 'invalid']);
  t.match(unusable[2]?.reason, 'command: an absolute path');
  t.equal(registry.size, 2, 'also beyond a bound that was lowered');
  t.equal(registry.get('wide')?.outputMaxBytes, defaults.outputMaxBytes, 'a bound that was lowered holds');
});
