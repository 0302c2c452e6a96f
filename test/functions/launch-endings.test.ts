/** Every way in which an instance ends, and that nothing of it is left. */
import t from 'tap';
import {
  eventually,
  heldBy,
  nothingHeld,
  processState,
  reasonOfFailure,
  requestOf,
  run,
  shell,
  startHost,
  textOf,
} from './support.js';

const host = await startHost();
t.teardown(() => host.close());

const seconds = (outcome: { readonly startedAt: number; readonly endedAt: number }) =>
  (outcome.endedAt - outcome.startedAt) / 1e6;

t.test('at its timeout a function gets SIGTERM', async (t) => {
  const spec = shell(host, 'trap "echo bye; exit 0" TERM; while :; do sleep 0.02; done', { timeoutMs: 150 });
  const { outcome } = await run(host, spec);
  t.same(outcome.exit, { kind: 'timeout' });
  t.equal(textOf(outcome.stdout), 'bye\n');
});

t.test('a function that ignores SIGTERM is killed after the grace, with all of its group', async (t) => {
  const spec = shell(host, 'trap "" TERM; sleep 30 & echo $!; while :; do sleep 30; done', {
    timeoutMs: 100,
  });
  const { outcome } = await run(host, spec);
  t.same(outcome.exit, { kind: 'timeout' });
  t.ok(seconds(outcome) >= 0.29 && seconds(outcome) < 2, `${seconds(outcome)} s`);
  const child = Number(textOf(outcome.stdout));
  t.ok(child > 0 && (await eventually(() => processState(child) === undefined)));
});

t.test('a timeout of 0 is none', async (t) => {
  const { outcome } = await run(host, shell(host, 'sleep 0.3; echo done', { timeoutMs: 0 }));
  t.equal(textOf(outcome.stdout), 'done\n');
});

t.test('the groups of functions that were killed do no harm to the next', async (t) => {
  const strays = '(setsid sleep 30 >/dev/null 2>&1 &); sleep 0.05';
  for (let i = 0; i < 3; i++) {
    t.equal((await run(host, shell(host, strays))).outcome.exit.kind, 'exited');
    t.equal((await run(host, shell(host, 'kill -9 $$'))).outcome.exit.kind, 'signalled');
    t.same((await run(host, shell(host, 'exit 0'))).outcome.exit, { kind: 'exited', code: 0 });
  }
});

t.test('a program that is not in place at its timeout is a launch that failed', async (t) => {
  const stuck = await startHost({ limits: { killGraceMs: 50 } });
  t.teardown(() => stuck.close());
  const spawner = stuck.spawner.pid ?? 0;
  process.kill(spawner, 'SIGSTOP');
  const reason = await reasonOfFailure(
    stuck.launcher.launch(shell(stuck, 'sleep 30', { timeoutMs: 50 }), requestOf()),
  );
  t.match(reason, /^SFSD_ERR_LAUNCH_FAILED .*not in place in time/);
  t.equal(stuck.launcher.running(), 1, 'what it holds is kept until the spawner answers');
  process.kill(spawner, 'SIGCONT');
  t.ok(await eventually(() => stuck.launcher.running() === 0));
  t.same(heldBy(stuck), nothingHeld);
  t.equal(stuck.plane.registered.length, 0);
});

t.test('a client that goes away ends its function', async (t) => {
  const client = new AbortController();
  const launched = await host.launcher.launch(shell(host, 'sleep 30'), requestOf({ signal: client.signal }));
  client.abort();
  const outcome = await launched.outcome;
  t.same(outcome.exit, { kind: 'cancelled' });
  t.equal(processState(launched.pid), undefined);
});

t.test('a client that goes away while the program is being started leaves nothing behind', async (t) => {
  const client = new AbortController();
  const launching = host.launcher.launch(shell(host, 'sleep 30'), requestOf({ signal: client.signal }));
  client.abort();
  const ending = await launching.then(
    async (launched) => (await launched.outcome).exit.kind,
    (error: { readonly code?: string }) => error.code,
  );
  t.ok(ending === 'cancelled' || ending === 'SFSD_ERR_LAUNCH_FAILED', String(ending));
  t.same(heldBy(host), nothingHeld);
});

t.test('cancel twice, and after the end, is cancel once', async (t) => {
  const launched = await host.launcher.launch(shell(host, 'sleep 30'), requestOf());
  launched.cancel();
  launched.cancel();
  t.same((await launched.outcome).exit, { kind: 'cancelled' });
  launched.cancel();
  t.same(heldBy(host), nothingHeld);
});

t.test(
  'a daemonised grandchild that holds the output neither delays the outcome nor outlives it',
  async (t) => {
    const spec = shell(host, '(setsid sh -c "echo \\$\\$; exec sleep 30" &); sleep 0.1; exit 0');
    const { outcome } = await run(host, spec);
    t.same(outcome.exit, { kind: 'exited', code: 0 });
    t.ok(host.clock.now() - outcome.endedAt < 1_000_000, 'the outcome is there soon after the exit');
    const grandchild = Number(textOf(outcome.stdout));
    t.ok(grandchild > 0);
    t.ok(await eventually(() => processState(grandchild) === undefined), 'killed, and reaped');
  },
);

t.test('a background child in the group ends with the function', async (t) => {
  const { outcome } = await run(host, shell(host, 'sleep 30 >/dev/null 2>&1 & echo $!'));
  const child = Number(textOf(outcome.stdout));
  t.ok(child > 0 && (await eventually(() => processState(child) === undefined)));
});

t.test('deleting a function lets its instance finish', async (t) => {
  const launched = await host.launcher.launch(shell(host, 'sleep 0.1; echo end'), requestOf());
  host.registry.delete('shell');
  t.equal(textOf((await launched.outcome).stdout), 'end\n');
});

t.test('stop refuses new work and ends all instances before its deadline', async (t) => {
  const other = await startHost({ limits: { killGraceMs: 10_000 } });
  t.teardown(() => other.close());
  const polite = await other.launcher.launch(shell(other, 'sleep 30'), requestOf());
  const deaf = await other.launcher.launch(
    shell(other, 'trap "" TERM; while :; do sleep 30; done'),
    requestOf(),
  );
  const before = performance.now();
  const stopping = other.launcher.stop(1000);
  await t.rejects(other.launcher.launch(shell(other, 'true'), requestOf()), { code: 'SFSD_ERR_STOPPING' });
  await stopping;
  t.ok(performance.now() - before < 1000);
  t.same((await polite.outcome).exit, { kind: 'cancelled' });
  t.same((await deaf.outcome).exit, { kind: 'cancelled' });
  t.same(heldBy(other), nothingHeld);
});
