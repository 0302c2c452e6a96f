/** Definitions are checked whole, registered within a bound, and counted while they run. */
import t from 'tap';
import { FunctionRegistry } from '../../src/functions/function-registry.js';
import { defineFunction } from '../../src/functions/function-spec.js';

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
  const registry = new FunctionRegistry({ registeredMax: 2, defaults });
  t.equal(registry.put('b', { command: 'x' }).created, true);
  t.equal(registry.put('a', { command: 'x' }).created, true);
  t.throws(() => registry.put('c', { command: 'x' }), { code: 'SFSD_ERR_FUNCTIONS_FULL' });
  t.equal(registry.put('a', { command: 'y' }).created, false);
  t.equal(registry.get('a')?.command, 'y');
  t.same(
    registry.list().map((spec) => spec.name),
    ['a', 'b'],
  );
  t.equal(registry.delete('a'), true);
  t.equal(registry.get('a'), undefined);
  t.equal(registry.delete('a'), false);
  t.equal(registry.size, 1);
});

t.test('slots are bounded for each function, and survive its deletion', async (t) => {
  const registry = new FunctionRegistry({ registeredMax: 2, defaults });
  const { spec } = registry.put('a', { command: 'x' });
  const first = registry.slots.acquire(spec);
  registry.slots.acquire(spec);
  t.throws(() => registry.slots.acquire(spec), { code: 'SFSD_ERR_FUNCTION_BUSY' });
  registry.delete('a');
  t.equal(registry.slots.running('a'), 2);
  first();
  first();
  t.equal(registry.slots.running('a'), 1, 'giving back twice gives back once');
  t.equal(registry.slots.total, 1);
});
