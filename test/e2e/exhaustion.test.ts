/**
 * The daemon out of file descriptors, and its spawner killed meanwhile: it must recover, and stop in order.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import t from 'tap';
import { DaemonUnderTest, sleep } from './daemon-under-test.js';

const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';

t.test(
  'a daemon that ran out of descriptors when its spawner died recovers and stops',
  { skip },
  async (t) => {
    const daemon = await DaemonUnderTest.start();
    await daemon.putBurn();
    await daemon.invoke('burn', '1');
    const pid = await daemon.pid();
    const open = readdirSync(`/proc/${pid}/fd`).length;
    limitDescriptors(pid, open);
    const [spawner] = childrenOf(pid);
    t.ok(spawner !== undefined, 'the spawner is its only child');
    if (spawner !== undefined) process.kill(spawner, 'SIGKILL');
    await sleep(400);
    limitDescriptors(pid, 4096);
    let answered = false;
    for (let tries = 0; tries < 60 && !answered; tries += 1) {
      answered =
        (await daemon.request('POST', '/v1/functions/burn/invocations', { body: '1' })).status === 200;
      if (!answered) await sleep(50);
    }
    t.ok(answered, 'functions run again');
    t.equal(childrenOf(pid).length, 1, 'one spawner, not several');
    t.equal(await daemon.stop(), 0);
  },
);

/** The soft limit: what a process may raise again. */
function limitDescriptors(pid: number, count: number): void {
  spawnSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`]);
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}
