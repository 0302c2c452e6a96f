/**
 * Our cpu cgroup on each layout: trees rebuilt in a directory, and the real one.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { OwnCpuGroup } from '../../src/linux/own-cpu-group.js';
import { cpuGroupOf, RtGroup } from '../../src/linux/rt-group.js';

const loaded = loadKoffiLibc();
if (!loaded.ok) throw new Error(loaded.reason);
const { libc } = loaded;
const cpuTree = CgroupLayout.detect().tree('cpu');
const mount = cpuTree?.version === 1 ? cpuTree.mount : '';
const isHome = cpuGroupOf('self') === '/';
const skip =
  process.getuid?.() === 0 && isHome && existsSync(join(mount, 'cpu.rt_runtime_us'))
    ? false
    : 'needs root, the v1 cpu tree and CONFIG_RT_GROUP_SCHED';

function fixture(t: Test, mountinfo: string, files: Readonly<Record<string, string>>): CgroupLayout {
  const root = mkdtempSync(join(tmpdir(), 'sfsd-rt-group-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return CgroupLayout.detect({ mountinfo, root });
}

/** Moves this very process, for as long as a test takes. */
function inPoorGroup(t: Test): string {
  const path = `/sfsd-test-own-${process.pid}`;
  mkdirSync(join(mount, path));
  writeFileSync(join(mount, path, 'cgroup.procs'), String(process.pid));
  t.teardown(() => {
    writeFileSync(join(mount, 'cgroup.procs'), String(process.pid));
    rmdirSync(join(mount, path));
  });
  return path;
}

t.test('on cgroup2, and without cgroups, there is no group to go to', async (t) => {
  const v2 = fixture(t, '31 20 0:27 / /cg rw - cgroup2 cgroup2 rw\n', {
    'cg/cgroup.controllers': 'cpu memory\n',
  });
  for (const layout of [v2, CgroupLayout.detect({ mountinfo: '' })]) {
    const group = new RtGroup(layout, { libc });
    t.equal(group.homeOf(process.pid), undefined);
    t.notOk(group.holds(process.pid));
    t.same(group.strays(), []);
    group.close();
    t.equal(OwnCpuGroup.withoutBudget(layout), undefined);
  }
});

t.test('a v1 tree of a kernel without CONFIG_RT_GROUP_SCHED is left alone', async (t) => {
  const layout = fixture(t, '30 20 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu\n', {
    'cg/cpu/cpu.shares': '1024',
  });
  t.equal(new RtGroup(layout, { libc }).homeOf(process.pid), undefined);
  t.notOk(existsSync(join(layout.tree('cpu')?.mount ?? '', 'sfsd-filter')));
});

t.test('our group has what FILTER may use and a little more, or is not there at all', { skip }, async (t) => {
  const path = inPoorGroup(t);
  const name = `sfsd-test-rt-${process.pid}`;
  const group = new RtGroup(CgroupLayout.detect(), { libc, name, filterShare: 0 });
  t.equal(group.homeOf(process.pid), path);
  t.equal(readFileSync(join(mount, name, 'cpu.rt_runtime_us'), 'utf8').trim(), '10000');
  t.notOk(group.holds(process.pid));
  t.ok(group.take(process.pid));
  t.ok(group.holds(process.pid));
  group.giveBack(process.pid, path);
  t.equal(cpuGroupOf(process.pid), path);
  group.take(process.pid);
  group.giveBack(process.pid, '/sfsd-test-removed');
  t.equal(cpuGroupOf(process.pid), '/', 'a home that is gone is replaced by the root');

  writeFileSync(join(mount, path, 'cgroup.procs'), String(process.pid));
  const greedy = new RtGroup(CgroupLayout.detect(), { libc, name: `${name}-2`, filterShare: 0.94 });
  t.equal(greedy.homeOf(process.pid), undefined, 'more than is left is not to be had');
  t.notOk(existsSync(join(mount, `${name}-2`)));
  rmdirSync(join(mount, name));
  let home: string | undefined;
  for (let asked = 0; asked < 2000 && home === undefined; asked += 1) {
    home = group.homeOf(process.pid);
    if (home === undefined) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  t.equal(home, path, 'one that another daemon removed is made again');
  t.ok(group.take(process.pid));
  group.close();
  t.equal(cpuGroupOf(process.pid), '/', 'who is left over goes to the root');
  t.notOk(existsSync(join(mount, name)));
});

t.test('a daemon leaves a cpu group without a budget, and comes back', { skip }, async (t) => {
  const path = inPoorGroup(t);
  const own = OwnCpuGroup.withoutBudget(CgroupLayout.detect());
  t.equal(own?.home, path);
  t.equal(own?.leave(), true);
  t.equal(cpuGroupOf('self'), '/');
  own?.comeBack();
  t.equal(cpuGroupOf('self'), path);
});

// The kernel gives a removed group's budget back some time later.
t.test('a group that has a budget of its own needs none of ours', { skip }, async (t) => {
  const path = inPoorGroup(t);
  const group = new RtGroup(CgroupLayout.detect(), { libc, name: `sfsd-test-rt-${process.pid}` });
  t.teardown(() => group.close());
  for (let tried = 0, written = false; tried < 200 && !written; tried += 1) {
    try {
      writeFileSync(join(mount, path, 'cpu.rt_runtime_us'), '10000');
      written = true;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  t.equal(group.homeOf(process.pid), undefined);
  t.equal(OwnCpuGroup.withoutBudget(CgroupLayout.detect()), undefined);
});
