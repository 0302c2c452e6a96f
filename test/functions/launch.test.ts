/** A launch end to end: program, body, output, exit, accounting. */
import t from 'tap';
import {
  burn,
  burnPath,
  heldBy,
  nothingHeld,
  register,
  requestOf,
  run,
  shell,
  startHost,
  textOf,
} from './support.js';

const host = await startHost();
t.teardown(() => host.close());

t.test('a program gets its body and its standard output is the result', async (t) => {
  const body = Buffer.from('hello');
  const { launched, outcome } = await run(host, shell(host, 'cat; echo oops >&2; exit 3'), { body });
  t.same(outcome.exit, { kind: 'exited', code: 3 });
  t.equal(textOf(outcome.stdout), 'hello');
  t.equal(textOf(outcome.stderr), 'oops\n');
  t.equal(outcome.truncated, false);
  t.ok(outcome.arrivedAt <= outcome.startedAt && outcome.startedAt <= outcome.endedAt);
  t.match(host.plane.registered.at(-1), {
    source: 'function',
    functionName: 'shell',
    group: { kind: 'process', pid: launched.pid, startTime: launched.startTime },
  });
  t.same(host.plane.ended.at(-1), { key: launched.key, reason: 'exited' });
  t.same(heldBy(host), nothingHeld);
});

t.test('CPU time and context switches are recorded', async (t) => {
  const { outcome } = await run(host, burn(host, '50', '--sleep-ms', '5', '--at-ms', '10'));
  t.ok(outcome.cpuMs >= 50 && outcome.cpuMs <= 60, `${outcome.cpuMs} ms`);
  t.ok(outcome.voluntarySwitches >= 1, 'the sleep is a voluntary switch');
  t.ok(outcome.rssMaxBytes > 0);
});

t.test('one registered burn serves every demand through its body', async (t) => {
  const spec = register(host, 'burn', { command: burnPath, args: ['--stdin'] });
  const { outcome } = await run(host, spec, { body: Buffer.from('20 --threads 2\n') });
  t.ok(outcome.cpuMs >= 20 && outcome.cpuMs <= 30, `${outcome.cpuMs} ms`);
  t.match(JSON.parse(textOf(outcome.stdout)), { cpuMs: Number, startedAtUs: Number });
});

t.test('a child of the program counts too, once it is waited for', async (t) => {
  const { outcome } = await run(host, burn(host, '30', '--fork'));
  t.ok(outcome.cpuMs >= 30 && outcome.cpuMs <= 40, `${outcome.cpuMs} ms`);
});

t.test('without real-time priorities it is the same', async (t) => {
  const other = await startHost({ priority: 0 });
  t.teardown(() => other.close());
  const { outcome } = await run(other, burn(other, '5'));
  t.same(outcome.exit, { kind: 'exited', code: 0 });
});

t.test('a signal that ends the program is named', async (t) => {
  const { outcome } = await run(host, shell(host, 'kill -9 $$'));
  t.same(outcome.exit, { kind: 'signalled', signal: 'SIGKILL' });
});

t.test('what the plane refuses is ended, and everything given back', async (t) => {
  const spec = shell(host, 'sleep 1');
  const first = await host.launcher.launch(spec, requestOf({ id: 'twice' }));
  await t.rejects(host.launcher.launch(spec, requestOf({ id: 'twice' })), {
    code: 'SFSD_ERR_INVOCATION_DUPLICATE',
  });
  first.cancel();
  t.same((await first.outcome).exit, { kind: 'cancelled' });
  t.same(heldBy(host), nothingHeld);
});
