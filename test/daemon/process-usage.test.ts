/** Real processes, read by pidusage: right figures, no child processes once it is primed, no files left open. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ProcessUsage, primeProcessUsage } from '../../src/daemon/process-usage.js';
import { projectRoot, sleep } from '../e2e/daemon-under-test.js';
import { startBounded } from '../e2e/processes.js';

const burn = join(projectRoot, 'native/build/burn');

t.setTimeout(60_000);
await primeProcessUsage();

/** Ended, and reaped by this process. */
async function endedChild(): Promise<number> {
  const child: ChildProcess = spawn('true', { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid ?? -1;
}

function statFilesOf(pid: number): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(`/proc/${pid}/stat`);
    } catch {
      return false;
    }
  }).length;
}

t.test('CPU time, age and memory are those of the process', async (t) => {
  const { read } = new ProcessUsage();
  const spinner = await startBounded(10, [burn, '8000']);
  t.teardown(async () => {
    process.kill(spinner.pid, 'SIGKILL');
    await spinner.ended;
  });
  const first = (await read([spinner.pid, process.pid])).get(spinner.pid);
  await sleep(1000);
  const both = await read([spinner.pid, process.pid]);
  const second = both.get(spinner.pid);
  t.ok(first !== undefined && second !== undefined);
  const aged = (second?.ageMs ?? 0) - (first?.ageMs ?? 0);
  t.ok(aged >= 950 && aged < 4000, `aged by ${aged} ms`);
  const used = (second?.cpuMs ?? 0) - (first?.cpuMs ?? 0);
  // On a busy host it gets a part of a core.
  t.ok(used > 0 && used <= aged + 50, `used ${used} ms of CPU meanwhile`);
  const ours = both.get(process.pid)?.memoryBytes ?? 0;
  const rss = process.memoryUsage.rss();
  t.ok(ours > rss / 2 && ours < rss * 2, `${ours} bytes of ours, Node says ${rss}`);
});

t.test('processes that have ended are left out, alone or among others', async (t) => {
  const { read } = new ProcessUsage();
  const gone = await endedChild();
  t.equal((await read([gone])).size, 0);
  t.same([...(await read([gone, process.pid])).keys()], [process.pid]);
  t.equal((await read([])).size, 0);
});

t.test('no child process is started', async (t) => {
  const { read } = new ProcessUsage();
  const reading = read([process.pid, 1]);
  const children = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  let seen = children();
  let over = false;
  reading.finally(() => {
    over = true;
  });
  while (!over) {
    seen += children();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal((await reading).size, 2);
  t.equal(seen, 0);
});

t.test('the file of a process that ended between its opening and its reading is closed', async (t) => {
  const { read } = new ProcessUsage();
  const child = spawn('sleep', ['20'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const pid = child.pid ?? -1;
  // What pidusage leaves behind.
  openSync(`/proc/${pid}/stat`, 'r');
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.equal(statFilesOf(pid), 1);
  const never = Array.from({ length: 63 }, (_, index) => 4_190_000 + index);
  t.equal((await read([pid, ...never])).size, 0);
  t.equal(statFilesOf(pid), 0);
});
