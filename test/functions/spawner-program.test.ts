/** The C program alone, spoken to without our side of the protocol: what it does when that side is wrong, or does not listen. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import t from 'tap';
import {
  decodeReply,
  encodeLaunch,
  headerOffsets,
  type Reply,
  replyBytes,
  requestBytesMax,
  requestHeaderBytes,
  type SpawnRequest,
} from '../../src/functions/spawner-protocol.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { asRoot, burnPath, eventually, libcOfHost, spawnerPath } from './support.js';

const libc = libcOfHost();

function startProgram(group?: string) {
  const ends = new Int32Array(2);
  libc.socketpair(5, ends);
  const [ours = -1, theirs = -1] = ends;
  const join = group === undefined ? '' : `echo 0 > ${group}/cgroup.procs && `;
  const program = spawn('sh', ['-c', `${join}exec "$0" --priority 0 --session-nice 0`, spawnerPath], {
    stdio: ['ignore', 'ignore', 'inherit', theirs, 'pipe'],
  });
  libc.close(theirs);
  const replies: Reply[] = [];
  let rest: Buffer = Buffer.alloc(0);
  const read = () =>
    (program.stdio[4] as Socket).on('data', (chunk: Buffer) => {
      const bytes = Buffer.concat([rest, chunk]);
      let at = 0;
      for (; at + replyBytes <= bytes.length; at += replyBytes) replies.push(decodeReply(bytes, at));
      rest = bytes.subarray(at);
    });
  const close = async () => {
    libc.close(ours);
    if (program.exitCode === null) await once(program, 'exit');
    return program.exitCode;
  };
  return { socket: ours, pid: program.pid ?? 0, replies, read, close };
}

const launch = Buffer.alloc(requestBytesMax);
const burnRequest: SpawnRequest = {
  arguments: [burnPath, '0'],
  environment: [],
  workingDirectory: '/',
  birthplace: undefined,
  cgroupProcsFiles: [],
  limits: [],
  credentials: asRoot,
  nice: 0,
};
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
  ] as const) {
    const bytes = Buffer.from(launch.subarray(0, launchBytes));
    bytes.writeUInt16LE(value, offset);
    wrong.push(bytes);
  }
  for (const bytes of wrong) t.ok(libc.sendWithFds(program.socket, bytes, bytes.length, [0, 1, 2]) >= 0);
  for (const fds of [[], [0, 1], [0, 1, 2, 0]]) libc.sendWithFds(program.socket, launch, launchBytes, fds);
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
  for (const group of [undefined, ours]) {
    const program = startProgram(group);
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

/** A group is busy until the kernel has let go of its last member. */
function removed(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch {
    return !existsSync(group);
  }
}
