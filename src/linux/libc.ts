/**
 * The kernel calls that Node lacks, as plain numbers and byte arrays, so that any FFI can stand behind them.
 *
 * Every call returns what the system call returns, or the negative errno: expected failures are values here, and koffi's or
 * any other library's way of reporting errno never leaves its file. Buffers are the caller's, kept and reused: nothing here
 * allocates on a hot path. One conformance suite (test/conformance) is run against each implementation.
 */

import type { FfiName } from '../contracts/config.js';

export interface Libc {
  /** Which implementation this is, for `doctor` and the log. */
  readonly name: FfiName;

  // Scheduling: sched(7). `tid` 0 is the calling thread.
  gettid(): number;
  /** `policy` may carry SCHED_RESET_ON_FORK. */
  schedSetscheduler(tid: number, policy: number, priority: number): number;
  schedGetscheduler(tid: number): number;
  schedGetpriority(tid: number): number;
  /** sched_setattr(2) with a caller-made struct sched_attr. */
  schedSetattr(tid: number, attributes: Uint8Array): number;
  schedGetattr(tid: number, attributes: Uint8Array): number;
  /** `mask`: CPU bits, least significant byte first. Both return 0 or the negative errno. */
  schedSetaffinity(tid: number, mask: Uint8Array): number;
  schedGetaffinity(tid: number, mask: Uint8Array): number;
  /** As the system call, not as the C library: 20 minus the nice value, so 1 to 40, and an error stays tellable. */
  getpriority(tid: number): number;
  setpriority(tid: number, nice: number): number;

  // Time. `into[0]` seconds, `into[1]` nanoseconds.
  clockGettime(clock: number, into: BigInt64Array): number;

  // Waiting. `events` holds `count` packed struct epoll_event (12 bytes each on x86-64).
  epollCreate(): number;
  epollControl(epoll: number, operation: number, fd: number, event: Uint8Array): number;
  /** `timeoutNs` below 0: no timeout. */
  epollWait(epoll: number, events: Uint8Array, count: number, timeoutNs: number): number;
  eventfd(initial: number): number;
  pidfdOpen(pid: number): number;
  /** Signal 0 tests for life. */
  pidfdSendSignal(pidfd: number, signal: number): number;
  kill(pid: number, signal: number): number;

  // Files.
  open(path: string, flags: number): number;
  close(fd: number): number;
  read(fd: number, into: Uint8Array, length: number): number;
  /** At offset 0: how /proc files are read again through a kept fd. */
  pread(fd: number, into: Uint8Array, length: number): number;
  write(fd: number, from: Uint8Array, length: number): number;
  /** O_NONBLOCK, and no other status flag: of this open file, so of a pipe's one end. */
  setNonBlocking(fd: number): number;
  /**
   * mmap(2) of the file's first bytes, shared and writable, or the negative errno. Nobody unmaps it: an array over memory that is gone
   * would crash whoever touches it, so it lasts as long as the process.
   */
  mapShared(fd: number, length: number): Uint8Array | number;
  /** flock(2), exclusive and without waiting: held until every descriptor of this opening is closed, also by a kill. */
  lockExclusive(fd: number): number;
  /** Hard-link count: 2 + threads for /proc/PID/task. */
  linkCount(fd: number): number;

  // Channels to children. Both ends are close-on-exec. `into` receives the two fds.
  pipe(into: Int32Array): number;
  /** `type`: SOCK_STREAM 1 or SOCK_SEQPACKET 5, of AF_UNIX. */
  socketpair(type: number, into: Int32Array): number;
  /**
   * A socket of AF_UNIX, close-on-exec, connected to the one at `path`; a path that begins with `@` is an abstract name. `type`:
   * SOCK_DGRAM 2 or SOCK_SEQPACKET 5, of which Node has neither.
   */
  connectUnix(type: number, path: string): number;
  /** sendmsg(2) of `length` bytes with the fds as SCM_RIGHTS, MSG_DONTWAIT | MSG_NOSIGNAL. */
  sendWithFds(socket: number, bytes: Uint8Array, length: number, fds: readonly number[]): number;
  /** uid and gid of the peer, SO_PEERCRED; `into` receives pid, uid, gid. */
  peerCredentials(socket: number, into: Int32Array): number;
  /** getsockopt(2) at level SOL_SOCKET. @returns how many bytes were written. */
  socketOption(socket: number, option: number, into: Int32Array): number;
  /** ioctl(2) with a number as its argument. */
  ioctl(fd: number, request: number, argument: number): number;
}

/** Implementations live behind this, so that a missing library is a reason, not a crash. */
export type LoadLibc = () =>
  | { readonly ok: true; readonly libc: Libc }
  | { readonly ok: false; readonly reason: string };
