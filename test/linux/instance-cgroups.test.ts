import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import type { InstanceCgroup } from '../../src/linux/instance-cgroup.js';
import { InstanceCgroups } from '../../src/linux/instance-cgroups.js';
import { interpreter, until } from '../kernel/children.js';

const layout = CgroupLayout.detect();
const parent = `/sfsd-test-instances-${process.pid}`;
const controllers = ['memory', 'pids'];
const homes = layout.unifiedPath ?? layout.controllerPath('pids') ?? '';
const missing =
  process.getuid?.() !== 0
    ? 'needs root: makes cgroups'
    : controllers.some((controller) => layout.tree(controller) === undefined)
      ? 'needs the memory and pids controllers'
      : false;
const skip = { skip: missing };
const skipHybrid = { skip: missing || (layout.version === 'hybrid' ? false : 'needs a hybrid layout') };
const skipV1 = {
  skip: missing || (controllers.every((name) => layout.tree(name)?.version === 1) ? false : 'needs v1 trees'),
};

function groupsFor(t: Test): InstanceCgroups {
  const groups = new InstanceCgroups(layout, { parent });
  t.teardown(() => groups.close());
  return groups;
}

function filesOf({ birthplace, procsFiles }: InstanceCgroup): readonly string[] {
  return birthplace === undefined ? procsFiles : [join(birthplace, 'cgroup.procs'), ...procsFiles];
}

/** Runs a shell command inside the group, which it joins by itself as a launched function does. */
function runIn(group: InstanceCgroup, command: string): Promise<number | NodeJS.Signals | null> {
  const joining = filesOf(group)
    .map((file) => `echo 0 > ${file}`)
    .join(' && ');
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
  t.not(next, group, 'and the group is not used again');
  t.notOk(
    filesOf(group).some((file) => existsSync(file)),
    'but removed',
  );
  t.equal(await runIn(next, 'sleep 0'), 0);
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
});

t.test('a v1 tree is joined by a write only under a limit of its own', skipHybrid, async (t) => {
  const groups = groupsFor(t);
  const joined = (group: InstanceCgroup) => group.procsFiles.map((file) => file.split('/').at(-4));
  const free = groups.acquire('joins', {});
  t.same(joined(free), []);
  t.equal(dirname(free.birthplace ?? ''), join(layout.unifiedPath ?? '', parent));
  free.release();
  const few = groups.acquire('joins', { pidsMax: 4 });
  t.equal(few, free);
  t.same(joined(few), ['pids']);
  few.release();
  t.same(joined(groups.acquire('joins', { memoryMaxBytes: 2 ** 25 })), ['memory']);
  few.release();
  const none = groups.acquire('joins', {});
  t.equal(
    await runIn(none, 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait'),
    0,
    'the old limit is gone',
  );
  none.release();
});

t.test('leftovers are killed once, and a group without any is known to be empty', skip, async (t) => {
  const groups = groupsFor(t);
  const group = groups.acquire('leaver', {});
  await runIn(group, '(setsid sleep 19 &) ; exit 0');
  t.notOk(group.isEmpty());
  group.killLeftovers();
  await until(() => group.isEmpty(), 'killed');
  group.release();
  const tidy = groups.acquire('leaver', {});
  tidy.killLeftovers();
  tidy.release();
  const next = groups.acquire('leaver', {});
  t.equal(next, tidy);
  const done = runIn(next, 'sleep 15');
  await until(() => !next.isEmpty(), 'what was known of the last use does not hold for the next');
  next.kill();
  await done;
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
  process.kill(group.pids().at(-1) ?? 0, 'SIGKILL');
  await done;
  await until(() => group.pids().length === 0, 'ended');
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
    for (const file of filesOf(group)) t.ok(existsSync(file), file);
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
  const directory = join(homes, parent);
  mkdirSync(join(directory, 'fn-old-1'), { recursive: true });
  const groups = groupsFor(t);
  t.notOk(existsSync(join(directory, 'fn-old-1')));
  mkdirSync(join(directory, 'fn-old-1'));
  const group = groups.acquire('old', {});
  t.ok(filesOf(group).every((file) => file.includes('fn-old-2')));
  group.release();
  groups.close();
  new InstanceCgroups(layout, { parent }).close();
});

t.test('idle groups are kept up to a bound', skip, async (t) => {
  const groups = groupsFor(t);
  const used = Array.from({ length: 20 }, () => groups.acquire('many', {}));
  for (const group of used) group.release();
  const directory = join(homes, parent);
  t.equal(readdirSync(directory).filter((name) => name.startsWith('fn-')).length, 16);
});

t.test('nothing is left of groups that were closed', skip, async (t) => {
  const trees = [homes, ...controllers.map((name) => layout.controllerPath(name) ?? '')];
  for (const tree of trees) t.notOk(existsSync(join(tree, parent)), tree);
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
  t.equal(group.birthplace, directory);
  t.same(group.procsFiles, [], 'born there, a member need not join');
  t.equal(readFileSync(join(directory, 'memory.max'), 'utf8'), '1000');
  t.equal(readFileSync(join(directory, 'pids.max'), 'utf8'), '3');
  writeFileSync(join(directory, 'cgroup.procs'), '11\n12\n');
  t.same(group.pids(), [11, 12]);
  writeFileSync(
    join(directory, 'memory.events'),
    'low 0\nhigh 0\nmax 4\noom 2\noom_kill 2\noom_group_kill 0\n',
  );
  t.equal(group.oomKills(), 2);
  writeFileSync(join(directory, 'cgroup.events'), 'populated 1\nfrozen 0\n');
  t.notOk(group.isEmpty());
  writeFileSync(join(directory, 'cgroup.kill'), '');
  group.killLeftovers();
  t.equal(readFileSync(join(directory, 'cgroup.kill'), 'utf8'), '1');
  writeFileSync(join(directory, 'cgroup.events'), 'populated 0\nfrozen 0\n');
  t.ok(group.isEmpty());
});

t.test('without cgroup2 the home of a group is in the pids tree, and is always joined', async (t) => {
  const root = t.testdir({ pids: {}, memory: {} });
  const v1 = CgroupLayout.detect({
    root,
    mountinfo: ['pids', 'memory']
      .map((name) => `35 22 0:30 / /${name} rw - cgroup cgroup rw,${name}\n`)
      .join(''),
  });
  const groups = new InstanceCgroups(v1, { parent: '/sfsd' });
  const group = groups.acquire('hello', {});
  const procs = join(root, 'pids/sfsd/fn-hello-1/cgroup.procs');
  t.equal(group.birthplace, undefined);
  t.same(group.procsFiles, [procs]);
  t.notOk(existsSync(join(root, 'memory/sfsd/fn-hello-1')), 'no limit, no group');
  writeFileSync(procs, '11\n');
  t.notOk(group.isEmpty());
  writeFileSync(procs, '');
  t.ok(group.isEmpty());
});

t.test('where the kernel has no cgroup.kill a group is frozen while it is killed', async (t) => {
  const root = t.testdir({ unified: {} });
  const old = CgroupLayout.detect({ root, mountinfo: '35 22 0:30 / /unified rw - cgroup2 cgroup2 rw\n' });
  const group = new InstanceCgroups(old, { parent: '/sfsd' }).acquire('hello', {});
  const child = spawn('sleep', ['15']);
  const file = (name: string) => join(root, 'unified/sfsd/fn-hello-1', name);
  writeFileSync(file('cgroup.procs'), `${child.pid}\n`);
  writeFileSync(file('cgroup.freeze'), '');
  const ended = once(child, 'exit');
  group.kill();
  t.same(await ended, [null, 'SIGKILL']);
  t.equal(readFileSync(file('cgroup.freeze'), 'utf8'), '1');
});

t.test(
  'without cgroups an instance runs without a group, but not without the limits it asks for',
  async (t) => {
    const none = CgroupLayout.detect({ mountinfo: '' });
    const groups = new InstanceCgroups(none, { parent: '/sfsd' });
    const group = groups.acquire('hello', {});
    t.same([group.procsFiles, group.pids(), group.isEmpty(), group.oomKills()], [[], [], true, 0]);
    group.kill();
    group.release();
    t.throws(() => groups.acquire('hello', { pidsMax: 3 }), { code: 'SFSD_ERR_KERNEL' });
    groups.close();
  },
);

t.test('a tree in which no group can be made is done without, and named', async (t) => {
  // Below a file nothing can be made by anybody, but that is another fault; a directory of sysfs refuses root, too.
  const refusing = '/sys/kernel';
  const lines = [
    `1 0 0:1 / ${refusing} rw - cgroup2 cgroup2 rw`,
    `2 0 0:2 / ${refusing}/slab rw - cgroup cgroup rw,pids`,
  ];
  const groups = new InstanceCgroups(CgroupLayout.detect({ mountinfo: lines.join('\n') }), { parent });
  t.same(groups.refusedMounts, [refusing, `${refusing}/slab`]);
  const group = groups.acquire('free', {});
  t.equal(group.birthplace, undefined);
  t.same(group.procsFiles, []);
  t.ok(group.isEmpty());
  group.release();
  t.throws(() => groups.acquire('bound', { pidsMax: 5 }), { code: 'SFSD_ERR_KERNEL' });
  groups.close();
});
