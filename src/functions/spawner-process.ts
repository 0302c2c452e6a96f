/**
 * One life of the C program, however it came to be:
 *
 *   our child          started by Node; descriptors 3 (requests) and 4 (replies) are handed down
 *   a service's        it waits behind a socket (sfsd-spawner.socket): we connect, say hello, and hand it the replies' end. It is a child
 *                      of systemd then, in a unit of its own: functions inherit nothing of the hardening of the daemon's unit, and the
 *                      daemon needs neither fork nor the right to become another user
 *
 * Either way the connection is its life: it ends with all that it started when the connection closes, and is dead when the replies end.
 */
import { Buffer } from 'node:buffer';
import { spawn as startProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { Libc } from '../linux/libc.js';
import { withoutResetOnFork } from '../linux/realtime-fork.js';
import { encodeHello, helloBytes } from './spawner-protocol.js';

const stream = 1;
const seqpacket = 5;
const nonBlocking = 0o4000;
const sigkill = 9;
const tryAgain = -11;

export interface SpawnerBirth {
  readonly libc: Libc;
  /** The C program; not used where there is a socket. */
  readonly programPath: string;
  /** Where a spawner of a service's is asked for. */
  readonly socketPath?: string;
  /** cgroup.procs of the cpu group that the daemon has moved to: a spawner of a service's follows. Our child is in it. */
  readonly cpuGroupFile?: string;
  readonly priority: number;
  readonly sessionNice: number;
}

export interface SpawnerListeners {
  readonly replied: (chunk: Buffer) => void;
  /** Once. */
  readonly ended: (reason: string) => void;
}

export interface SpawnerProcess {
  /** 0 until it is known. */
  readonly pid: number;
  /** Requests go here, with descriptors; its owner closes it. */
  readonly socket: number;
  /** It has said who it is. */
  introduced(pid: number): void;
  kill(): void;
}

/** Throws SFSD_ERR_KERNEL. */
export function beginSpawner(birth: SpawnerBirth, listeners: SpawnerListeners): SpawnerProcess {
  return birth.socketPath === undefined
    ? startChild(birth, listeners)
    : attach({ ...birth, socketPath: birth.socketPath }, listeners);
}

function startChild(birth: SpawnerBirth, { replied, ended }: SpawnerListeners): SpawnerProcess {
  const { libc, programPath, priority, sessionNice } = birth;
  const [ours, theirs] = pairOf(libc, seqpacket);
  try {
    const child = withoutResetOnFork(libc, () =>
      startProcess(programPath, ['--priority', String(priority), '--session-nice', String(sessionNice)], {
        cwd: '/',
        env: {},
        stdio: ['ignore', 'ignore', 'inherit', theirs, 'pipe'],
      }),
    );
    let reason = 'it could not be started';
    child.on('error', (error) => {
      reason = reasonOf(error);
      // A program that was never started never closes.
      if (child.pid === undefined) ended(reason);
    });
    child.on('exit', (code, signal) => {
      reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
    });
    child.on('close', () => ended(reason));
    // Node leaves stdio out when descriptors ran out (EMFILE); 'error' follows.
    const { stdio } = child as { readonly stdio?: typeof child.stdio };
    const replies = stdio?.[4] as Socket | null | undefined;
    replies?.on('data', replied);
    replies?.on('error', () => {});
    return {
      pid: child.pid ?? 0,
      socket: ours,
      introduced: () => {},
      kill: () => void child.kill('SIGKILL'),
    };
  } catch (thrown) {
    libc.close(ours);
    throw thrown;
  } finally {
    libc.close(theirs);
  }
}

function attach(
  birth: SpawnerBirth & { readonly socketPath: string },
  { replied, ended }: SpawnerListeners,
): SpawnerProcess {
  const { libc, socketPath } = birth;
  const socket = libc.connectUnix(seqpacket | nonBlocking, socketPath);
  if (socket < 0) throw unreachable(socketPath, socket);
  const [ours, theirs] = pairOf(libc, stream);
  const hello = Buffer.alloc(helloBytes);
  encodeHello(hello, birth);
  const group = birth.cpuGroupFile === undefined ? undefined : openSync(birth.cpuGroupFile, 'w');
  const said = libc.sendWithFds(socket, hello, helloBytes, [theirs, ...(group === undefined ? [] : [group])]);
  libc.close(theirs);
  if (group !== undefined) closeSync(group);
  if (said < 0) {
    libc.close(socket);
    libc.close(ours);
    throw unreachable(socketPath, said);
  }
  let pid = 0;
  let pidfd = -1;
  const replies = new Socket({ fd: ours, readable: true, writable: false });
  replies.on('data', replied);
  replies.on('error', () => {});
  replies.on('close', () => {
    if (pidfd >= 0) libc.close(pidfd);
    pidfd = -1;
    ended('it closed its connection: see the log of its unit, sfsd-spawner@');
  });
  return {
    get pid() {
      return pid;
    },
    socket,
    introduced: (told) => {
      pid = told;
      pidfd = libc.pidfdOpen(told);
    },
    kill: () => {
      if (pidfd >= 0) libc.pidfdSendSignal(pidfd, sigkill);
      replies.destroy();
    },
  };
}

function unreachable(path: string, result: number): SfsdError {
  const busy = result === tryAgain ? 'too many connections wait there' : `errno ${-result}`;
  const reason = `no spawner can be asked for there (${busy}). Start its socket: systemctl start sfsd-spawner.socket; or leave functions.spawnerSocket empty, and the daemon starts its own`;
  return new SfsdError('SFSD_ERR_KERNEL', { call: `connect to ${path}`, reason });
}

function pairOf(libc: Libc, type: number): readonly [number, number] {
  const ends = new Int32Array(2);
  const result = libc.socketpair(type, ends);
  if (result < 0) throw new SfsdError('SFSD_ERR_KERNEL', { call: 'socketpair', reason: `errno ${-result}` });
  return [ends[0] ?? -1, ends[1] ?? -1];
}
