/** A launch on a host full of FIFO work starts its program at once, and the program is lowered. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import t from 'tap';
import { raiseGracePeriodThreads } from '../../src/linux/grace-period-threads.js';
import { burn, eventually, libcOfHost, requestOf, startHost } from './support.js';

const schedFifo = 1;
const resetOnFork = 0x4000_0000;
const controlPriority = 8;
const launches = 10;
const startMaxUs = 20_000;

function policyOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[38] ?? '';
}

t.test('with a FIFO hog on each core, programs start within 20 ms', async (t) => {
  const libc = libcOfHost();
  const host = await startHost();
  // The bound on the hogs is outside of them, and not real-time itself: the kernel's fair server lets it act.
  const hogs = cpus().map((_, core) =>
    spawn(
      'timeout',
      [
        '-s',
        'KILL',
        '3',
        'chrt',
        '-f',
        '5',
        'taskset',
        '-c',
        String(core),
        'sh',
        '-c',
        'while :; do :; done',
      ],
      { stdio: 'ignore' },
    ),
  );
  t.teardown(async () => {
    for (const hog of hogs) hog.kill('SIGTERM');
    libc.schedSetscheduler(0, 0, 0);
    await host.close();
  });
  // The control plane as it is in the daemon.
  t.equal(libc.schedSetscheduler(0, schedFifo | resetOnFork, controlPriority), 0);
  const childOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  t.ok(
    await eventually(() =>
      hogs.every(
        (hog) => /^\d+$/.test(childOf(hog.pid ?? 0)) && policyOf(Number(childOf(hog.pid ?? 0))) === '1',
      ),
    ),
    'the hogs run',
  );
  const spec = burn(host, '0');
  const startUs: number[] = [];
  const ended: Promise<unknown>[] = [];
  for (let i = 0; i < launches; i++) {
    const arrivedAt = host.clock.now();
    const launched = await host.launcher.launch(spec, requestOf({ arrivedAt }));
    ended.push(launched.outcome.then((outcome) => startUs.push(outcome.startedAt - arrivedAt)));
  }
  for (const hog of hogs) hog.kill('SIGTERM');
  await Promise.all(ended);
  startUs.sort((left, right) => left - right);
  t.comment(`request to execve: ${startUs.map((us) => (us / 1000).toFixed(1)).join(' ')} ms`);
  // Hogs without a budget run into the kernel's own throttling of all real-time tasks, 50 ms once a second. It may hit one
  // launch here; in the daemon the FILTER budget keeps it away.
  t.ok((startUs.at(-2) ?? Number.POSITIVE_INFINITY) < startMaxUs);
});

t.test('raised grace-period threads are as before once restored', async (t) => {
  const libc = libcOfHost();
  const raised = raiseGracePeriodThreads(libc, 15);
  t.ok(
    raised.pids.every(
      (pid) => libc.schedGetscheduler(pid) === schedFifo && libc.schedGetpriority(pid) === 15,
    ),
  );
  t.same(raiseGracePeriodThreads(libc, 15).pids, [], 'what is raised already is left alone');
  raised.restore();
  t.ok(raised.pids.every((pid) => libc.schedGetscheduler(pid) === 0));
});
