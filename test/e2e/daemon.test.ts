/**
 * The whole daemon on the real kernel: what a caller, an operator and the kernel see.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { AcceptedBody, ErrorBody, ExplanationBody, InvocationBody } from '../../src/contracts/http.js';
import { DaemonUnderTest, projectRoot, sleep } from './daemon-under-test.js';
import { observeInRealTime, policiesOf, policyOf, startBounded } from './processes.js';

const burn = join(projectRoot, 'native/build/burn');
const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';

if (skip === false) observeInRealTime();

t.test('a short function runs to its end in FILTER; a long one is demoted at S', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=30']);
  t.teardown(() => daemon.stop());
  await daemon.putBurn();
  const short = await daemon.invoke('burn', '10');
  t.strictSame(
    short.decisions.map((decision) => decision.kind),
    ['arrived', 'promoted', 'ended'],
  );
  const long = await daemon.invoke('burn', '120');
  t.strictSame(
    long.decisions.map((decision) => decision.kind),
    ['arrived', 'promoted', 'demoted', 'ended'],
  );
  const demoted = long.decisions.find((decision) => decision.kind === 'demoted');
  t.ok(
    demoted !== undefined && demoted.cpuMs > 28 && demoted.cpuMs < 60,
    `demoted at ${demoted?.cpuMs} ms of CPU`,
  );
  t.ok(long.cpuMs >= 119 && long.cpuMs < 150, `CPU time recorded: ${long.cpuMs} ms`);
});

t.test('a process that others started is promoted, demoted at S, and lives on', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=300']);
  t.teardown(() => daemon.stop());
  const spinner = await startBounded(5, [burn, '1500']);
  const [accepted] = await register(daemon, [{ id: 'ext-1', functionName: 'other', pid: spinner.pid }]);
  t.match(accepted, { id: 'ext-1', source: 'api' });
  // Before the budget's first pause, which comes after 93 ms.
  await sleep(50);
  t.equal(policyOf(spinner.pid), 'SCHED_FIFO', 'in FILTER');
  const status = await daemon.status();
  t.ok(
    status.workers.some((worker) => worker.invocation?.id === 'ext-1'),
    'status names it',
  );
  await sleep(450);
  t.equal(policyOf(spinner.pid), 'SCHED_OTHER', 'out of FILTER after its slice');
  await spinner.ended;
  await sleep(60);
  const why = JSON.parse((await daemon.get('/v1/invocations/ext-1/decisions')).text) as ExplanationBody;
  t.equal(why.state, 'ended');
  t.ok(why.decisions.some((decision) => decision.kind === 'demoted'));
});

t.test('all threads of a process are promoted together, and those born later too', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=1000', 'scheduler.workers=1']);
  t.teardown(() => daemon.stop());
  const threads = await startBounded(5, [burn, '1500', '--threads', '3']);
  await register(daemon, [{ id: 'many', functionName: 'other', pid: threads.pid }]);
  await sleep(80);
  t.ok(
    policiesOf(threads.pid).every((policy) => policy === 'SCHED_RR' || policy === 'SCHED_FIFO'),
    `real-time: ${policiesOf(threads.pid).join(' ')}`,
  );
  const ended = await daemon.request('DELETE', '/v1/invocations/many');
  t.equal(ended.status, 204);
  await sleep(50);
  t.ok(
    policiesOf(threads.pid).every((policy) => policy === 'SCHED_OTHER'),
    'no longer managed: all demoted, and alive',
  );
  threads.process.kill('SIGKILL');
  process.kill(threads.pid, 'SIGKILL');
  await threads.ended;
});

t.test('a function that sleeps gives its worker away and comes back with its slice', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=200']);
  t.teardown(() => daemon.stop());
  await daemon.putBurn();
  const result = await daemon.invoke('burn', '40 --sleep-ms 60 --at-ms 20');
  const kinds = result.decisions.map((decision) => decision.kind);
  t.ok(kinds.includes('blocked') && kinds.includes('woken'), kinds.join(' '));
  t.notOk(kinds.includes('demoted'), 'its slice was enough');
});

t.test('SIGTERM demotes what others started, refuses new work and ends within 5 s', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=1000']);
  await daemon.putBurn();
  await daemon.putFunction('stubborn', { command: '/bin/sh', args: ['-c', 'trap "" TERM; sleep 30'] });
  const spinner = await startBounded(8, [burn, '6000']);
  await register(daemon, [{ id: 'ext', functionName: 'other', pid: spinner.pid }]);
  const running = daemon
    .request('POST', '/v1/functions/stubborn/invocations')
    .catch((error: Error) => error.message);
  const slow = daemon.client();
  t.teardown(() => slow.destroy());
  const finishing = slow.request({ method: 'POST', path: '/v1/functions/burn/invocations', body: '400' });
  await sleep(150);
  t.equal(policyOf(spinner.pid), 'SCHED_FIFO');
  const began = Date.now();
  const stopping = daemon.stop();
  await sleep(250);
  t.equal(policyOf(spinner.pid), 'SCHED_OTHER', 'demoted at once');
  t.equal((await finishing).statusCode, 200, 'a running function finishes');
  t.equal(await stopping, 0);
  t.ok(Date.now() - began < 5000, `ended after ${Date.now() - began} ms`);
  await running;
  t.equal(policyOf(spinner.pid), 'SCHED_OTHER', 'the process of others lives on');
  process.kill(spinner.pid, 'SIGKILL');
  await spinner.ended;
  t.notOk(existsSync(daemon.socketPath), 'the socket is gone');
});

t.test('a full daemon answers 429 with Retry-After and starts nothing', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['scheduler.liveMax=1']);
  t.teardown(() => daemon.stop());
  await daemon.putFunction('sleeper', { command: '/bin/sleep', args: ['1'] });
  const marker = join(t.testdir(), 'started');
  await daemon.putFunction('marker', { command: '/usr/bin/touch', args: [marker] });
  const first = await daemon.request('POST', '/v1/functions/sleeper/invocations?async=true');
  t.equal(first.status, 202);
  await sleep(100);
  const refused = await daemon.request('POST', '/v1/functions/marker/invocations');
  t.equal(refused.status, 429);
  t.equal((JSON.parse(refused.text) as ErrorBody).code, 'SFSD_ERR_QUEUE_FULL');
  t.ok(Number(refused.headers['retry-after']) >= 1);
  t.notOk(existsSync(marker), 'nothing was started');
  const { id } = JSON.parse(first.text) as AcceptedBody;
  for (let tries = 0; tries < 40; tries += 1) {
    const { state } = JSON.parse((await daemon.get(`/v1/invocations/${id}`)).text) as InvocationBody;
    if (state === 'ended') break;
    await sleep(50);
  }
  t.equal(
    (await daemon.request('POST', '/v1/functions/marker/invocations')).status,
    200,
    'the place was given back',
  );
});

t.test('a client that goes away ends its function', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start();
  t.teardown(() => daemon.stop());
  const pidFile = join(t.testdir(), 'pid');
  await daemon.putFunction('long', {
    command: '/bin/sh',
    args: ['-c', `echo $$ > ${pidFile}; exec sleep 30`],
  });
  const client = daemon.client();
  const request = client
    .request({ method: 'POST', path: '/v1/functions/long/invocations' })
    .catch(() => undefined);
  for (let tries = 0; tries < 100 && !existsSync(pidFile); tries += 1) await sleep(20);
  await sleep(50);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  t.ok(policyOf(pid), 'it runs');
  await client.destroy();
  await request;
  for (let tries = 0; tries < 100 && policyOf(pid) !== undefined; tries += 1) await sleep(20);
  t.equal(policyOf(pid), undefined, 'it is gone');
  await sleep(50);
  t.equal((await daemon.status()).live, 0, 'its place was given back');
});

t.test('a second daemon on the same socket refuses and leaves the first alone', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start();
  t.teardown(() => daemon.stop());
  const second = await startBounded(15, [
    join(projectRoot, 'bin/sfsd'),
    'start',
    '--socket',
    daemon.socketPath,
  ]);
  await second.ended;
  t.equal(second.process.exitCode, 1);
  t.equal((await daemon.get('/healthz')).status, 200);
});

t.test('without the right to make threads real-time functions run all the same', { skip }, async (t) => {
  const wrapper = [
    'setpriv',
    '--bounding-set',
    '-sys_nice',
    '--inh-caps',
    '-sys_nice',
    'prlimit',
    '--rtprio=0:0',
    '--',
  ];
  const daemon = await DaemonUnderTest.start([], wrapper);
  t.teardown(() => daemon.stop());
  const status = await daemon.status();
  t.equal(status.mode, 'eevdf');
  t.match(status.modeReason, /CAP_SYS_NICE/);
  await daemon.putBurn();
  const result = await daemon.invoke('burn', '10');
  t.equal(result.exit, 'exited 0');
});

t.test('metrics and the description of the API answer on the running daemon', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start();
  t.teardown(() => daemon.stop());
  const metrics = await daemon.get('/metrics');
  t.match(metrics.text, /^sfsd_/m);
  const description = JSON.parse((await daemon.get('/openapi.json')).text) as {
    paths: Record<string, unknown>;
  };
  t.ok(description.paths['/v1/invocations']);
});

async function register(
  daemon: DaemonUnderTest,
  list: readonly Record<string, unknown>[],
): Promise<AcceptedBody[]> {
  const answer = await daemon.request('POST', '/v1/invocations', { json: list });
  if (answer.status !== 202) throw new Error(`POST /v1/invocations: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text) as AcceptedBody[];
}
