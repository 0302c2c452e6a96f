import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupLayout, groupsBelow, isGroupPath } from '../../src/linux/cgroup-layout.js';

const v1Mounts = `
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:27 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct
34 30 0:31 / /sys/fs/cgroup/memory rw,relatime shared:6 master:1 - cgroup cgroup rw,memory
38 30 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
39 30 0:36 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,release_agent=/agent,name=systemd
`;
const unifiedBeside = '40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n';
const v2Mounts = `
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
35 22 0:30 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
`;

/** A directory with these files, standing in for the host's root. */
function rootWith(t: Test, files: Readonly<Record<string, string>>): string {
  const root = t.testdir({});
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

t.test('v1: each controller has its own tree', async (t) => {
  const layout = CgroupLayout.detect({ mountinfo: v1Mounts });
  t.equal(layout.version, 'v1');
  t.equal(layout.controllerPath('memory'), '/sys/fs/cgroup/memory');
  t.equal(layout.controllerPath('cpuacct'), '/sys/fs/cgroup/cpu,cpuacct');
  t.same(layout.tree('pids'), { mount: '/sys/fs/cgroup/pids', version: 1 });
  t.equal(layout.controllerPath('hugetlb'), undefined);
  t.equal(layout.unifiedPath, undefined);
});

t.test('hybrid: the v1 trees, and a unified one beside', async (t) => {
  const root = rootWith(t, { 'sys/fs/cgroup/unified/cgroup.controllers': 'hugetlb\n' });
  const layout = CgroupLayout.detect({ mountinfo: v1Mounts + unifiedBeside, root });
  t.equal(layout.version, 'hybrid');
  t.same(layout.tree('memory'), { mount: join(root, 'sys/fs/cgroup/memory'), version: 1 });
  t.same(layout.tree('hugetlb'), { mount: join(root, 'sys/fs/cgroup/unified'), version: 2 });
  t.equal(layout.tree('io'), undefined);
});

t.test('a unified tree and systemd alone are v2 for our purposes', async (t) => {
  const systemd = '39 30 0:36 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n';
  t.equal(CgroupLayout.detect({ mountinfo: systemd + unifiedBeside }).version, 'v2');
});

t.test('v2: one tree for all that its root offers', async (t) => {
  const root = rootWith(t, { 'sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids\n' });
  const layout = CgroupLayout.detect({ mountinfo: v2Mounts, root });
  t.equal(layout.version, 'v2');
  t.same(layout.tree('memory'), { mount: join(root, 'sys/fs/cgroup'), version: 2 });
  t.equal(layout.tree('hugetlb'), undefined);
});

t.test('no cgroups at all are a layout too', async (t) => {
  const layout = CgroupLayout.detect({ mountinfo: '22 1 254:0 / / rw - ext4 /dev/vda rw\n' });
  t.equal(layout.version, 'none');
  t.equal(layout.tree('memory'), undefined);
  t.same(layout.tasksOf('/any'), []);
});

t.test('a mount point with a blank in it', async (t) => {
  const layout = CgroupLayout.detect({
    mountinfo: '31 30 0:28 / /my\\040groups/mem\\134ory rw - cgroup cgroup rw,memory\n',
  });
  t.equal(layout.controllerPath('memory'), '/my groups/mem\\ory');
});

t.test('tasks of a group are those of the first tree that has any, groups below included', async (t) => {
  const root = rootWith(t, {
    'sys/fs/cgroup/unified/cgroup.controllers': '',
    'sys/fs/cgroup/unified/fn/hello/cgroup.threads': '',
    'sys/fs/cgroup/pids/fn/hello/tasks': '11\n12\n',
    'sys/fs/cgroup/pids/fn/hello/inner/tasks': '13\n11\n',
    'sys/fs/cgroup/memory/fn/hello/tasks': '99\n',
    'sys/fs/cgroup/memory/fn/only/tasks': '',
  });
  const layout = CgroupLayout.detect({ mountinfo: v1Mounts + unifiedBeside, root });
  t.same(layout.tasksOf('/fn/hello'), [11, 12, 13]);
  t.equal(layout.directoryOf('/fn/only'), join(root, 'sys/fs/cgroup/memory/fn/only'), 'empty, but there');
  t.equal(layout.directoryOf('/fn/none'), undefined);
  t.equal(layout.directoryOf('/fn/../fn/hello'), undefined);
});

t.test('on v2 threads are listed in cgroup.threads', async (t) => {
  const root = rootWith(t, {
    'sys/fs/cgroup/cgroup.controllers': 'pids\n',
    'sys/fs/cgroup/fn/hello/cgroup.threads': '21\n22\n',
    'sys/fs/cgroup/fn/hello/cgroup.procs': '21\n',
  });
  const layout = CgroupLayout.detect({ mountinfo: v2Mounts, root });
  t.same(layout.tasksOf('/fn/hello'), [21, 22]);
});

t.test('a tree of groups is cut off at its bound', async (t) => {
  const root = t.testdir({});
  for (let number = 0; number < 1100; number++) mkdirSync(join(root, `group-${number}`));
  t.equal(groupsBelow(root).length, 1024);
});

t.test('a group path is absolute, below the root, and takes no step up', async (t) => {
  for (const path of ['/a', '/a/b', '/a b/c.slice', '/..a']) t.ok(isGroupPath(path), JSON.stringify(path));
  for (const path of ['', '/', '//', 'a', '/..', '/a/../b', '/./a', '/a\0b'])
    t.notOk(isGroupPath(path), JSON.stringify(path));
});

t.test('this host has a layout', async (t) => {
  t.match(CgroupLayout.detect().version, /^(v1|hybrid|v2|none)$/);
});
