/**
 * The guard, the journal and the lock on the whole daemon: what an operator sees of them, and what a crash of both leaves to the next start.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { startProgram } from '../cli/run-program.js';
import { DaemonUnderTest, projectRoot, sleep } from './daemon-under-test.js';
import { observeInRealTime, policyOf, startBounded } from './processes.js';

const burn = join(projectRoot, 'native/build/burn');
const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';
/** In FILTER for as long as a test looks at it, but for the budget's gaps. */
const long = ['scheduler.sliceFixedMs=8000'];

if (skip === false) observeInRealTime();
t.setTimeout(170_000);

t.test('status, metrics and the kernel show it; an end in order takes it along', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['guard.tasksMax=64']);
  const { guard, pid } = await daemon.status();
  t.match(guard, { state: 'watching', epoch: 0, tasks: 0, tasksMax: 64, stalls: 0, restarts: 0 });
  const guardPid = guard.pid ?? 0;
  t.equal(policyOf(guardPid), 'SCHED_FIFO');
  const fields = readFileSync(`/proc/${guardPid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  t.same(
    [fields[1], fields[3]],
    [String(pid), String(guardPid)],
    'a child of the daemon, in a session of its own',
  );
  t.match(readFileSync(`/proc/${guardPid}/status`, 'utf8'), /VmLck:\s+[1-9]/, 'its memory is locked');
  process.kill(guardPid, 'SIGTERM');
  const metrics = await daemon.get('/metrics');
  t.match(metrics.text, /^sfsd_guard_watching 1$/m);
  t.match(
    (await daemon.status()).guard,
    { state: 'watching', pid: guardPid },
    'what a supervisor sends to all it ignores',
  );
  const journal = guard.journal ?? '';
  t.ok(existsSync(journal));
  t.equal(await daemon.stop(), 0);
  t.notOk(existsSync(journal), 'no journal is left');
  t.equal(policyOf(guardPid), undefined, 'and no guard');
});

t.test(
  'a second daemon on the socket says who is there, and touches nothing of the first',
  { skip },
  async (t) => {
    const daemon = await DaemonUnderTest.start(long);
    t.teardown(() => daemon.stop());
    const spinner = await startBounded(20, [burn, '6000']);
    await register(daemon, spinner.pid);
    await realtime(spinner.pid);
    const pid = await daemon.pid();
    const argv = ['start', '--socket', daemon.socketPath];
    const second = await startProgram(argv, { limitMs: 60_000 }).ended;
    t.equal(second.code, 1);
    t.match(second.err, `SFSD_ERR_SECOND_INSTANCE: Another sfsd (pid ${pid}) runs on ${daemon.socketPath}.`);
    t.match((await daemon.status()).guard, { state: 'watching', epoch: 0, demoted: 0 });
    await realtime(spinner.pid);
    process.kill(spinner.pid, 'SIGKILL');
    await spinner.ended;
  },
);

t.test('daemon and guard killed at once: the next start demotes what they left', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-strays-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const daemon = await DaemonUnderTest.start(long, [], { folder });
  const spinner = await startBounded(60, [burn, '30000']);
  await register(daemon, spinner.pid);
  const { guard, pid } = await daemon.status();
  await realtime(spinner.pid);
  process.kill(guard.pid ?? 0, 'SIGKILL');
  process.kill(pid, 'SIGKILL');
  await daemon.abandon();
  const next = await DaemonUnderTest.start([], [], { folder });
  t.teardown(() => next.stop());
  t.equal(policyOf(spinner.pid), 'SCHED_OTHER', 'before the first request is accepted');
  t.match(next.log, '"event":"strays_demoted"');
  t.equal((await next.status()).live, 0, 'whoever knew it may register it anew');
  process.kill(spinner.pid, 'SIGKILL');
  await spinner.ended;
});

t.test('without a guard, as configured, functions are promoted all the same', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['guard.enabled=false']);
  t.teardown(() => daemon.stop());
  t.match((await daemon.status()).guard, { state: 'off', reason: 'guard.enabled is false' });
  await daemon.putBurn();
  const { decisions } = await daemon.invoke('burn', '100');
  t.ok(decisions.some(({ kind }) => kind === 'promoted'));
});

async function register(daemon: DaemonUnderTest, pid: number): Promise<void> {
  const list = [{ id: `p-${pid}`, functionName: 'other', pid }];
  const answer = await daemon.request('POST', '/v1/invocations', { json: list });
  if (answer.status !== 202) throw new Error(`POST /v1/invocations: ${answer.status} ${answer.text}`);
}

/** Sees it between two gaps of the budget. */
async function realtime(pid: number): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (policyOf(pid) === 'SCHED_FIFO') return;
    await sleep(5);
  }
  throw new Error(`${pid} is not in FILTER`);
}
