/**
 * Which processes may be taken hold of, and that a number used again is never taken for the process it named before.
 */
import t from 'tap';
import { openIdentity, procIsOurs } from '../../src/linux/identity.js';
import { ProcStat } from '../../src/linux/proc-stat.js';
import { type Child, skipUnlessRoot, startPython, startTimeOf } from './children.js';
import { harness, requireLibc } from './harness.js';

const options = { skip: skipUnlessRoot };

// A full machine may take its time.
t.setTimeout(150_000);

t.test('pid 1, kernel threads, this daemon and single threads are denied', options, async (t) => {
  const { kernel, key } = harness(t);
  const child = await startPython(
    t,
    'threading.Thread(target=lambda: (say(threading.get_native_id()), time.sleep(20))).start()\nhear()',
  );
  const thread = Number(await child.next());
  const kernelThread = 2;
  const itsChild = kernelThread + 1;
  for (const [pid, what] of [
    [1, 'pid 1'],
    [kernelThread, 'kthreadd'],
    [itsChild, 'a kernel thread'],
    [process.pid, 'ourselves'],
    [thread, 'a thread'],
  ] as const) {
    const group = { kind: 'process', pid, startTime: startTimeOf(pid) } as const;
    t.equal(kernel.attach(group, key()), 'denied', what);
    t.equal(kernel.promote(group), 'gone', 'and stays unknown');
  }
});

t.test('a process that is not there, or started at another time, is gone', options, async (t) => {
  const libc = requireLibc();
  const child = await startPython(t, 'hear()');
  for (const pid of [0, -5, 2 ** 22 - 1, 2 ** 31, 1.5, Number.NaN]) t.equal(openIdentity(libc, pid), 'gone');
  t.equal(openIdentity(libc, child.pid, '1'), 'gone');
  const identity = openIdentity(libc, child.pid, child.startTime);
  if (typeof identity === 'string') throw new Error(identity);
  t.equal(identity.startTime, child.startTime);
  t.equal(identity.threads, 1);
  child.kill();
  await child.ended;
  const stat = new ProcStat();
  t.equal(stat.read(libc, identity.statFd), 'gone', 'gone between open and read');
  t.equal(openIdentity(libc, child.pid, child.startTime), 'gone');
  libc.close(identity.pidfd);
  libc.close(identity.statFd);
  t.equal(procIsOurs(), true);
});

t.test('odd names do not shift the fields', options, async (t) => {
  const libc = requireLibc();
  const child = await startPython(
    t,
    `
while True:
    name = hear()
    with open('/proc/self/comm', 'wb') as file: file.write(bytes.fromhex(name))
    say('named')`,
  );
  const stat = new ProcStat();
  for (const name of [
    ') R 1 (',
    'a b c',
    '((((',
    '))))',
    'two\nlines',
    ') Z 1 1 1\n',
    '\u00e9\u{1f600}',
    ' ',
  ]) {
    t.equal(await child.ask(Buffer.from(name).toString('hex')), 'named');
    const identity = openIdentity(libc, child.pid, child.startTime);
    if (typeof identity === 'string') throw new Error(`${JSON.stringify(name)}: ${identity}`);
    t.equal(stat.read(libc, identity.statFd), 'ok');
    t.equal(stat.startTime, child.startTime, JSON.stringify(name));
    t.equal(stat.threads, 1);
    t.notOk(stat.hasEnded);
    libc.close(identity.pidfd);
    libc.close(identity.statFd);
  }
});

t.test('a number given to a new process is not taken for the old one', options, async (t) => {
  const { kernel, key, policy, libc } = harness(t);
  const old = await startPython(t, 'hear()');
  kernel.attach(old.group, key());
  kernel.promote(old.group);
  old.kill();
  await old.ended;
  const reused = await reuse(t, old);
  if (reused === undefined) return;
  libc.schedSetscheduler(old.pid, 3, 0);
  t.equal(kernel.observe(old.group).state, 'gone');
  t.equal(kernel.promote(old.group), 'gone');
  t.equal(kernel.demote(old.group), 'gone');
  kernel.release(old.group);
  t.equal(policy(old.pid), 'BATCH', 'the new process was not touched');
  t.not(reused, old.startTime);
  t.equal(kernel.attach(old.group, key()), 'gone');
  t.equal(kernel.attach({ ...old.group, startTime: reused }, key()), 'ok');
});

/** Makes the kernel give the same number again. Others fork too, so it is tried a few times. */
async function reuse(t: Parameters<typeof harness>[0], old: Child): Promise<string | undefined> {
  const child = await startPython(
    t,
    `
for _ in range(200):
    with open('/proc/sys/kernel/ns_last_pid', 'w') as file: file.write('${old.pid - 1}')
    pid = os.fork()
    if pid == 0:
        time.sleep(15)
        os._exit(0)
    if pid == ${old.pid}: break
    os.kill(pid, 9)
    os.waitpid(pid, 0)
say(pid)
hear()
os.kill(pid, 9)
say('killed')
hear()`,
  );
  t.teardown(() => child.ask());
  const pid = Number(await child.next());
  if (pid === old.pid) return startTimeOf(pid);
  t.pass('pid reuse', { skip: 'the number was taken by somebody else at each of 200 attempts' });
  return undefined;
}
