/** The C program alone, spoken to without our side of the protocol: what it does when that side is wrong, or does not listen. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
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
} from '../../src/functions/spawner-protocol.js';
import { asRoot, burnPath, eventually, libcOfHost, spawnerPath } from './support.js';

const libc = libcOfHost();

function startProgram() {
  const ends = new Int32Array(2);
  libc.socketpair(5, ends);
  const [ours = -1, theirs = -1] = ends;
  const program = spawn(spawnerPath, ['--priority', '0'], {
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
const launchBytes =
  encodeLaunch(launch, 5, {
    arguments: [burnPath, '0'],
    environment: [],
    workingDirectory: '/',
    birthplace: undefined,
    cgroupProcsFiles: [],
    limits: [],
    credentials: asRoot,
    nice: 0,
  }) ?? 0;

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
