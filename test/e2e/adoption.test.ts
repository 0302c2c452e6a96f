/**
 * What the daemon takes on when it starts, and what it says its functions use; on both FFIs.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ExplanationBody, StatusBody } from '../../src/contracts/http.js';
import { ffiNapiModules, whyNoFfiNapi } from '../conformance/ffi-napi.js';
import { DaemonUnderTest, projectRoot, sleep } from './daemon-under-test.js';
import { observeInRealTime, policyOf, startBounded } from './processes.js';

const burn = join(projectRoot, 'native/build/burn');
const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'needs root for SCHED_FIFO';
const psIsThere = spawnSync('ps', ['--version']).error === undefined;

t.setTimeout(120_000);
if (skip === false) observeInRealTime();

function useOf(status: StatusBody, name: string): StatusBody['resources']['functions'][number] | undefined {
  return status.resources.functions.find(({ functionName }) => functionName === name);
}

/** Of its main thread. */
function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}

t.test(
  'a process that fits a rule is adopted at start, scheduled, and lives on',
  { skip: psIsThere ? skip : 'no ps here (Debian: procps)' },
  async (t) => {
    const mark = '6543';
    const spinner = await startBounded(20, [burn, mark]);
    const other = await startBounded(20, [burn, '6542']);
    const rules = JSON.stringify([{ name: 'burn', commandHolds: `burn ${mark}`, functionName: 'taken-on' }]);
    const daemon = await DaemonUnderTest.start(['scheduler.sliceInitialMs=200', `adopt.rules=${rules}`]);
    t.teardown(async () => {
      await daemon.stop();
      for (const { pid } of [spinner, other]) process.kill(pid, 'SIGKILL');
      await Promise.all([spinner.ended, other.ended]);
    });
    const status = await daemon.status();
    t.equal(status.live, 1, 'one fits');
    const id = /"event":"adopted","processes":1/.test(daemon.log);
    t.ok(id, 'the log tells of it');
    t.match(useOf(status, 'taken-on'), { instances: 1, measured: 1 });
    const startTime = readFileSync(`/proc/${spinner.pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19];
    const path = `/v1/invocations/${spinner.pid}-${startTime}/decisions?source=adopted`;
    let why: ExplanationBody;
    do {
      await sleep(100);
      why = JSON.parse((await daemon.get(path)).text) as ExplanationBody;
    } while (why.state !== 'fair' && why.state !== 'ended');
    t.same(
      why.decisions.map(({ kind }) => kind).filter((kind) => kind !== 'paused' && kind !== 'resumed'),
      ['arrived', 'promoted', 'demoted'],
    );
    t.equal(policyOf(spinner.pid), 'SCHED_OTHER', 'out of FILTER after its slice');
  },
);

t.test(
  'status, metrics and top say what functions use; the daemon starts no process for it',
  { skip },
  async (t) => {
    const daemon = await DaemonUnderTest.start();
    t.teardown(() => daemon.stop());
    await daemon.putBurn('spin');
    await daemon.putFunction('nap', { command: '/bin/sleep', args: ['20'] });
    const pid = await daemon.pid();
    const before = childrenOf(pid);
    await daemon.request('POST', '/v1/functions/spin/invocations?async=true', { body: '8000' });
    await daemon.request('POST', '/v1/functions/nap/invocations?async=true');
    await sleep(300);
    await daemon.status();
    await sleep(1050);
    const status = await daemon.status();
    const spin = useOf(status, 'spin');
    const nap = useOf(status, 'nap');
    t.ok(
      spin !== undefined && spin.cpuCores > 0.02 && spin.cpuCores < 1.1,
      `spin uses ${spin?.cpuCores} cores`,
    );
    t.ok((spin?.memoryBytes ?? 0) > 100_000, `and ${spin?.memoryBytes} bytes`);
    t.match(nap, { instances: 1, measured: 1 });
    t.ok(nap !== undefined && nap.cpuCores < 0.02, `nap uses ${nap?.cpuCores} cores`);
    const again = await daemon.status();
    t.equal(again.resources.atMs, status.resources.atMs, 'within a second nothing is read again');
    const metrics = (await daemon.get('/metrics')).text;
    t.match(metrics, /^sfsd_function_instances\{function="nap"\} 1$/m);
    t.match(metrics, /^sfsd_function_cpu_cores\{function="spin"\} (0\.\d+|1(\.0\d*)?)$/m);
    t.same(childrenOf(pid), before, 'the spawner is its only child');
    const top = spawnSync(join(projectRoot, 'bin/sfsd'), [
      'top',
      '--once',
      '--interval',
      '50',
      '--socket',
      daemon.socketPath,
    ]);
    t.match(top.stdout.toString(), /^ +\d+\.\d% +\d+\.\d MiB +1 {2}spin$/m);
  },
);

t.test(
  'ffi-napi makes the calls of both planes where it is configured',
  { skip: skip || whyNoFfiNapi() || false },
  async (t) => {
    const daemon = await DaemonUnderTest.start(
      ['linux.ffi=ffi-napi', 'scheduler.sliceInitialMs=30'],
      ['env', `NODE_PATH=${ffiNapiModules}`],
    );
    t.teardown(() => daemon.stop());
    const { ffi } = await daemon.status();
    t.same(ffi, { configured: 'ffi-napi', control: 'ffi-napi', scheduling: 'ffi-napi' });
    t.notMatch(daemon.log, /ffi_fallback/);
    await daemon.putBurn();
    const kinds = async (words: string) =>
      (await daemon.invoke('burn', words)).decisions.map(({ kind }) => kind);
    t.same(await kinds('10'), ['arrived', 'promoted', 'ended']);
    t.same(await kinds('120'), ['arrived', 'promoted', 'demoted', 'ended']);
    const slept = await kinds('20 --sleep-ms 60 --at-ms 10');
    t.ok(slept.includes('blocked') && slept.includes('woken'), slept.join(' '));
    t.equal(await daemon.stop(), 0);
  },
);

t.test('where ffi-napi does not load, koffi is used: log, status and doctor say why', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start(['linux.ffi=ffi-napi']);
  t.teardown(() => daemon.stop());
  const { ffi } = await daemon.status();
  t.match(ffi, {
    configured: 'ffi-napi',
    control: 'koffi',
    scheduling: 'koffi',
    reason: /^ffi-napi cannot be loaded: Cannot find module/,
  });
  t.equal(daemon.log.match(/"event":"ffi_fallback"/g)?.length, 2, 'each plane warns');
  const doctor = spawnSync(join(projectRoot, 'bin/sfsd'), ['doctor', '--socket', daemon.socketPath]);
  t.match(
    doctor.stdout.toString(),
    /^degraded +daemon [\s\S]*?^ +ffi-napi is configured \(linux\.ffi\), but: ffi-napi cannot be loaded/m,
  );
  await daemon.putBurn();
  t.equal((await daemon.invoke('burn', '5')).exit, 'exited 0');
});
