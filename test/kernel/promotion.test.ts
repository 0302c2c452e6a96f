/**
 * Promotion and demotion of processes on the real kernel.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { affinityBytes, cpusIn } from '../../src/linux/cpus.js';
import type { Libc } from '../../src/linux/libc.js';
import { skipUnlessRoot, startPython, startTimeOf, until } from './children.js';
import { cpuOfWorker, harness } from './harness.js';

const options = { skip: skipUnlessRoot };

// A full machine may take its time.
t.setTimeout(150_000);

t.test('a promoted process is FIFO with reset-on-fork, and a demoted one what it was', options, async (t) => {
  const { kernel, policy, nice, libc, key } = harness(t);
  const child = await startPython(t, 'hear()');
  const { group, pid } = child;
  t.equal(kernel.promote(group), 'gone', 'a group that is not attached is unknown');
  for (const [number, name] of [
    [0, 'OTHER'],
    [3, 'BATCH'],
    [5, 'IDLE'],
    [3 | 0x40000000, 'BATCH reset'],
    [0, 'OTHER'],
  ] as const) {
    libc.schedSetscheduler(pid, number, 0);
    libc.setpriority(pid, 7);
    t.equal(policy(pid), name);
    t.equal(kernel.attach(group, key()), 'ok');
    t.equal(kernel.promote(group), 'ok');
    t.equal(kernel.promote(group), 'ok', 'promotion is idempotent');
    t.equal(policy(pid), 'FIFO 5 reset');
    t.equal(kernel.demote(group), 'ok');
    t.equal(kernel.demote(group), 'ok', 'demotion is idempotent');
    t.equal(policy(pid), name);
    t.equal(nice(pid), 7);
    kernel.promote(group);
    kernel.release(group);
    t.equal(policy(pid), name, 'release demotes');
  }
});

t.test('a nice value changed while promoted is kept', options, async (t) => {
  const { kernel, nice, libc, key } = harness(t);
  const { group, pid } = await startPython(t, 'hear()');
  kernel.attach(group, key());
  kernel.promote(group);
  libc.setpriority(pid, 11);
  kernel.demote(group);
  t.equal(nice(pid), 11);
});

t.test("the fair scheduler's slice of a task outlives its promotion", options, async (t) => {
  const { kernel, libc, key } = harness(t);
  const { group, pid } = await startPython(t, 'hear()');
  const bytes = new Uint8Array(48);
  const words = new Uint32Array(bytes.buffer);
  libc.schedGetattr(pid, bytes);
  words[6] = 20_000_000;
  t.ok(libc.schedSetattr(pid, bytes) >= 0);
  kernel.attach(group, key());
  kernel.promote(group);
  kernel.demote(group);
  libc.schedGetattr(pid, bytes);
  t.equal(words[6], 20_000_000);
});

t.test(
  'a paused process is under the fair scheduler, and FIFO or what it was afterwards',
  options,
  async (t) => {
    const { kernel, policy, nice, libc, key } = harness(t);
    const child = await startPython(
      t,
      `
while True:
    hear()
    pid = os.fork()
    if pid == 0:
        time.sleep(15)
        os._exit(0)
    say(pid)`,
    );
    const { group, pid } = child;
    libc.setpriority(pid, 3);
    const autogroup = readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'utf8').trim() === '1';
    kernel.attach(group, key());
    kernel.promote(group);
    t.equal(kernel.pause(group), 'ok');
    t.equal(kernel.pause(group), 'ok', 'pausing is idempotent');
    t.equal(policy(pid), 'OTHER reset');
    t.equal(nice(pid), autogroup ? -20 : 3, 'ahead of other functions, where it is ahead of them alone');
    const born = Number(await child.ask());
    t.match(
      [policy(born), nice(born)],
      ['OTHER', autogroup ? 0 : 3],
      'what is born meanwhile is not ahead of anybody',
    );
    t.equal(kernel.promote(group), 'ok');
    kernel.observe(group);
    t.match([policy(pid), nice(pid)], [/^(FIFO|RR) 5 reset$/, 3]);
    kernel.pause(group);
    t.equal(kernel.demote(group), 'ok');
    for (const one of [pid, born]) t.equal(policy(one), 'OTHER');
    t.equal(nice(pid), 3);
    kernel.promote(group);
    kernel.pause(group);
    kernel.release(group);
    t.match([policy(pid), nice(pid)], ['OTHER', 3], 'release ends a pause');
  },
);

t.test(
  'a process that was never promoted can be paused, promoted after it, and is what it was at its release',
  options,
  async (t) => {
    const { kernel, policy, nice, libc, key } = harness(t);
    const { group, pid } = await startPython(t, 'hear()');
    libc.setpriority(pid, 4);
    kernel.attach(group, key());
    t.equal(kernel.pause(group), 'ok');
    t.equal(policy(pid), 'OTHER reset');
    t.equal(kernel.promote(group), 'ok');
    t.match([policy(pid), nice(pid)], ['FIFO 5 reset', 4]);
    t.equal(kernel.demote(group), 'ok');
    t.match([policy(pid), nice(pid)], ['OTHER', 4]);
    kernel.pause(group);
    kernel.release(group);
    t.match([policy(pid), nice(pid)], ['OTHER', 4]);
  },
);

t.test('all threads are promoted, by turns, and a late one at the next observation', options, async (t) => {
  const { kernel, policy, key } = harness(t);
  const child = await startPython(
    t,
    `
import _thread
def park():
    say(threading.get_native_id())
    time.sleep(20)
while True:
    hear()
    _thread.start_new_thread(park, ())
`,
  );
  const { pid, group } = child;
  const first = Number(await child.ask());
  kernel.attach(group, key());
  t.equal(kernel.promote(group), 'ok');
  t.equal(policy(pid), 'RR 5 reset', 'several threads share by turns');
  t.equal(policy(first), 'RR 5 reset');
  const late = Number(await child.ask());
  t.equal(policy(late), 'OTHER', 'a newborn starts under the fair scheduler');
  t.equal(kernel.observe(group).runnableMax, 3);
  t.equal(policy(late), 'RR 5 reset');
  kernel.demote(group);
  for (const tid of [pid, first, late]) t.equal(policy(tid), 'OTHER');
});

t.test('a single thread becomes one of several when it starts another', options, async (t) => {
  const { kernel, policy, key } = harness(t);
  const child = await startPython(
    t,
    `
hear()
threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
say('started')
hear()`,
  );
  kernel.attach(child.group, key());
  kernel.promote(child.group);
  t.equal(policy(child.pid), 'FIFO 5 reset');
  await child.ask();
  kernel.observe(child.group);
  t.equal(policy(child.pid), 'RR 5 reset');
});

t.test('children are members: those there at promotion and those born later', options, async (t) => {
  const { kernel, policy, key } = harness(t);
  const child = await startPython(
    t,
    `
def born():
    pid = os.fork()
    if pid == 0:
        inner = os.fork()
        if inner == 0:
            time.sleep(15)
            os._exit(0)
        say(os.getpid(), inner)
        time.sleep(15)
        os._exit(0)
while True:
    hear()
    born()
`,
  );
  const early = (await child.ask()).split(' ').map(Number);
  for (const pid of early) t.teardown(() => process.kill(pid, 'SIGKILL'));
  kernel.attach(child.group, key());
  kernel.promote(child.group);
  for (const pid of early) t.equal(policy(pid), 'RR 5 reset');
  const late = (await child.ask()).split(' ').map(Number);
  for (const pid of late) t.teardown(() => process.kill(pid, 'SIGKILL'));
  for (const pid of late) t.equal(policy(pid), 'OTHER');
  t.equal(kernel.observe(child.group).runnableMax, 5);
  for (const pid of late) t.equal(policy(pid), 'RR 5 reset');
  kernel.demote(child.group);
  for (const pid of [child.pid, ...early, ...late]) t.equal(policy(pid), 'OTHER');
});

t.test('a double-forked child is not real-time one observation after it was orphaned', options, async (t) => {
  const { kernel, policy, key } = harness(t);
  const child = await startPython(
    t,
    `
readable, writable = os.pipe()
middle = os.fork()
if middle == 0:
    orphan = os.fork()
    if orphan == 0:
        time.sleep(15)
        os._exit(0)
    say(orphan)
    os.read(readable, 1)
    os._exit(0)
say(middle)
hear()
os.write(writable, b'x')
hear()
os.waitpid(middle, 0)
say('reaped')
hear()`,
  );
  const spoken = [Number(await child.next()), Number(await child.next())];
  const middle = spoken.find((pid) => parentOf(pid) === child.pid) ?? 0;
  const orphan = spoken.find((pid) => pid !== middle) ?? 0;
  t.teardown(() => process.kill(orphan, 'SIGKILL'));
  kernel.attach(child.group, key());
  t.equal(kernel.promote(child.group), 'ok');
  t.equal(policy(orphan), 'RR 5 reset');
  child.tell();
  await until(() => parentOf(orphan) !== middle, 'the middle process is a zombie');
  kernel.observe(child.group);
  t.equal(policy(orphan), 'OTHER');
  t.equal(policy(child.pid), 'RR 5 reset', 'the function itself goes on');
  t.equal(await child.ask(), 'reaped');
  t.not(kernel.observe(child.group).state, 'gone');
});

t.test('a double-forked child is demoted with its group', options, async (t) => {
  const { kernel, policy, key } = harness(t);
  const child = await startPython(
    t,
    `
readable, writable = os.pipe()
middle = os.fork()
if middle == 0:
    orphan = os.fork()
    if orphan == 0:
        time.sleep(15)
        os._exit(0)
    say(orphan)
    os.read(readable, 1)
    os._exit(0)
hear()
os.write(writable, b'x')
os.waitpid(middle, 0)
say('reaped')
hear()`,
  );
  const orphan = Number(await child.next());
  t.teardown(() => process.kill(orphan, 'SIGKILL'));
  kernel.attach(child.group, key());
  kernel.promote(child.group);
  t.equal(policy(orphan), 'RR 5 reset');
  await child.ask();
  kernel.demote(child.group);
  t.equal(policy(orphan), 'OTHER', 'though it had left the tree before');
});

t.test('an ended function leaves no real-time child behind', options, async (t) => {
  const { kernel, policy, key, exits } = harness(t);
  const child = await startPython(
    t,
    `
left = os.fork()
if left == 0:
    time.sleep(15)
    os._exit(0)
say(left)
hear()`,
  );
  const left = Number(await child.next());
  t.teardown(() => process.kill(left, 'SIGKILL'));
  const own = key();
  kernel.attach(child.group, own);
  kernel.promote(child.group);
  child.kill();
  t.same(exits(1), [own]);
  t.equal(policy(left), 'RR 5 reset');
  t.equal(kernel.demote(child.group), 'gone');
  t.equal(policy(left), 'OTHER');
});

t.test('a process attached on its own is no part of its parent', options, async (t) => {
  const { kernel, policy, key } = harness(t);
  const child = await startPython(
    t,
    `
inner = os.fork()
if inner == 0:
    time.sleep(15)
    os._exit(0)
say(inner)
hear()`,
  );
  const inner = Number(await child.next());
  t.teardown(() => process.kill(inner, 'SIGKILL'));
  kernel.attach(child.group, key());
  kernel.promote(child.group);
  t.equal(policy(inner), 'RR 5 reset');
  const own = { kind: 'process', pid: inner, startTime: startTimeOf(inner) } as const;
  t.equal(kernel.attach(own, key()), 'ok');
  t.equal(policy(inner), 'OTHER', 'it waits for its own promotion');
  t.equal(kernel.promote(own), 'ok');
  kernel.demote(child.group);
  t.equal(policy(inner), 'FIFO 5 reset', "its parent's demotion is not its own");
});

t.test('what is real-time by other hands is left alone', options, async (t) => {
  const { kernel, policy, libc, key } = harness(t);
  const { group, pid } = await startPython(t, 'hear()');
  libc.schedSetscheduler(pid, 2, 3);
  kernel.attach(group, key());
  t.equal(kernel.promote(group), 'denied');
  kernel.release(group);
  t.equal(policy(pid), 'RR 3');
});

t.test('in mode off every promotion is denied and nothing is touched', options, async (t) => {
  const { kernel, policy, key } = harness(t, { mode: 'off' });
  const { group, pid } = await startPython(t, 'hear()');
  t.equal(kernel.attach(group, key()), 'ok');
  t.equal(kernel.promote(group), 'denied');
  t.equal(policy(pid), 'OTHER');
  t.equal(kernel.demote(group), 'ok');
});

function parentOf(pid: number): number {
  return Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

t.test(
  'a promotion that names a worker binds to its core, and the demotion gives all CPUs back',
  options,
  async (t) => {
    const { kernel, libc, key } = harness(t);
    const { group, pid } = await startPython(t, 'hear()');
    const before = allowedCpus(libc, pid);
    kernel.attach(group, key());
    t.equal(kernel.promote(group, 1), 'ok');
    t.same(allowedCpus(libc, pid), [cpuOfWorker(1)]);
    kernel.demote(group);
    t.same(allowedCpus(libc, pid), before);
    t.equal(kernel.promote(group), 'ok');
    t.same(allowedCpus(libc, pid), before, 'without a worker it floats');
  },
);

function allowedCpus(libc: Libc, pid: number): number[] {
  const mask = new Uint8Array(affinityBytes);
  libc.schedGetaffinity(pid, mask);
  return cpusIn(mask);
}
