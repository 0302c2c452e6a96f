/**
 * Functions that never yield, and whoever must not starve beside them: demoted on time on every core, the API answers, protected processes
 * run. Every spinner ends by itself.
 */
import { join } from 'node:path';
import t from 'tap';
import { DaemonUnderTest, projectRoot, sleep } from './daemon-under-test.js';
import { observeInRealTime, policiesOf, startBounded } from './processes.js';
import { standingOf } from './standing.js';

const burn = join(projectRoot, 'native/build/burn');
const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';
const sliceMs = 200;
const answerMaxMs = 1000;
/** In one busy period of the host's own that a slice may be late by. */
const lateMaxMs = 250;

t.setTimeout(120_000);
if (skip === false) observeInRealTime();

async function timed<Result>(work: () => Promise<Result>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

t.test('spinners of many threads are demoted on time, and the API answers meanwhile', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start([`scheduler.sliceFixedMs=${sliceMs}`]);
  t.teardown(() => daemon.stop());
  await daemon.putBurn();
  const spinners = await Promise.all([1, 2].map(() => startBounded(8, [burn, '4000', '--threads', '12'])));
  const json = spinners.map(({ pid }, index) => ({ id: `spin-${index}`, functionName: 'spin', pid }));
  await daemon.request('POST', '/v1/invocations', { json });
  let worstMs = 0;
  for (let asked = 0; asked < 20; asked += 1) {
    worstMs = Math.max(worstMs, await timed(() => daemon.get('/v1/status')));
    await sleep(25);
  }
  t.ok(worstMs < answerMaxMs, `the API answered within ${worstMs.toFixed(1)} ms`);
  const tookMs = await timed(async () => t.equal((await daemon.invoke('burn', '5')).exit, 'exited 0'));
  t.ok(tookMs < answerMaxMs, `a short function of 5 ms took ${tookMs.toFixed(1)} ms`);
  for (const { pid, process: child } of spinners) {
    t.ok(
      policiesOf(pid).every((policy) => policy === 'SCHED_OTHER'),
      'all threads are under the fair scheduler',
    );
    process.kill(pid, 'SIGKILL');
    child.kill('SIGKILL');
  }
  for (const { id } of json) {
    const { decisions } = JSON.parse((await daemon.get(`/v1/invocations/${id}/decisions`)).text);
    const demoted = decisions.find(({ kind }: { kind: string }) => kind === 'demoted');
    const promoted = decisions.find(({ kind }: { kind: string }) => kind === 'promoted');
    t.ok(demoted !== undefined, `${id} was demoted`);
    // Both cores work on one slice, and pauses and the other one's turn come on top.
    const afterMs = demoted?.atMs - promoted?.atMs;
    t.ok(afterMs < 2 * sliceMs + lateMaxMs, `after ${afterMs?.toFixed(1)} ms`);
    const usedMs = demoted?.cpuMs ?? 0;
    t.ok(usedMs > sliceMs * 0.9 && usedMs < sliceMs + 60, `having used ${usedMs} ms of CPU`);
  }
});

t.test('so they are where nothing may be real-time', { skip }, async (t) => {
  const settings = [`scheduler.sliceFixedMs=${sliceMs}`, 'priorities.mode=eevdf'];
  const daemon = await DaemonUnderTest.start(settings);
  t.teardown(() => daemon.stop());
  const spinner = await startBounded(8, [burn, '4000', '--threads', '24']);
  const json = [{ id: 'spin', functionName: 'spin', pid: spinner.pid }];
  await daemon.request('POST', '/v1/invocations', { json });
  let worstMs = 0;
  for (let asked = 0; asked < 20; asked += 1) {
    worstMs = Math.max(worstMs, await timed(() => daemon.get('/v1/status')));
    await sleep(25);
  }
  t.ok(worstMs < answerMaxMs, `the API answered within ${worstMs.toFixed(1)} ms`);
  for (let waited = 0; waited < 80 && standingOf(spinner.pid).includes('nice -15'); waited += 1)
    await sleep(25);
  t.match(standingOf(spinner.pid), /^OTHER nice 0/, 'demoted, and its weight is what it was');
  process.kill(spinner.pid, 'SIGKILL');
  await spinner.ended;
  const { decisions } = JSON.parse((await daemon.get('/v1/invocations/spin/decisions')).text);
  const demoted = decisions.find(({ kind }: { kind: string }) => kind === 'demoted');
  t.ok(demoted?.cpuMs > sliceMs * 0.9 && demoted?.cpuMs < sliceMs + 100, `after ${demoted?.cpuMs} ms of CPU`);
});

t.test('a maximum slice of its own ends a function early; policy cfs keeps it out', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start([`scheduler.sliceFixedMs=${sliceMs}`]);
  t.teardown(() => daemon.stop());
  await daemon.putBurn('bounded', { sliceMaxMs: 30 });
  await daemon.putBurn('out', { policy: 'cfs' });
  const { decisions } = await daemon.invoke('bounded', '120');
  const demoted = decisions.find(({ kind }) => kind === 'demoted');
  t.ok(
    demoted !== undefined && demoted.cpuMs > 28 && demoted.cpuMs < 60,
    `demoted after ${demoted?.cpuMs} ms of CPU`,
  );
  t.equal(demoted?.extra, 30_000, 'by a slice of 30 ms');
  const out = await daemon.invoke('out', '60');
  t.notOk(
    out.decisions.some(({ kind }) => kind === 'promoted'),
    'opted out',
  );
  const other = await startBounded(8, [burn, '400']);
  const json = [{ id: 'other', functionName: 'other', pid: other.pid, sliceMaxMs: 25 }];
  await daemon.request('POST', '/v1/invocations', { json });
  await other.ended;
  const why = JSON.parse((await daemon.get('/v1/invocations/other/decisions')).text);
  const ended = why.decisions.find(({ kind }: { kind: string }) => kind === 'demoted');
  t.equal(ended?.extra, 25_000, 'so for what others started');
});

t.test('protected processes run beside spinners, and are what they were afterwards', { skip }, async (t) => {
  const gateway = await startBounded(30, ['nice', '-n', '3', 'sh', '-c', 'while :; do sleep 0.02; done']);
  t.teardown(async () => {
    process.kill(gateway.pid, 'SIGKILL');
    await gateway.ended;
  });
  await sleep(100);
  const before = standingOf(gateway.pid);
  const rules = JSON.stringify([{ commandPattern: '^sh -c while :; do sleep 0\\.02; done$' }]);
  const daemon = await DaemonUnderTest.start([`protect.rules=${rules}`, 'protect.intervalMs=200']);
  t.teardown(() => daemon.stop());
  t.match(standingOf(gateway.pid), /^FIFO 10 reset/);
  const { protection } = await daemon.status();
  t.equal(protection.processes, 1);
  t.match((await daemon.get('/metrics')).text, /sfsd_protected_processes 1/);
  const late = await startBounded(10, ['sh', '-c', 'while :; do sleep 0.02; done']);
  for (let waited = 0; waited < 40 && standingOf(late.pid).startsWith('OTHER'); waited += 1) await sleep(25);
  t.match(standingOf(late.pid), /^FIFO 10/, 'one that starts later is found');
  process.kill(late.pid, 'SIGKILL');
  await late.ended;

  await daemon.putFunction('sh', { command: '/bin/sh', args: ['-c', 'while :; do sleep 0.02; done'] });
  const running = daemon.client();
  t.teardown(() => running.destroy());
  const call = running.request({ method: 'POST', path: '/v1/functions/sh/invocations' }).catch(() => {});
  await sleep(700);
  t.equal((await daemon.status()).protection.processes, 1, 'a function is never protected');

  const json = [{ id: 'gateway', functionName: 'gateway', pid: gateway.pid }];
  await daemon.request('POST', '/v1/invocations', { json });
  for (let looks = 0; looks < 40 && (await daemon.status()).targets.length === 0; looks += 1)
    await sleep(100);
  t.same((await daemon.status()).targets, [{ way: 'denied', reason: 'foreign', targets: 1 }]);
  t.match(standingOf(gateway.pid), /^FIFO 10/, 'nor is a protected process made a function');
  t.equal(await daemon.stop(), 0);
  await call;
  t.equal(standingOf(gateway.pid), before);
});
