import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { type InstanceCgroup, InstanceCgroups } from '../../src/linux/instance-cgroups.js';
import { interpreter, until } from '../kernel/children.js';

const layout = CgroupLayout.detect();
const parent = `/sfsd-test-instances-${process.pid}`;
const controllers = ['memory', 'pids'];
const missing =
  process.getuid?.() !== 0
    ? 'needs root: makes cgroups'
    : controllers.some((controller) => layout.tree(controller) === undefined)
      ? 'needs the memory and pids controllers'
      : false;
const skip = { skip: missing };
const skipV1 = {
  skip: missing || (controllers.every((name) => layout.tree(name)?.version === 1) ? false : 'needs v1 trees'),
};

function groupsFor(t: Test): InstanceCgroups {
  const groups = new InstanceCgroups(layout, { parent });
  t.teardown(() => groups.close());
  return groups;
}

/** Runs a shell command inside the group, which it joins by itself as a launched function does. */
function runIn(group: InstanceCgroup, command: string): Promise<number | NodeJS.Signals | null> {
  const joining = group.procsFiles.map((file) => `echo 0 > ${file}`).join(' && ');
  const child = spawn('timeout', ['-s', 'KILL', '20', 'sh', '-c', `${joining} && ${command}`], {
    stdio: 'ignore',
  });
  return new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
}

// A full machine may take its time.
t.setTimeout(150_000);

t.test('a double-forked child is found in its group, and killed with it', skip, async (t) => {
  const groups = groupsFor(t);
  const group = groups.acquire('hello', { pidsMax: 50 });
  t.same(group.pids(), []);
  const done = runIn(group, '(setsid sleep 19 &) ; exit 0');
  await done;
  await until(() => group.pids().length === 1, 'only the orphan is left');
  group.kill();
  await until(() => group.pids().length === 0, 'killed');
  group.release();
});

t.test('a program that forks all the time is killed with all it forked', skip, async (t) => {
  const groups = groupsFor(t);
  const group = groups.acquire('forker', { pidsMax: 60 });
  const done = runIn(group, 'while :; do (sleep 15 & sleep 15 &) ; done');
  await until(() => group.pids().length > 20, 'some are there');
  group.kill();
  await until(() => group.pids().length === 0, 'all killed');
  await done;
  group.release();
  const next = groups.acquire('forker', { pidsMax: 60 });
  t.equal(next, group, 'and the group is used again');
  t.equal(await runIn(next, 'sleep 0'), 0, 'in which forking is allowed again');
  next.release();
});

t.test('limits bind, and a kill for want of memory is counted', skip, async (t) => {
  const groups = groupsFor(t);
  const group = groups.acquire('greedy', { memoryMaxBytes: 30 * 2 ** 20, pidsMax: 5 });
  t.equal(await runIn(group, 'for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait'), 2, 'no sixth task');
  t.equal(group.oomKills(), 0);
  t.not(await runIn(group, `exec ${interpreter} -c "bytearray(200 << 20)"`), 0);
  t.equal(group.oomKills(), 1);
  await until(() => group.pids().length === 0, 'empty');
  group.release();
  const next = groups.acquire('greedy', {});
  t.equal(next, group);
  t.equal(next.oomKills(), 0, 'counted from its acquisition');
  t.equal(
    await runIn(next, `exec ${interpreter} -c "bytearray(60 << 20)"`),
    0,
    'a reused group has the limits of its new use',
  );
  next.release();
});

t.test('limits are written to the v1 trees', skipV1, async (t) => {
  const groups = groupsFor(t);
  const group = groups.acquire('limits', { memoryMaxBytes: 64 * 2 ** 20, pidsMax: 9 });
  const read = (controller: string, file: string) => {
    const directory = join(layout.controllerPath(controller) ?? '', parent);
    return readFileSync(
      join(directory, readdirSync(directory).find((name) => name.startsWith('fn-')) ?? '', file),
      'utf8',
    );
  };
  t.equal(read('memory', 'memory.limit_in_bytes'), `${64 * 2 ** 20}\n`);
  t.equal(read('pids', 'pids.max'), '9\n');
  group.release();
  groups.acquire('limits', { memoryMaxBytes: 128 * 2 ** 20 });
  t.equal(read('memory', 'memory.limit_in_bytes'), `${128 * 2 ** 20}\n`);
  t.equal(read('pids', 'pids.max'), 'max\n');
});

t.test('a group that still holds tasks is not used again', skip, async (t) => {
  const groups = groupsFor(t);
  const group = groups.acquire('busy', {});
  const done = runIn(group, 'sleep 15');
  await until(() => group.pids().length === 2, 'running');
  group.release();
  group.release();
  const other = groups.acquire('busy', {});
  t.not(other, group);
  group.kill();
  await done;
  await until(() => group.pids().length === 0, 'killed');
  const third = groups.acquire('busy', {});
  t.equal(third, group, 'but once it is empty');
  t.not(groups.acquire('busy', {}), other, "and one in use is nobody else's");
  other.release();
  third.release();
});

t.test('any function name makes a group', skip, async (t) => {
  const groups = groupsFor(t);
  for (const name of ['.', '..', '-', 'tasks', 'cgroup.procs', 'memory.limit_in_bytes', 'x'.repeat(128)]) {
    const group = groups.acquire(name, {});
    for (const file of group.procsFiles) t.ok(existsSync(file), file);
    group.release();
  }
  for (const name of ['', 'a/b', '../up', 'x'.repeat(129), 'a b']) {
    t.throws(() => groups.acquire(name, {}), { code: 'SFSD_ERR_INTERNAL' }, name);
  }
});

t.test('a limit that the kernel refuses is a coded error, and leaves no group behind', skip, async (t) => {
  const groups = groupsFor(t);
  t.throws(() => groups.acquire('bad', { pidsMax: -7 }), { code: 'SFSD_ERR_KERNEL' });
});

t.test('empty groups of an earlier daemon are removed, others passed over', skip, async (t) => {
  const directory = join(layout.controllerPath('pids') ?? '', parent);
  mkdirSync(join(directory, 'fn-old-1'), { recursive: true });
  const groups = groupsFor(t);
  t.notOk(existsSync(join(directory, 'fn-old-1')));
  mkdirSync(join(directory, 'fn-old-1'));
  const group = groups.acquire('old', {});
  t.ok(group.procsFiles.every((file) => file.includes('fn-old-2')));
  group.release();
  groups.close();
  new InstanceCgroups(layout, { parent }).close();
});

t.test('idle groups are kept up to a bound', skip, async (t) => {
  const groups = groupsFor(t);
  const used = Array.from({ length: 20 }, () => groups.acquire('many', {}));
  for (const group of used) group.release();
  const directory = join(layout.controllerPath('pids') ?? '', parent);
  t.equal(readdirSync(directory).filter((name) => name.startsWith('fn-')).length, 16);
});

t.test('nothing is left of groups that were closed', skip, async (t) => {
  for (const name of controllers) t.notOk(existsSync(join(layout.controllerPath(name) ?? '', parent)), name);
});

t.test('on v2 there is one directory, controllers are handed down, and killing is one write', async (t) => {
  const root = t.testdir({ sys: { fs: { cgroup: { 'cgroup.controllers': 'cpu memory pids\n' } } } });
  const unified = join(root, 'sys/fs/cgroup');
  const v2 = CgroupLayout.detect({
    root,
    mountinfo: '35 22 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  });
  const groups = new InstanceCgroups(v2, { parent: '/sfsd/instances' });
  for (const above of ['', 'sfsd', 'sfsd/instances']) {
    t.match(
      readFileSync(join(unified, above, 'cgroup.subtree_control'), 'utf8'),
      /^\+/,
      `handed down by /${above}`,
    );
  }
  const group = groups.acquire('hello', { memoryMaxBytes: 1000, pidsMax: 3 });
  const directory = join(unified, 'sfsd/instances/fn-hello-1');
  t.same(group.procsFiles, [join(directory, 'cgroup.procs')]);
  t.equal(readFileSync(join(directory, 'memory.max'), 'utf8'), '1000');
  t.equal(readFileSync(join(directory, 'pids.max'), 'utf8'), '3');
  writeFileSync(join(directory, 'cgroup.procs'), '11\n12\n');
  t.same(group.pids(), [11, 12]);
  writeFileSync(
    join(directory, 'memory.events'),
    'low 0\nhigh 0\nmax 4\noom 2\noom_kill 2\noom_group_kill 0\n',
  );
  t.equal(group.oomKills(), 2);
  writeFileSync(join(directory, 'cgroup.kill'), '');
  group.kill();
  t.equal(readFileSync(join(directory, 'cgroup.kill'), 'utf8'), '1');
});

t.test(
  'without cgroups an instance runs without a group, but not without the limits it asks for',
  async (t) => {
    const none = CgroupLayout.detect({ mountinfo: '' });
    const groups = new InstanceCgroups(none, { parent: '/sfsd' });
    const group = groups.acquire('hello', {});
    t.same([group.procsFiles, group.pids(), group.oomKills()], [[], [], 0]);
    group.kill();
    group.release();
    t.throws(() => groups.acquire('hello', { pidsMax: 3 }), { code: 'SFSD_ERR_KERNEL' });
    groups.close();
  },
);
