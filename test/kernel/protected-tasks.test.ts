/**
 * Protected processes on the real kernel: raised with all their threads, and given back as they were.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { ProtectedTasks } from '../../src/linux/protected-tasks.js';
import { standingOf, standingsOf } from '../e2e/standing.js';
import { skipUnlessRoot, startPython, until } from './children.js';
import { requireLibc } from './harness.js';

const options = { skip: skipUnlessRoot };
const layout = CgroupLayout.detect();
const cpuTree = layout.tree('cpu');
const mount = cpuTree?.version === 1 ? cpuTree.mount : '';
const skipRtGroup =
  skipUnlessRoot !== false
    ? skipUnlessRoot
    : existsSync(join(mount, 'cpu.rt_runtime_us'))
      ? false
      : 'needs the v1 cpu tree and CONFIG_RT_GROUP_SCHED';
const rtGroupName = `sfsd-test-protected-${process.pid}`;

t.setTimeout(120_000);

function tasksOf(t: Test): ProtectedTasks {
  const tasks = new ProtectedTasks({
    libc: requireLibc(),
    layout,
    priority: 10,
    // The least budget: a daemon beside this test may hold the rest.
    filterShare: 0,
    rtGroupName,
  });
  t.teardown(() => tasks.close());
  return tasks;
}

function look(tasks: ProtectedTasks, ...pids: readonly number[]): string[] {
  tasks.startLook();
  const results = pids.map((pid) => tasks.keep(pid));
  tasks.endLook();
  return results;
}

t.test('all threads are raised, a late one at the next look, and all are given back', options, async (t) => {
  const tasks = tasksOf(t);
  const child = await startPython(
    t,
    `
os.nice(4)
threading.Thread(target=lambda: time.sleep(20), daemon=True).start()
say('one')
hear()
threading.Thread(target=lambda: time.sleep(20), daemon=True).start()
pid = os.fork()
if pid == 0:
    time.sleep(20)
say(pid)
hear()
`,
  );
  await child.next();
  const before = standingsOf(child.pid);
  t.same(look(tasks, child.pid), ['ok']);
  t.same([tasks.processes, tasks.threads], [1, 2]);
  t.ok(
    standingsOf(child.pid).every((standing) => standing.startsWith('RR 10 reset')),
    standingsOf(child.pid).join(),
  );
  const inner = Number(await child.ask());
  t.teardown(() => process.kill(inner, 'SIGKILL'));
  t.match(standingOf(inner), /^OTHER nice 0/, 'what it starts is not real-time');
  t.same(look(tasks, child.pid), ['ok']);
  t.equal(tasks.threads, 3);
  t.ok(
    standingsOf(child.pid).every((standing) => standing.startsWith('RR 10')),
    'the late one too',
  );
  t.same(look(tasks), [], 'it fits no rule any more');
  t.equal(tasks.processes, 0);
  t.ok(
    before.every((standing) => standing.startsWith('OTHER nice 4')),
    before.join(),
  );
  // The kernel starts whoever is born to a real-time thread with reset-on-fork at nice 0.
  const born = before[0]?.replace('nice 4', 'nice 0');
  t.same(standingsOf(child.pid), [...before, born]);
});

t.test('what must not be touched is refused', options, async (t) => {
  const tasks = tasksOf(t);
  const libc = requireLibc();
  const foreign = await startPython(t, 'hear()');
  libc.schedSetscheduler(foreign.pid, 1, 3);
  t.same(look(tasks, 1, 2, process.pid, 4_194_303, foreign.pid), [
    'refused',
    'refused',
    'refused',
    'refused',
    'foreign',
  ]);
  t.match(standingOf(foreign.pid), /^FIFO 3 /);
  t.equal(tasks.processes, 0);
});

t.test('one that ends is let go of, and what it used is counted', options, async (t) => {
  const tasks = tasksOf(t);
  const child = await startPython(t, "hear()\nspin(0.05)\nsay('spun')\nhear()");
  look(tasks, child.pid);
  t.ok(tasks.usedUs < 20_000, 'what it used before is not');
  await child.ask();
  look(tasks, child.pid);
  t.ok(tasks.usedUs >= 45_000, `${tasks.usedUs} us`);
  child.kill();
  await child.ended;
  t.same(look(tasks, child.pid), ['refused']);
  t.equal(tasks.processes, 0);
});

t.test(
  'one in a cpu group without a budget is moved, with its children, and moved back',
  { skip: skipRtGroup },
  async (t) => {
    const home = `/sfsd-test-home-${process.pid}`;
    const directory = join(mount, home);
    mkdirSync(directory);
    t.teardown(async () => {
      await until(() => readFileSync(join(directory, 'tasks'), 'utf8') === '', 'the group is empty');
      rmdirSync(directory);
    });
    const child = await startPython(
      t,
      `
hear()
pid = os.fork()
if pid == 0:
    time.sleep(20)
say(pid)
hear()
`,
    );
    writeFileSync(join(directory, 'cgroup.procs'), String(child.pid));
    const before = standingOf(child.pid);
    const tasks = tasksOf(t);
    t.same(look(tasks, child.pid), ['ok']);
    t.match(standingOf(child.pid), new RegExp(`^FIFO 10 reset .* in /${rtGroupName}$`));
    const inner = Number(await child.ask());
    t.teardown(() => process.kill(inner, 'SIGKILL'));
    t.match(standingOf(inner), `in /${rtGroupName}`);
    look(tasks, child.pid);
    t.match(standingOf(inner), `in ${home}`, 'what it started goes where it came from');
    tasks.close();
    t.equal(standingOf(child.pid), before);
    t.notOk(existsSync(join(mount, rtGroupName)), 'our group is removed');
  },
);
