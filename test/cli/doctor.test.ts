/** doctor: its judgements of settings that this host does not have, and one whole run on this host. */
import t from 'tap';
import type { Finding } from '../../src/cli/doctor/finding.js';
import { judgeKernelRelease, judgeThrottling } from '../../src/cli/doctor/kernel.js';
import { type FoundProcess, judgeProcesses } from '../../src/cli/doctor/processes.js';
import { overrides } from '../../src/cli/start.js';
import { ContractServer, statusBody } from './contract-server.js';
import { run } from './run-in-process.js';

const server = new ContractServer();
await server.listen();
t.teardown(() => server.close());

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

t.test('RT throttling that is off is a warning, and one below the budget is broken', async (t) => {
  const judge = (runtimeUs: number): string => judgeThrottling({ runtimeUs, periodUs: 1_000_000 }).state;
  t.equal(judge(950_000), 'ok');
  t.equal(judge(-1), 'degraded');
  t.equal(judge(0), 'broken');
  t.equal(judge(500_000), 'broken');
});

t.test('kernels before 6.12 lack the fair server', async (t) => {
  t.equal(judgeKernelRelease('6.1.0-18-amd64').state, 'degraded');
  t.match(judgeKernelRelease('6.1.0-18-amd64').fact, /: CFS,/);
  t.match(judgeKernelRelease('6.8.0').fact, /: EEVDF,/);
  t.equal(judgeKernelRelease('6.12.3').state, 'ok');
  t.equal(judgeKernelRelease('7.0').state, 'ok');
});

t.test('other daemons and real-time processes above the scheduling plane are warnings', async (t) => {
  const found = (pid: number, fields: Partial<FoundProcess>): FoundProcess => ({
    pid,
    ppid: 1,
    name: `p${pid}`,
    priority: 0,
    ...fields,
  });
  const cmd = 'node --single-threaded-gc /opt/sfsd/bin/../dist/src/cli/main.js start';
  const daemon = found(10, { cmd, priority: 25 });
  const family = [daemon, found(11, { ppid: 10, priority: 15 }), found(12, { ppid: 11, priority: 5 })];
  const kernel = [found(2, { ppid: 0 }), found(3, { ppid: 2, priority: 99 })];
  t.match(judgeProcesses([...family, ...kernel]), {
    state: 'ok',
    fact: '5 processes, 1 of them sfsd, 0 others real-time',
  });
  t.match(judgeProcesses([...family, found(20, { priority: 24 })]), { state: 'ok', fact: /: p20 20 at 24$/ });
  t.match(judgeProcesses([found(20, { priority: 50 })]), { state: 'degraded', fact: /: p20 20 at 50$/ });
  t.match(judgeProcesses([daemon, found(30, { cmd })]), { state: 'degraded', fact: /: sfsd is 10, 30$/ });
});

t.test('an FFI that is not the configured one is told of', async (t) => {
  const reason = 'ffi-napi cannot be loaded: wrong ELF class';
  server.status = {
    ...statusBody,
    ffi: { configured: 'ffi-napi', control: 'koffi', scheduling: 'koffi', reason },
  };
  t.teardown(() => {
    server.status = statusBody;
  });
  const { out } = await run(['doctor', '--json', '--socket', server.socketPath]);
  const findings = JSON.parse(out) as Finding[];
  t.match(
    findings.find(({ subject }) => subject === 'daemon'),
    { state: 'degraded', advice: `ffi-napi is configured (linux.ffi), but: ${reason}` },
  );
  const status = await run(['status', '--socket', server.socketPath], { columns: 200 });
  t.match(status.out, `koffi; ffi-napi was configured: ${reason}`);
});

t.test('a daemon without its guard is degraded, and says what that means', async (t) => {
  t.teardown(() => {
    server.status = statusBody;
  });
  const daemonLine = async (guard: Partial<typeof statusBody.guard>) => {
    server.status = { ...statusBody, guard: { ...statusBody.guard, ...guard } };
    const { out } = await run(['doctor', '--json', '--socket', server.socketPath]);
    return (JSON.parse(out) as Finding[]).find(({ subject }) => subject === 'daemon');
  };
  t.match(await daemonLine({ state: 'missing' }), { state: 'degraded', advice: /guard_lost/ });
  const off = await daemonLine({ state: 'off', reason: 'guard.enabled is false' });
  t.match(off, {
    state: 'degraded',
    advice: /stays real-time if the daemon is killed: guard.enabled is false/,
  });
  const status = await run(['status', '--socket', server.socketPath], { columns: 200 });
  t.match(status.out, /guard +off: guard.enabled is false/);
});

t.test('doctor names every check once, with advice wherever it is not ok', async (t) => {
  const { code, out } = await run(['doctor', '--json', '--socket', server.socketPath]);
  const findings = JSON.parse(out) as Finding[];
  const subjects = findings.map((finding) => finding.subject);
  t.equal(new Set(subjects).size, subjects.length);
  for (const subject of [
    'guard',
    'FFI',
    'ffi-napi',
    'processes',
    'kernel wait',
    'privileges',
    'promotion',
    'mode',
    'throttling',
    'cgroups',
    'daemon',
  ])
    t.ok(subjects.includes(subject), subject);
  for (const { state, subject, advice } of findings) t.equal(advice !== undefined, state !== 'ok', subject);
  t.equal(code, findings.some((finding) => finding.state === 'broken') ? 1 : 0);
  t.equal(findings.find((finding) => finding.subject === 'daemon')?.state, 'ok');
});

t.test('doctor prints a line for each finding and their count', async (t) => {
  server.status = { ...statusBody, mode: 'off', modeReason: 'priorities.realtime is false' };
  const { out } = await run(['doctor'], { environment: { SFSD_SOCKET: server.socketPath } });
  t.match(out, /^ok +FFI +koffi is loaded$/m);
  t.match(out, /^degraded {2}daemon .*mode off\n +All functions run under the fair scheduler: priorities/m);
  t.match(out, /^\d+ ok, \d+ degraded, \d+ broken$/m);
});

t.test('a daemon that was named and does not answer is broken', async (t) => {
  const { code, out } = await run(['doctor', '--socket', '/nowhere/sfsd.sock']);
  t.equal(code, 1);
  t.match(out, /^broken +daemon +none answers on \/nowhere\/sfsd\.sock \(there is no such socket\)$/m);
});

t.test('start turns --set into overrides: JSON where it reads as JSON, text elsewhere', async (t) => {
  t.strictSame(
    overrides(['scheduler.workers=2', 'scheduler.pin=true', 'log.level=debug', 'socket.path=/a=b']),
    {
      'scheduler.workers': 2,
      'scheduler.pin': true,
      'log.level': 'debug',
      'socket.path': '/a=b',
    },
  );
  t.throws(() => overrides(['=1']), { code: 'SFSD_ERR_USAGE' });
});
