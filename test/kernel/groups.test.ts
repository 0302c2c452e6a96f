/**
 * The other kinds of groups: named threads, and cgroups; and tasks in a cpu group without a real-time budget.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { cpuGroupOf, makeGroup, removeGroup } from './cgroups.js';
import { skipUnlessRoot, startPython, stateOf, until } from './children.js';
import { harness } from './harness.js';

const options = { skip: skipUnlessRoot };
const layout = CgroupLayout.detect();
const cpuTree = layout.tree('cpu');
const skipCgroup =
  skipUnlessRoot || (layout.controllerPath('pids') === undefined ? 'needs the pids controller' : false);
const skipRtGroup =
  skipUnlessRoot ||
  (cpuTree?.version === 1 && existsSync(join(cpuTree.mount, 'cpu.rt_runtime_us'))
    ? false
    : 'needs CONFIG_RT_GROUP_SCHED and the v1 cpu tree');

// A full machine may take its time.
t.setTimeout(150_000);

t.test('a threads group is its named threads and nothing else', options, async (t) => {
  const { kernel, key, policy, exits } = harness(t);
  const child = await startPython(
    t,
    `
def work():
    say(threading.get_native_id())
    while True:
        gate.acquire()
        spin(0.05)
        say('spun')
gate = threading.Semaphore(0)
for _ in range(3): threading.Thread(target=work, daemon=True).start()
while hear(): gate.release()`,
  );
  const tids = [Number(await child.next()), Number(await child.next()), Number(await child.next())];
  const [first = 0, second = 0, third = 0] = tids;
  const group = {
    kind: 'threads',
    pid: child.pid,
    startTime: child.startTime,
    tids: [first, second],
  } as const;
  t.equal(kernel.attach({ ...group, startTime: '1' }, key()), 'gone');
  t.equal(kernel.attach({ ...group, tids: [1] }, key()), 'gone', 'a thread of another process is none of it');
  const own = key();
  t.equal(kernel.attach(group, own), 'ok');
  t.equal(kernel.promote(group), 'ok');
  t.same([child.pid, first, second, third].map(policy), ['OTHER', 'RR 5 reset', 'RR 5 reset', 'OTHER']);
  await until(() => kernel.observe(group).state === 'blocked', 'blocked');
  t.equal(kernel.observe(group).runnableMax, 2);
  const before = kernel.observe(group).cpuTime;
  for (let round = 0; round < 3; round++) t.equal(await child.ask(), 'spun');
  await until(() => kernel.observe(group).state === 'blocked', 'blocked');
  const used = kernel.observe(group).cpuTime - before;
  t.ok(used < 160_000, `${used} us`);
  t.equal(kernel.demote(group), 'ok');
  t.same([first, second].map(policy), ['OTHER', 'OTHER']);
  child.kill();
  t.same(exits(1), [own]);
  t.equal(kernel.observe(group).state, 'gone');
});

t.test('a cgroup is all its processes, those that join later too', { skip: skipCgroup }, async (t) => {
  const { kernel, key, policy } = harness(t);
  const path = `/sfsd-test-${process.pid}/inner`;
  const directory = makeGroup(t, join(layout.controllerPath('pids') ?? '', path));
  const group = { kind: 'cgroup', path } as const;
  t.equal(kernel.attach(group, key()), 'gone', 'an empty group has no task left');
  t.equal(kernel.attach({ kind: 'cgroup', path: '/no/such/group' }, key()), 'gone');
  t.equal(kernel.attach({ kind: 'cgroup', path: '/' }, key()), 'denied');
  t.equal(kernel.attach({ kind: 'cgroup', path: '/a/../..' }, key()), 'denied');
  const members = await Promise.all(
    [0, 1].map(() => startPython(t, 'hear()\nspin(0.05)\nsay("spun")\nhear()')),
  );
  const [first, second] = members;
  if (first === undefined || second === undefined) throw new Error('no members');
  const join_ = (pid: number) => writeFileSync(join(directory, 'cgroup.procs'), String(pid));
  join_(first.pid);
  const outer = { kind: 'cgroup', path: `/sfsd-test-${process.pid}` } as const;
  t.equal(kernel.attach(outer, key()), 'ok', 'groups below it count');
  t.equal(kernel.promote(outer), 'ok');
  t.equal(policy(first.pid), 'FIFO 5 reset');
  join_(second.pid);
  await first.ask();
  kernel.observe(outer);
  t.equal(kernel.observe(outer).runnableMax, 2);
  t.equal(policy(second.pid), 'RR 5 reset');
  t.ok(kernel.observe(outer).cpuTime > 40_000);
  await until(() => stateOf(first.pid) === 'S', 'asleep');
  await until(() => kernel.observe(outer).state === 'blocked', 'blocked');
  kernel.demote(outer);
  t.same(
    members.map((member) => policy(member.pid)),
    ['OTHER', 'OTHER'],
  );
  for (const member of members) member.kill();
  await Promise.all(members.map((member) => member.ended));
  await until(() => kernel.observe(outer).state === 'gone', 'gone');
  kernel.release(outer);
});

t.test(
  'a task in a cpu group without a real-time budget is moved, and moved back',
  { skip: skipRtGroup },
  async (t) => {
    const name = `sfsd-test-filter-${process.pid}`;
    const mount = cpuTree?.mount ?? '';
    const { kernel, key, policy, libc } = harness(t, { rtGroupName: name, filterShare: 0 });
    const home = `/sfsd-test-cpu-${process.pid}`;
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
    const { pid, group } = child;
    writeFileSync(join(directory, 'cgroup.procs'), String(pid));
    t.equal(libc.schedSetscheduler(pid, 1, 1), -1, 'EPERM: the group has no budget');
    kernel.attach(group, key());
    t.equal(kernel.promote(group), 'ok');
    t.equal(policy(pid), 'FIFO 5 reset');
    t.equal(cpuGroupOf(pid), `/${name}`);
    const inner = Number(await child.ask());
    t.teardown(() => process.kill(inner, 'SIGKILL'));
    t.equal(cpuGroupOf(inner), `/${name}`, 'what is born in our group');
    t.equal(kernel.demote(group), 'ok');
    t.equal(policy(pid), 'OTHER');
    t.equal(cpuGroupOf(pid), home);
    kernel.observe(group);
    kernel.observe(group);
    t.equal(kernel.promote(group), 'ok');
    t.equal(policy(inner), 'RR 5 reset');
    kernel.demote(group);
    t.same([cpuGroupOf(pid), cpuGroupOf(inner)], [home, home], 'goes where its parent came from');
    kernel.close();
    t.notOk(existsSync(join(mount, name)), 'our group is removed');
  },
);

t.test(
  'a task for which no budget is left is denied, at once the second time',
  { skip: skipRtGroup },
  async (t) => {
    // A parent without a budget of its own cannot give one to our group.
    const mount = cpuTree?.mount ?? '';
    const poor = `sfsd-test-poor-${process.pid}`;
    const { kernel, key, policy } = harness(t, { rtGroupName: `${poor}/filter` });
    const directory = makeGroup(t, join(mount, poor));
    t.teardown(() => removeGroup(join(directory, 'filter')));
    const child = await startPython(t, 'hear()');
    writeFileSync(join(directory, 'cgroup.procs'), String(child.pid));
    kernel.attach(child.group, key());
    t.equal(kernel.promote(child.group), 'denied');
    t.equal(kernel.promote(child.group), 'denied');
    t.equal(policy(child.pid), 'OTHER');
    t.equal(cpuGroupOf(child.pid), `/${poor}`);
  },
);
