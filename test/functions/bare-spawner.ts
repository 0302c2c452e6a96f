/** The C program alone: a socket to it, and what it says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, rmdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import {
  decodeReply,
  encodeKill,
  encodeLaunch,
  type Reply,
  replyBytes,
  requestBytesMax,
  type SpawnRequest,
} from '../../src/functions/spawner-protocol.js';
import { asRoot, burnPath, libcOfHost, spawnerPath } from './support.js';

const libc = libcOfHost();
/** What programs say on standard output is not ours to say. */
const nothing = openSync('/dev/null', 'w');

/** @param before shell that runs in its place first. */
export function startProgram(options: { readonly before?: string; readonly priority?: number } = {}) {
  const ends = new Int32Array(2);
  libc.socketpair(5, ends);
  const [ours = -1, theirs = -1] = ends;
  const { before = '', priority = 0 } = options;
  const script = `${before === '' ? ':' : before} && exec "$0" --priority ${priority} --session-nice 0`;
  const program = spawn('sh', ['-c', script, spawnerPath], {
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
  const message = Buffer.alloc(requestBytesMax);
  /** False: its socket is full. */
  const send = (id: number, request: SpawnRequest) =>
    libc.sendWithFds(ours, message, encodeLaunch(message, id, request) ?? 0, [0, nothing, 2]) >= 0;
  const kill = (id: number, signalNumber: number) =>
    libc.sendWithFds(ours, message, encodeKill(message, id, signalNumber), []);
  return { socket: ours, pid: program.pid ?? 0, replies, read, send, kill, close };
}

export const burnRequest: SpawnRequest = {
  arguments: [burnPath, '0'],
  environment: [],
  workingDirectory: '/',
  birthplace: undefined,
  cgroupProcsFiles: [],
  limits: [],
  memoryLimited: false,
  credentials: asRoot,
  nice: 0,
};

/** A group is busy until the kernel has let go of its last member. */
export function removed(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch {
    return !existsSync(group);
  }
}
