/**
 * The guard's C code on the real kernel, through sfsd-demote-all: what a kernel adapter has promoted and written down becomes what it was.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { affinityBytes, cpusIn, maskOf } from '../../src/linux/cpus.js';
import { type JournalFile, makeJournal } from '../../src/linux/journal-file.js';
import { PromotionJournal } from '../../src/linux/promotion-journal.js';
import { cpuGroupOf, makeGroup } from './cgroups.js';
import { skipUnlessRoot, startPython } from './children.js';
import { cpuOfWorker, type Harness, harness, requireLibc } from './harness.js';

const options = { skip: skipUnlessRoot };
const mount = CgroupLayout.detect().tree('cpu')?.mount ?? '';
const skipRtGroup =
  skipUnlessRoot ||
  (existsSync(join(mount, 'cpu.rt_runtime_us')) ? false : 'needs CONFIG_RT_GROUP_SCHED and the v1 cpu tree');
const program = fileURLToPath(new URL('../../../native/build/sfsd-demote-all', import.meta.url));

interface Rig extends Harness {
  readonly file: JournalFile;
  readonly journal: PromotionJournal;
}

function rig(t: Test, parts: { readonly entries?: number; readonly protectedCount?: number } = {}): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-journal-'));
  const file = makeJournal({
    protectedCount: parts.protectedCount ?? 0,
    libc: requireLibc(),
    path: join(folder, 'journal'),
    entryCount: parts.entries ?? 64,
    priority: 5,
    cpuMount: mount,
    cpuGroup: join(mount, 'sfsd-filter'),
  });
  const journal = new PromotionJournal(file.memory);
  const kernel = harness(t, { journal });
  t.teardown(() => {
    file.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { ...kernel, file, journal };
}

function run(...args: readonly string[]): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 10_000 });
  return { code: status, said: `${stdout}${stderr}` };
}

t.setTimeout(150_000);

t.test('a promoted task becomes what it was: policy, nice value, CPUs', options, async (t) => {
  const { kernel, key, policy, nice, libc, file, journal } = rig(t);
  const { group, pid } = await startPython(t, 'hear()');
  libc.schedSetscheduler(pid, 3 | 0x40000000, 0);
  libc.setpriority(pid, 7);
  const before = new Uint8Array(affinityBytes);
  libc.schedGetaffinity(pid, before);
  kernel.attach(group, key());
  t.equal(kernel.promote(group, 0), 'ok');
  const bound = new Uint8Array(affinityBytes);
  libc.schedGetaffinity(pid, bound);
  t.same(cpusIn(bound), cpusIn(maskOf(cpuOfWorker(0))), 'bound to one');
  t.equal(journal.held, 1);
  const { code, said } = run('--journal', file.path);
  t.equal(code, 0);
  t.match(said, /^1 task\(s\) demoted, 0 moved back to their cgroups, 0 refused\n$/);
  t.equal(policy(pid), 'BATCH reset');
  t.equal(nice(pid), 7);
  libc.schedGetaffinity(pid, bound);
  t.same(cpusIn(bound), cpusIn(before));
  t.ok(journal.beat(), 'who has promoted it lives, and is told');
  kernel.demote(group);
  t.equal(journal.held, 0);
  t.equal(kernel.promote(group), 'ok', 'and may promote it again');
  t.equal(policy(pid), 'FIFO 5 reset');
  kernel.release(group);
  t.equal(journal.held, 0);
});

t.test('a paused task gets its nice value back', options, async (t) => {
  const { kernel, key, nice, libc, file } = rig(t);
  const { group, pid } = await startPython(t, 'hear()');
  libc.setpriority(pid, 3);
  kernel.attach(group, key());
  kernel.promote(group);
  kernel.pause(group);
  run('--journal', file.path);
  t.equal(nice(pid), 3);
  kernel.promote(group);
  kernel.demote(group);
  t.equal(nice(pid), 3);
});

t.test('a task that is ahead in mode eevdf gets policy, nice value and slice back', options, async (t) => {
  const { libc, nice, policy, file, journal } = rig(t);
  const { kernel, key } = harness(t, { journal, mode: 'eevdf', favour: { nice: -5, sliceNs: 500_021 } });
  const { group, pid } = await startPython(t, 'hear()');
  libc.schedSetscheduler(pid, 3, 0);
  libc.setpriority(pid, 4);
  kernel.attach(group, key());
  t.equal(kernel.promote(group), 'ok');
  t.equal(nice(pid), -5);
  t.equal(run('--journal', file.path).code, 0);
  t.equal(nice(pid), 4);
  t.equal(policy(pid), 'BATCH');
});

t.test('a protected process is on the same list, at its own priority', options, async (t) => {
  const { libc, policy, file, journal } = rig(t, { protectedCount: 2 });
  const share = new PromotionJournal(file.memory, { count: 2, priority: 10 });
  const { pid, startTime } = await startPython(t, 'hear()');
  t.equal(
    share.enter({ pid, tid: pid, startTicks: Number(startTime) }, { policy: 0, nice: 0, runtimeNs: 0 }),
    0,
  );
  libc.schedSetscheduler(pid, 1 | 0x40000000, 10);
  t.equal(journal.held, 0, 'the entries of functions are others');
  t.match(run('--journal', file.path), { code: 0, said: /^1 task/ });
  t.equal(policy(pid), 'OTHER');
  t.ok(share.isOvertaken());
});

t.test('all threads are on the list, and a list that is full denies the group', options, async (t) => {
  const code = 'threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\nsay(1)\nhear()';
  const roomy = rig(t);
  const { group, pid, next } = await startPython(t, code);
  await next();
  roomy.kernel.attach(group, roomy.key());
  t.equal(roomy.kernel.promote(group), 'ok');
  t.equal(roomy.journal.held, 2);
  t.match(run('--journal', roomy.file.path).said, /^2 task/);
  roomy.kernel.release(group);
  const narrow = rig(t, { entries: 1 });
  narrow.kernel.attach(group, narrow.key());
  t.equal(narrow.kernel.promote(group), 'denied');
  t.equal(narrow.policy(pid), 'OTHER', 'none of it stays real-time');
  t.equal(narrow.journal.held, 0);
});

t.test('a number that was given to another is left alone', options, async (t) => {
  const { journal, libc, policy, file } = rig(t);
  const { pid, startTime } = await startPython(t, 'hear()');
  const wrong = { pid, tid: pid, startTicks: Number(startTime) + 1 };
  libc.schedSetscheduler(pid, 1 | 0x40000000, 5);
  journal.enter(wrong, { policy: 0, nice: 0, runtimeNs: 0 });
  t.match(run('--journal', file.path), { code: 0, said: /^0 task/ });
  t.equal(policy(pid), 'FIFO 5 reset');
  libc.schedSetscheduler(pid, 1, 6);
  journal.enter({ ...wrong, startTicks: Number(startTime) }, { policy: 0, nice: 0, runtimeNs: 0 });
  t.match(run('--journal', file.path), { code: 0, said: /^0 task/ });
  t.equal(policy(pid), 'FIFO 6', 'as is what somebody has given another priority');
});

t.test('what was moved goes home, and takes its children along', { skip: skipRtGroup }, async (t) => {
  // The group of every daemon on this host: a second one might find no budget left.
  const name = 'sfsd-filter';
  const { kernel, key, policy, file } = rig(t);
  const home = `/sfsd-test-demote-home-${process.pid}`;
  const directory = makeGroup(t, join(mount, home));
  const child = await startPython(
    t,
    `
hear()
inner = os.fork()
if inner == 0:
    time.sleep(15)
    os._exit(0)
say(inner)
hear()`,
  );
  writeFileSync(join(directory, 'cgroup.procs'), String(child.pid));
  kernel.attach(child.group, key());
  t.equal(kernel.promote(child.group), 'ok');
  const inner = Number(await child.ask());
  t.teardown(() => process.kill(inner, 'SIGKILL'));
  t.same([cpuGroupOf(child.pid), cpuGroupOf(inner)], [`/${name}`, `/${name}`]);
  t.match(run('--journal', file.path), { code: 0, said: /^1 task\(s\) demoted, 2 moved back/ });
  t.equal(policy(child.pid), 'OTHER');
  t.same([cpuGroupOf(child.pid), cpuGroupOf(inner)], [home, home]);
});

t.test(
  'a scan finds the tasks of dead daemons, and leaves those of living ones alone',
  options,
  async (t) => {
    const { libc, policy } = harness(t);
    const pids = mountOf('pids');
    // Made first, so that they are removed last.
    const [dead, living] = [4_194_303, process.pid].map((owner) =>
      makeGroup(t, join(pids, `sfsd-${owner}`, 'f')),
    );
    const [stray, managed, foreign] = await Promise.all([1, 2, 3].map(() => startPython(t, 'hear()')));
    writeFileSync(join(dead ?? '', 'cgroup.procs'), String(stray?.pid));
    writeFileSync(join(living ?? '', 'cgroup.procs'), String(managed?.pid));
    // A priority that nobody else on this host uses.
    const priority = 3;
    for (const child of [stray, managed, foreign]) libc.schedSetscheduler(child?.pid ?? -1, 1, priority);
    t.match(run('--scan', '--filter-priority', String(priority)), { code: 0, said: /^1 task/ });
    t.same(
      [stray, managed, foreign].map((child) => policy(child?.pid ?? -1)),
      ['OTHER', 'FIFO 3', 'FIFO 3'],
    );
  },
);

t.test('exit codes: no journal is none to do, one that cannot be trusted is 3', options, async (t) => {
  const { file } = rig(t);
  const folder = t.testdir({ text: 'not a journal' });
  t.equal(run('--journal', join(folder, 'missing')).code, 0);
  t.match(run('--journal', join(folder, 'text')), { code: 3, said: /no journal of this version/ });
  symlinkSync(file.path, join(folder, 'link'));
  t.match(run('--journal', join(folder, 'link')), { code: 3, said: /symbolic links/ });
  t.equal(run('--unknown').code, 2);
  t.equal(run('--priority', '100').code, 2);
});

function mountOf(controller: string): string {
  return CgroupLayout.detect().tree(controller)?.mount ?? '';
}
