/**
 * What LinuxKernel sees of running, sleeping and ending tasks.
 */
import { readdirSync } from 'node:fs';
import t from 'tap';
import { fromMs } from '../../src/contracts/time.js';
import { skipUnlessRoot, startPython, stateOf, until } from './children.js';
import { harness } from './harness.js';

const options = { skip: skipUnlessRoot };
const sleeping = (pid: number) => until(() => stateOf(pid) === 'S', 'asleep');

// A full machine may take its time.
t.setTimeout(150_000);

t.test(
  'a sleeping process is blocked, a spinning one runnable, a stopped one blocked',
  options,
  async (t) => {
    const { kernel, key } = harness(t);
    const child = await startPython(
      t,
      `
hear()
say('spinning')
spin(1)
say('done')
hear()`,
    );
    await sleeping(child.pid);
    kernel.attach(child.group, key());
    for (let poll = 0; poll < 5; poll++) t.equal(kernel.observe(child.group).state, 'blocked');
    t.equal(kernel.observe(child.group).cpuTime, 0, 'what it used before it was attached is not charged');
    await child.ask();
    for (let poll = 0; poll < 50; poll++) t.equal(kernel.observe(child.group).state, 'runnable');
    child.kill('SIGSTOP');
    await until(() => stateOf(child.pid) === 'T', 'stopped');
    kernel.observe(child.group);
    t.equal(kernel.observe(child.group).state, 'blocked');
    child.kill('SIGCONT');
    t.equal(await child.next(), 'done');
    await sleeping(child.pid);
    kernel.observe(child.group);
    t.equal(kernel.observe(child.group).state, 'blocked', 'seen when the clock has stood still for one poll');
  },
);

t.test('one runnable thread makes its group runnable', options, async (t) => {
  const { kernel, key } = harness(t);
  const child = await startPython(
    t,
    `
def work():
    hear()
    say('spinning')
    spin(0.5)
    say('done')
    time.sleep(20)
for _ in range(4): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
threading.Thread(target=work, daemon=True).start()
say('ready')
time.sleep(20)`,
  );
  await child.next();
  kernel.attach(child.group, key());
  await sleeping(child.pid);
  await until(() => kernel.observe(child.group).state === 'blocked', 'its threads have started');
  t.equal(kernel.observe(child.group).runnableMax, 6);
  await child.ask();
  t.equal(kernel.observe(child.group).state, 'runnable');
  t.equal(stateOf(child.pid), 'S', 'its leading thread sleeps');
  await child.next();
});

t.test('a task that waits for a CPU is runnable though its clock stands still', options, async (t) => {
  const { kernel, key, libc } = harness(t);
  const codes = 'hear()\nsay("spinning")\nspin(0.6)\nsay("done")\nhear()';
  const [first, second] = [await startPython(t, codes), await startPython(t, codes)];
  const onFirstCpu = new Uint8Array(128);
  onFirstCpu[0] = 1;
  for (const child of [first, second]) libc.schedSetaffinity(child.pid, onFirstCpu);
  for (const child of [first, second]) kernel.attach(child.group, key());
  await second.ask();
  kernel.promote(first.group);
  await first.ask();
  const seen = new Set<string>();
  const end = Date.now() + 200;
  while (Date.now() < end) seen.add(kernel.observe(second.group).state);
  t.same([...seen], ['runnable']);
  kernel.demote(first.group);
  t.same(await Promise.all([first.next(), second.next()]), ['done', 'done']);
});

t.test('CPU time is exact after a demotion and never goes back', options, async (t) => {
  const { kernel, key, clock } = harness(t);
  const child = await startPython(t, 'hear()\nsay("spinning")\nspin(1)\nhear()');
  kernel.attach(child.group, key());
  kernel.promote(child.group);
  await child.ask();
  let last = 0;
  const end = clock.now() + 100_000;
  while (clock.now() < end) {
    const now = kernel.observe(child.group).cpuTime;
    t.ok(now >= last || t.fail('it went back'));
    last = now;
  }
  const before = clock.now();
  kernel.demote(child.group);
  const charged = kernel.observe(child.group).cpuTime;
  child.kill('SIGSTOP');
  await until(() => stateOf(child.pid) === 'T', 'stopped');
  const elapsed = clock.now() - before;
  const exact = kernel.observe(child.group).cpuTime;
  t.ok(
    exact >= charged && exact - charged <= elapsed,
    `${exact - charged} us used in the ${elapsed} us since`,
  );
});

t.test('CPU time of children is charged, and kept when they have ended', options, async (t) => {
  const { kernel, key } = harness(t);
  const child = await startPython(
    t,
    `
hear()
inner = os.fork()
if inner == 0:
    say('spinning')
    spin(0.3)
    say('spun')
    sys.stdin.readline()
    os._exit(0)
os.waitpid(inner, 0)
say('reaped')
time.sleep(20)`,
  );
  kernel.attach(child.group, key());
  await child.ask();
  t.equal(kernel.observe(child.group).state, 'runnable', 'by its child');
  t.equal(await child.next(), 'spun');
  kernel.observe(child.group);
  const { cpuTime, runnableMax } = kernel.observe(child.group);
  t.ok(cpuTime > 150_000, `${cpuTime} us`);
  t.equal(runnableMax, 2);
  t.equal(await child.ask(), 'reaped');
  kernel.observe(child.group);
  const after = kernel.observe(child.group);
  t.ok(after.cpuTime >= cpuTime);
  t.equal(after.runnableMax, 1);
});

t.test(
  'a sleeper that wakes, forks and waits is runnable by its child at the next observation',
  options,
  async (t) => {
    const { kernel, key, policy } = harness(t);
    const child = await startPython(
      t,
      `
import subprocess
while True:
    how = hear()
    if how == 'fork':
        inner = os.fork()
        if inner == 0:
            say(os.getpid())
            spin(10)
            os._exit(0)
    else:
        inner = os.posix_spawn('/bin/sh', ['sh', '-c', 'ulimit -t 5; echo $$; while :; do :; done'], {})
    os.waitpid(inner, 0)
    say('reaped')`,
    );
    kernel.attach(child.group, key());
    for (const how of ['fork', 'spawn', 'fork', 'spawn']) {
      await sleeping(child.pid);
      await until(() => kernel.observe(child.group).state === 'blocked', 'blocked');
      for (let poll = 0; poll < 5; poll++) kernel.observe(child.group);
      const inner = Number(await child.ask(how));
      await sleeping(child.pid);
      t.equal(kernel.observe(child.group).state, 'runnable', how);
      kernel.promote(child.group);
      t.equal(policy(inner), 'RR 5 reset');
      kernel.demote(child.group);
      process.kill(inner, 'SIGKILL');
      t.equal(await child.next(), 'reaped');
    }
  },
);

t.test('a zombie leader with living threads is not gone', options, async (t) => {
  const { kernel, key, exits, policy } = harness(t);
  const child = await startPython(
    t,
    `
def work():
    say(threading.get_native_id())
    time.sleep(20)
threading.Thread(target=work).start()
hear()
ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)`,
  );
  const worker = Number(await child.next());
  child.tell();
  await until(() => stateOf(child.pid) === 'Z', 'the leader is a zombie');
  t.equal(kernel.attach(child.group, key()), 'ok');
  t.equal(kernel.promote(child.group), 'ok');
  t.equal(policy(worker), 'RR 5 reset');
  t.equal(kernel.observe(child.group).state, 'blocked');
  child.kill();
  t.equal(exits(1).length, 1);
  t.equal(kernel.observe(child.group).state, 'gone');
});

t.test('an ended process is gone, reaped or not', options, async (t) => {
  const { kernel, key } = harness(t);
  const child = await startPython(t, 'hear()');
  kernel.attach(child.group, key());
  child.kill();
  await child.ended;
  t.equal(kernel.observe(child.group).state, 'gone');
  t.equal(kernel.observe(child.group).runnableMax, 0);
  t.equal(kernel.promote(child.group), 'gone');
  t.equal(kernel.demote(child.group), 'gone');
  t.equal(kernel.attach(child.group, key()), 'gone', 'a known group that has ended is not bound anew');
  kernel.release(child.group);
  t.equal(kernel.attach(child.group, key()), 'gone');
  t.equal(kernel.observe(child.group).state, 'gone', 'what was released is unknown');
});

t.test('a group attached again counts its CPU time from 0 under its new key', options, async (t) => {
  const { kernel, key, exits } = harness(t);
  const child = await startPython(t, 'hear()\nspin(0.05)\nsay("done")\nhear()');
  kernel.attach(child.group, key());
  await child.ask();
  kernel.observe(child.group);
  t.ok(kernel.observe(child.group).cpuTime > 20_000);
  const second = key();
  t.equal(kernel.attach({ ...child.group }, second), 'ok', 'an equal group is the same group');
  t.ok(kernel.observe(child.group).cpuTime < 1000);
  child.kill();
  t.same(exits(1), [second]);
});

t.test('of several that die at once each is reported once', options, async (t) => {
  const { kernel, key, exits } = harness(t);
  const children = await Promise.all(Array.from({ length: 12 }, () => startPython(t, 'hear()')));
  const keys = children.map((child) => {
    const own = key();
    t.equal(kernel.attach(child.group, own), 'ok');
    return own;
  });
  for (const child of children) child.kill();
  const first = children[0];
  if (first !== undefined) kernel.release(first.group);
  t.same(
    exits(11).sort((left, right) => left - right),
    keys.slice(1),
    'but not one that was released meanwhile',
  );
  t.same(exits(1, fromMs(50)), [], 'and none again');
});

t.test('a released group leaves no descriptor open', options, async (t) => {
  const { kernel, key } = harness(t);
  const child = await startPython(
    t,
    `
for _ in range(3): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
inner = os.fork()
if inner == 0:
    hear()
say('ready')
time.sleep(20)`,
  );
  await child.next();
  const before = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 3; round++) {
    kernel.attach(child.group, key());
    kernel.promote(child.group);
    kernel.observe(child.group);
    kernel.release(child.group);
  }
  t.equal(readdirSync('/proc/self/fd').length, before);
});
