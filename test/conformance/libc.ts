/**
 * What every implementation of Libc must do, on the real kernel. Run it against each.
 */
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { LoadLibc } from '../../src/linux/libc.js';

const errnoNoEntry = -2;
const errnoNoProcess = -3;
const errnoBadFd = -9;
const errnoTryAgain = -11;
const errnoInvalid = -22;
const errnoNameTooLong = -36;
const errnoRefused = -111;

export function libcConformance(name: string, load: LoadLibc): void {
  const loaded = load();
  t.test(`Libc by ${name}`, { skip: loaded.ok ? false : loaded.reason }, async (t) => {
    if (!loaded.ok) return;
    const { libc } = loaded;
    t.equal(libc.name, name);
    t.test('scheduling calls', async (t) => scheduling(t, libc));
    t.test('clocks', async (t) => clocks(t, libc));
    t.test('files', async (t) => files(t, libc));
    t.test('mappings and locks', async (t) => mappings(t, libc));
    t.test('pipes', async (t) => pipes(t, libc));
    t.test('waiting', async (t) => waiting(t, libc));
    t.test('channels', async (t) => channels(t, libc));
    t.test('sockets with a name', async (t) => namedSockets(t, libc));
  });
}

type Libc = Extract<ReturnType<LoadLibc>, { ok: true }>['libc'];

function scheduling(t: Test, libc: Libc): void {
  t.equal(libc.gettid(), process.pid, 'the main thread has the number of its process');
  t.equal(libc.schedGetscheduler(0), 0, 'SCHED_OTHER');
  t.equal(libc.schedGetpriority(0), 0);
  t.equal(libc.schedGetscheduler(-1), errnoInvalid, 'an error is the negative errno');
  t.equal(libc.schedGetscheduler(2 ** 22 - 1), errnoNoProcess);
  t.equal(libc.schedGetpriority(-1), errnoInvalid);
  t.equal(libc.schedSetscheduler(0, 99, 0), errnoInvalid);
  t.equal(libc.schedSetscheduler(0, 3, 0), 0, 'SCHED_BATCH');
  t.equal(libc.schedGetscheduler(0), 3);
  t.equal(libc.schedSetscheduler(0, 0, 0), 0);
  const attributes = new Uint8Array(48);
  t.ok(libc.schedGetattr(0, attributes) >= 0);
  const words = new Uint32Array(attributes.buffer);
  t.equal(words[1], 0, 'the policy is in the second word');
  t.equal(words[4], 20 - libc.getpriority(0), 'and nice in the fifth');
  t.ok(libc.schedSetattr(0, attributes) >= 0);
  t.equal(libc.schedGetattr(0, new Uint8Array(4)), errnoInvalid);
  t.equal(libc.setpriority(0, 20 - libc.getpriority(0)), 0);
  t.equal(
    libc.getpriority(2 ** 22 - 1),
    errnoNoProcess,
    'an error of getpriority cannot be taken for a value',
  );
  const mask = new Uint8Array(128);
  t.equal(libc.schedGetaffinity(0, mask), 0);
  t.ok(mask.some((byte) => byte !== 0));
  t.equal(libc.schedSetaffinity(0, mask), 0);
  t.equal(libc.schedSetaffinity(0, new Uint8Array(128)), errnoInvalid, 'no CPU at all is refused');
}

function clocks(t: Test, libc: Libc): void {
  const into = new BigInt64Array(2);
  t.equal(libc.clockGettime(1, into), 0);
  const [seconds = 0n, nanoseconds = 0n] = into;
  const ours = process.hrtime.bigint();
  const difference = ours - (seconds * 1_000_000_000n + nanoseconds);
  t.ok(difference >= 0n && difference < 1_000_000_000n, 'CLOCK_MONOTONIC, read just before');
  t.equal(libc.clockGettime((~(2 ** 22 - 1) << 3) | 2, into), errnoInvalid, 'the clock of no process');
}

function files(t: Test, libc: Libc): void {
  t.equal(libc.open('/no/such/file', 0), errnoNoEntry);
  const fd = libc.open('/proc/self/stat', 0);
  t.ok(fd >= 0);
  const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
  t.ok((Number.parseInt(flags, 8) & 0o2000000) !== 0, 'opened close-on-exec');
  const first = new Uint8Array(1024);
  t.ok(libc.pread(fd, first, 1024) > 40);
  t.ok(libc.pread(fd, first, 1024) > 40, 'always from the start');
  t.equal(libc.pread(fd, first, 5), 5, 'no more than asked for');
  t.equal(Buffer.from(first.subarray(0, 3)).toString(), String(process.pid).slice(0, 3));
  t.equal(libc.close(fd), 0);
  t.equal(libc.close(fd), errnoBadFd);
  t.equal(libc.pread(fd, first, 8), errnoBadFd);
  const directory = libc.open('/proc/self/task', 0o10000000);
  const threads = Number(/Threads:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  t.equal(
    libc.linkCount(directory),
    2 + threads,
    'links of the task directory are 2 + threads, also of a path-only fd',
  );
  t.equal(libc.close(directory), 0);
  t.equal(libc.linkCount(directory), errnoBadFd);
  const path = join(tmpdir(), `sfsd-libc-${process.pid}`);
  const made = libc.open(path, 0o102);
  t.teardown(() => {
    libc.close(made);
    rmSync(path);
  });
  t.equal(libc.write(made, Buffer.from('abcdef'), 3), 3);
  t.equal(readFileSync(path, 'utf8'), 'abc');
  t.equal(fstatSync(made).size, 3);
}

function pipes(t: Test, libc: Libc): void {
  const ends = new Int32Array(2);
  t.equal(libc.pipe(ends), 0);
  const [readEnd = -1, writeEnd = -1] = ends;
  t.equal(libc.setNonBlocking(readEnd), 0);
  t.equal(libc.read(readEnd, new Uint8Array(1), 1), errnoTryAgain);
  const isNonBlocking = (fd: number) =>
    (Number.parseInt(/flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0', 8) &
      0o4000) !==
    0;
  t.equal(isNonBlocking(readEnd), true);
  t.equal(isNonBlocking(writeEnd), false, 'the other end is another open file');
  t.equal(libc.close(readEnd), 0);
  t.equal(libc.close(writeEnd), 0);
  t.equal(libc.setNonBlocking(readEnd), errnoBadFd);
}

function mappings(t: Test, libc: Libc): void {
  const path = join(tmpdir(), `sfsd-mapping-${process.pid}`);
  const fd = openSync(path, 'w+');
  const other = openSync(path, 'r+');
  t.teardown(() => {
    for (const each of [fd, other]) closeSync(each);
    rmSync(path);
  });
  writeSync(fd, Buffer.alloc(4096));
  const memory = libc.mapShared(fd, 4096);
  if (typeof memory === 'number') throw new Error(`errno ${-memory}`);
  t.equal(memory.length, 4096);
  const words = new Int32Array(memory.buffer, memory.byteOffset, memory.byteLength / 4);
  Atomics.store(words, 1, 0x01020304);
  t.same([...readFileSync(path).subarray(4, 8)], [4, 3, 2, 1], 'a store is in the file');
  writeSync(fd, Buffer.from([7]), 0, 1, 0);
  t.equal(memory[0], 7, 'and a write in the memory');
  t.equal(libc.mapShared(99_999, 4096), errnoBadFd);
  t.equal(libc.lockExclusive(fd), 0);
  t.equal(libc.lockExclusive(fd), 0, 'by its holder again');
  t.equal(libc.lockExclusive(other), errnoTryAgain, 'held by another opening');
  t.equal(libc.lockExclusive(99_999), errnoBadFd);
}

function waiting(t: Test, libc: Libc): void {
  const epoll = libc.epollCreate();
  const eventfd = libc.eventfd(0);
  const bytes = process.arch === 'x64' ? 12 : 16;
  const event = new Uint8Array(bytes);
  const view = new DataView(event.buffer);
  view.setUint32(0, 1, true);
  view.setUint32(bytes - 8, 0xfedc_ba98, true);
  t.equal(libc.epollControl(epoll, 1, eventfd, event), 0);
  const events = new Uint8Array(bytes * 4);
  t.equal(libc.epollWait(epoll, events, 4, 0), 0, 'nothing is ready');
  const before = process.hrtime.bigint();
  t.equal(libc.epollWait(epoll, events, 4, 3_500_000), 0);
  t.ok(process.hrtime.bigint() - before >= 3_500_000n, 'a timeout is not cut short to whole milliseconds');
  const eight = new Uint8Array(8);
  t.equal(libc.read(eventfd, eight, 8), -11, 'an eventfd does not block');
  eight[0] = 1;
  t.equal(libc.write(eventfd, eight, 8), 8);
  t.equal(libc.epollWait(epoll, events, 4, -1), 1);
  t.equal(new DataView(events.buffer).getUint32(bytes - 8, true), 0xfedc_ba98);
  t.equal(libc.epollControl(epoll, 2, eventfd, event), 0);
  t.equal(libc.epollControl(epoll, 2, eventfd, event), errnoNoEntry);
  t.equal(libc.close(eventfd), 0);
  t.equal(libc.close(epoll), 0);
  t.equal(libc.epollWait(epoll, events, 4, 0), errnoBadFd);
  const pidfd = libc.pidfdOpen(process.pid);
  t.ok(pidfd >= 0);
  t.equal(libc.pidfdSendSignal(pidfd, 0), 0);
  t.equal(libc.close(pidfd), 0);
  t.equal(libc.pidfdOpen(2 ** 22 - 1), errnoNoProcess);
  t.equal(libc.kill(process.pid, 0), 0);
  t.equal(libc.kill(2 ** 22 - 1, 0), errnoNoProcess);
}

function namedSockets(t: Test, libc: Libc): void {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-libc-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 's');
  t.equal(libc.connectUnix(2, path), errnoNoEntry);
  t.equal(libc.connectUnix(2, `@${path}`), errnoRefused, 'an abstract name is no path');
  writeFileSync(path, '');
  t.equal(libc.connectUnix(5, path), errnoRefused, 'a file is no socket');
  t.equal(libc.connectUnix(2, `/${'x'.repeat(200)}`), errnoNameTooLong, 'a long path is not cut');
}

function channels(t: Test, libc: Libc): void {
  const pair = new Int32Array(2);
  t.equal(libc.pipe(pair), 0);
  const [readEnd = -1, writeEnd = -1] = pair;
  t.equal(libc.write(writeEnd, Buffer.from('through'), 7), 7);
  const text = new Uint8Array(16);
  t.equal(libc.read(readEnd, text, 16), 7);
  t.equal(libc.socketpair(5, pair), 0);
  const [near = -1, far = -1] = pair;
  const peer = new Int32Array(3);
  t.equal(libc.peerCredentials(near, peer), 0);
  t.same([...peer], [process.pid, process.getuid?.(), process.getgid?.()]);
  const type = new Int32Array(1);
  t.equal(libc.socketOption(near, 3, type), 4, 'SO_TYPE');
  t.equal(type[0], 5, 'SOCK_SEQPACKET');
  t.equal(libc.socketOption(99_999, 3, type), errnoBadFd);
  t.equal(libc.ioctl(near, 0x8004_b706, 1), -25, 'ENOTTY');
  t.equal(libc.sendWithFds(near, Buffer.from('with a pipe'), 11, [writeEnd]), 11);
  t.equal(libc.read(far, text, 16), 11, 'the bytes arrive, with or without room for descriptors');
  t.equal(Buffer.from(text.subarray(0, 11)).toString(), 'with a pipe');
  t.equal(libc.sendWithFds(near, Buffer.from('bare'), 4, []), 4);
  t.equal(libc.sendWithFds(near, Buffer.from('bad'), 3, [99_999]), errnoBadFd);
  t.equal(libc.sendWithFds(near, Buffer.from('many'), 4, new Array<number>(64).fill(0)), errnoInvalid);
  t.equal(libc.read(far, text, 16), 4);
  t.equal(libc.close(far), 0);
  t.equal(libc.sendWithFds(near, Buffer.from('dead'), 4, []), -32, 'EPIPE, and no signal');
  for (const fd of [near, readEnd, writeEnd]) libc.close(fd);
  const own = openSync('/proc/self/comm', 'r');
  t.ok(readSync(own, text) > 0, "Node's own calls still work");
  closeSync(own);
}
