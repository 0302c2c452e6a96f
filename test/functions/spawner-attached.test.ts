/** The spawner as a service's: asked for on a socket, started by its holder, not by us. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Spawner } from '../../src/functions/spawner.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { asRoot, eventually, libcOfHost, spawnerPath } from './support.js';

const activator = 'systemd-socket-activate';
const holderMaxSeconds = '30';
const noActivator = spawnSync(activator, ['--version']).status === 0 ? false : `${activator} is missing`;
const skip = asRoot ? noActivator : 'needs root';
const cpu = CgroupLayout.detect().tree('cpu');
const noBudgets =
  cpu?.version === 1 && existsSync(join(cpu.mount, 'cpu.rt_runtime_us'))
    ? false
    : 'no v1 cpu tree with real-time budgets';

/** @param before shell that the holder runs first. */
async function holdSocket(t: Test, before = ':'): Promise<string> {
  // A socket's path is short.
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 's');
  const script = `${before} && exec timeout ${holderMaxSeconds} ${activator} -a --seqpacket -l "$1" "$0" --attached`;
  const holder = spawn('sh', ['-c', script, spawnerPath, path], { stdio: 'ignore' });
  t.teardown(async () => {
    if (holder.exitCode !== null) return;
    holder.kill('SIGTERM');
    await once(holder, 'exit');
  });
  t.ok(await eventually(() => existsSync(path)), 'the socket is there');
  return path;
}

t.test('a spawner that somebody else started answers, and ends with the connection', { skip }, async (t) => {
  const socketPath = await holdSocket(t);
  const spawner = await Spawner.start({
    libc: libcOfHost(),
    programPath: '/nowhere',
    socketPath,
    priority: 15,
    sessionNice: 0,
  });
  const { pid = 0 } = spawner;
  t.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '--attached');
  await spawner.close();
  t.ok(await eventually(() => !existsSync(`/proc/${pid}/exe`)), 'ended');
});

t.test(
  'in a cpu group without a budget it follows the daemon to where it may be real-time',
  { skip: skip || noBudgets },
  async (t) => {
    const mount = cpu?.mount ?? '';
    const group = join(mount, `sfsd-test-${process.pid}`);
    mkdirSync(group);
    t.teardown(() => rmdirSync(group));
    writeFileSync(join(group, 'cpu.rt_runtime_us'), '0');
    const socketPath = await holdSocket(t, `echo $$ > ${join(group, 'cgroup.procs')}`);
    const options = { libc: libcOfHost(), programPath: '/nowhere', socketPath, priority: 15, sessionNice: 0 };
    await t.rejects(Spawner.start(options), { code: 'SFSD_ERR_KERNEL' }, 'denied there');
    const spawner = await Spawner.start({ ...options, cpuGroupFile: join(mount, 'cgroup.procs') });
    t.match(readFileSync(`/proc/${spawner.pid}/cgroup`, 'utf8'), /^\d+:cpu[^:]*:\/$/m);
    t.match(spawnSync('chrt', ['-p', String(spawner.pid)], { encoding: 'utf8' }).stdout, /SCHED_FIFO/);
    await spawner.close();
  },
);
