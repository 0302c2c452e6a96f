/** The C program alone, spoken to without our side of the protocol: what it does when that side is wrong, or does not listen. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import {
  encodeLaunch,
  headerOffsets,
  requestBytesMax,
  requestHeaderBytes,
} from '../../src/functions/spawner-protocol.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { burnRequest, removed, startProgram } from './bare-spawner.js';
import { eventually, libcOfHost } from './support.js';

const libc = libcOfHost();
const launch = Buffer.alloc(requestBytesMax);
const launchBytes = encodeLaunch(launch, 5, burnRequest) ?? 0;

t.test('requests that do not add up are answered, not obeyed', async (t) => {
  const program = startProgram();
  program.read();
  const wrong: Buffer[] = [
    Buffer.alloc(1),
    Buffer.alloc(requestHeaderBytes),
    launch.subarray(0, launchBytes - 1),
    launch.subarray(0, launchBytes + 1),
  ];
  for (const [offset, value] of [
    [headerOffsets.version, 1],
    [headerOffsets.kind, 9],
    [headerOffsets.argumentCount, 0],
    [headerOffsets.argumentCount, 60_000],
    [headerOffsets.environmentCount, 1],
    [headerOffsets.cgroupCount, 9],
    [headerOffsets.limitCount, 1],
    [headerOffsets.flags, 2],
  ] as const) {
    const bytes = Buffer.from(launch.subarray(0, launchBytes));
    bytes.writeUInt16LE(value, offset);
    wrong.push(bytes);
  }
  for (const bytes of wrong) t.ok(libc.sendWithFds(program.socket, bytes, bytes.length, [0, 1, 2]) >= 0);
  for (const fds of [[], [0], [0, 1, 2, 0]]) libc.sendWithFds(program.socket, launch, launchBytes, fds);
  t.ok(
    await eventually(() => program.replies.length === 1 + wrong.length + 3),
    `${program.replies.length} replies`,
  );
  t.ok(program.replies.slice(1).every((reply) => reply.kind === 'failed' && reply.stage === 1));
  t.equal(await program.close(), 0);
});

t.test('replies that nobody reads are kept, and do not make the program spin', async (t) => {
  const program = startProgram();
  let sent = 0;
  const fill = () => {
    const before = sent;
    while (sent < 100_000 && libc.sendWithFds(program.socket, launch, 8, []) >= 0) sent++;
    return sent - before;
  };
  const usedUs = () => Number(readFileSync(`/proc/${program.pid}/schedstat`, 'latin1').split(' ')[0]) / 1000;
  // Full from end to end once the program has stopped reading.
  t.ok(await eventually(() => fill() === 0 && sent > 1000, 10_000));
  const cpuBefore = usedUs();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const cpuUs = usedUs() - cpuBefore;
  t.ok(cpuUs < 20_000, `${cpuUs} us of CPU time in 100 ms`);
  program.read();
  t.ok(
    await eventually(() => program.replies.length === 1 + sent),
    `${program.replies.length} of ${1 + sent}`,
  );
  t.equal(await program.close(), 0);
});

t.test('a launch that was right is obeyed', async (t) => {
  const program = startProgram();
  program.read();
  libc.sendWithFds(program.socket, launch, launchBytes, [0, 1, 2]);
  t.ok(await eventually(() => program.replies.length === 3));
  t.match(program.replies, [
    { kind: 'ready' },
    { kind: 'started', id: 5 },
    { kind: 'exited', id: 5, status: 0 },
  ]);
  t.equal(await program.close(), 0);
});

const unified = CgroupLayout.detect().unifiedPath;
const skip = {
  skip: unified === undefined || process.getuid?.() !== 0 ? 'needs root and a cgroup2 tree' : false,
};

t.test('a child is in its birthplace, wherever the spawner comes from', skip, async (t) => {
  const [ours, theirs] = ['spawner', 'child'].map((name) => `${unified}/sfsd-test-${process.pid}-${name}`);
  if (ours === undefined || theirs === undefined) return;
  for (const group of [ours, theirs]) mkdirSync(group);
  // Linux 6.18 would kill whoever is born elsewhere from a group that was once killed.
  if (existsSync(`${ours}/cgroup.kill`)) writeFileSync(`${ours}/cgroup.kill`, '1');
  for (const before of ['', `echo 0 > ${ours}/cgroup.procs`]) {
    const program = startProgram({ before });
    program.read();
    const request = Buffer.alloc(requestBytesMax);
    const length =
      encodeLaunch(request, 6, {
        ...burnRequest,
        arguments: ['/bin/sh', '-c', `grep -qx $$ ${theirs}/cgroup.procs`],
        birthplace: theirs,
      }) ?? 0;
    libc.sendWithFds(program.socket, request, length, [0, 1, 2]);
    t.ok(await eventually(() => program.replies.length === 3));
    t.match(program.replies.at(-1), { kind: 'exited', id: 6, status: 0 });
    t.equal(await program.close(), 0);
  }
  t.ok(await eventually(() => [ours, theirs].every(removed)));
});

t.test('a birthplace that is not there fails the launch', async (t) => {
  const program = startProgram();
  program.read();
  const request = Buffer.alloc(requestBytesMax);
  const length = encodeLaunch(request, 7, { ...burnRequest, birthplace: '/nowhere' }) ?? 0;
  libc.sendWithFds(program.socket, request, length, [0, 1, 2]);
  t.ok(await eventually(() => program.replies.length === 2));
  t.match(program.replies.at(-1), { kind: 'failed', id: 7, stage: 8 });
  t.equal(await program.close(), 0);
});
