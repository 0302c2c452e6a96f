/**
 * The calls of `Libc` as C functions, whatever FFI makes the calls: each is declared by its name and its parameters' types, so that
 * koffi-libc.ts and ffi-napi-libc.ts differ in how a call is made and in nothing else.
 *
 * Calls that older C libraries lack (epoll_pwait2, pidfd_open, sched_setattr) go through syscall(2) by number: one path for every C
 * library. syscall(2) is variadic in C, but for integer and pointer arguments both Linux ABIs here pass them as for a fixed list.
 */
import type { FfiName } from '../contracts/config.js';
import type { Libc } from './libc.js';

/** `void *` takes a typed array, by address and without a copy, or null; `str` a text, passed NUL-terminated. */
export type CType = 'int' | 'uint32_t' | 'int64_t' | 'size_t' | 'void *' | 'str';
/** All arguments are passed, each time. */
export type Call = (...values: readonly unknown[]) => number;

/** What sendmsg(2) is told, beside the socket. */
export interface MessageParts {
  readonly bytes: Uint8Array;
  readonly byteCount: number;
  /** struct cmsghdr and what follows; not read when `controlLength` is 0. */
  readonly control: Int32Array;
  readonly controlLength: number;
  readonly flags: number;
}

/** What an FFI has to bring. */
export interface Binding {
  readonly declare: (name: string, parameters: readonly CType[], result?: 'int' | 'int64_t') => Call;
  /** Of the call that was just made, on this thread. */
  readonly errno: () => number;
  /** Its argument holds pointers, which each FFI writes in its own way. */
  readonly sendmsg: (socket: number, message: MessageParts) => number;
  /** The memory there, without a copy; nobody frees it. */
  readonly view: (address: number, length: number) => Uint8Array;
  readonly machine: Machine;
}

export type Machine = keyof typeof machineCalls;

/** Numbers that differ between the two machines served; the later calls got one number for all. */
const machineCalls = {
  x64: { schedSetattr: 314, schedGetattr: 315, getpriority: 140, setpriority: 141 },
  arm64: { schedSetattr: 274, schedGetattr: 275, getpriority: 141, setpriority: 140 },
} as const;
const pidfdSendSignalCall = 424;
const pidfdOpenCall = 434;
const epollPwait2Call = 441;

const invalidArgument = 22;
const nameTooLong = 36;
/** sun_path of struct sockaddr_un, behind the family. */
const unixPathBytes = 108;
const unixPathAt = 2;
const closeOnExec = 0o2000000;
const nonBlocking = 0o4000;
/** F_SETFL */
const setStatusFlags = 4;
const familyUnix = 1;
const solSocket = 1;
const scmRights = 1;
const soPeercred = 17;
const msgDontwaitNosignal = 0x40 | 0x4000;
const readableAndWritable = 3;
const mapShared = 1;
/** LOCK_EX | LOCK_NB */
const lockExclusiveAtOnce = 2 | 4;
const atEmptyPath = 0x1000;
const statxNlink = 4;
/** Bytes of struct statx, and the 32-bit word that holds stx_nlink. */
const statxBytes = 256;
const statxNlinkWord = 4;
const epollCloexec = closeOnExec;
/** Most file descriptors in one message; the spawner's protocol sends at most 4. */
const fdsPerMessageMax = 16;

/** @param name what `Libc.name` says. */
export function libcOver(name: FfiName, binding: Binding): Libc {
  const { errno } = binding;
  /** -1 becomes the negative errno, read at once: the next call into the C library may change it. */
  const settle = (result: number): number => (result === -1 ? -errno() : result);
  const shared: Settled = { ...binding, settle };
  return { name, ...scheduling(shared), ...waiting(shared), ...files(shared), ...channels(shared) };
}

/** Or why there are no kernel calls on this machine. */
export function machineOf(): Machine | { readonly reason: string } {
  const { platform, arch } = process;
  if (platform === 'linux' && (arch === 'x64' || arch === 'arm64')) return arch;
  return { reason: `no kernel calls are known for ${platform} on ${arch}` };
}

interface Settled extends Binding {
  readonly settle: (result: number) => number;
}

type Part<Names extends keyof Libc> = Pick<Libc, Names>;

function scheduling({
  declare,
  settle,
  machine,
}: Settled): Part<
  | 'gettid'
  | 'schedSetscheduler'
  | 'schedGetscheduler'
  | 'schedGetpriority'
  | 'schedSetattr'
  | 'schedGetattr'
  | 'schedSetaffinity'
  | 'schedGetaffinity'
  | 'getpriority'
  | 'setpriority'
  | 'clockGettime'
> {
  const gettid = declare('gettid', []);
  const setscheduler = declare('sched_setscheduler', ['int', 'int', 'void *']);
  const getscheduler = declare('sched_getscheduler', ['int']);
  const getparam = declare('sched_getparam', ['int', 'void *']);
  const setaffinity = declare('sched_setaffinity', ['int', 'size_t', 'void *']);
  const getaffinity = declare('sched_getaffinity', ['int', 'size_t', 'void *']);
  const clockGettime = declare('clock_gettime', ['int', 'void *']);
  const attributesCall = declare('syscall', ['int64_t', 'int', 'void *', 'uint32_t', 'uint32_t'], 'int64_t');
  const niceCall = declare('syscall', ['int64_t', 'int', 'int', 'int'], 'int64_t');
  const numbers = machineCalls[machine];
  const parameter = new Int32Array(1);
  return {
    gettid: () => settle(gettid()),
    schedSetscheduler(tid, policy, priority) {
      parameter[0] = priority;
      return settle(setscheduler(tid, policy, parameter));
    },
    schedGetscheduler: (tid) => settle(getscheduler(tid)),
    schedGetpriority(tid) {
      const result = settle(getparam(tid, parameter));
      return result < 0 ? result : (parameter[0] ?? 0);
    },
    schedSetattr: (tid, attributes) => settle(attributesCall(numbers.schedSetattr, tid, attributes, 0, 0)),
    schedGetattr: (tid, attributes) =>
      settle(attributesCall(numbers.schedGetattr, tid, attributes, attributes.length, 0)),
    schedSetaffinity: (tid, mask) => settle(setaffinity(tid, mask.length, mask)),
    schedGetaffinity: (tid, mask) => settle(getaffinity(tid, mask.length, mask)),
    getpriority: (tid) => settle(niceCall(numbers.getpriority, 0, tid, 0)),
    setpriority: (tid, nice) => settle(niceCall(numbers.setpriority, 0, tid, nice)),
    clockGettime: (clock, into) => settle(clockGettime(clock, into)),
  };
}

function waiting({
  declare,
  settle,
}: Settled): Part<
  'epollCreate' | 'epollControl' | 'epollWait' | 'eventfd' | 'pidfdOpen' | 'pidfdSendSignal' | 'kill'
> {
  const create = declare('epoll_create1', ['int']);
  const control = declare('epoll_ctl', ['int', 'int', 'int', 'void *']);
  const pwait2 = declare(
    'syscall',
    ['int64_t', 'int', 'void *', 'int', 'void *', 'void *', 'size_t'],
    'int64_t',
  );
  const eventfd = declare('eventfd', ['uint32_t', 'int']);
  const pidfdOpen = declare('syscall', ['int64_t', 'int', 'uint32_t'], 'int64_t');
  const pidfdSendSignal = declare('syscall', ['int64_t', 'int', 'int', 'void *', 'uint32_t'], 'int64_t');
  const kill = declare('kill', ['int', 'int']);
  /** struct timespec as 32-bit halves: seconds low, high, nanoseconds low, high; written without BigInts. */
  const timeout = new Uint32Array(4);
  return {
    epollCreate: () => settle(create(epollCloexec)),
    epollControl: (epoll, operation, fd, event) => settle(control(epoll, operation, fd, event)),
    epollWait(epoll, events, count, timeoutNs) {
      if (timeoutNs < 0) return settle(pwait2(epollPwait2Call, epoll, events, count, null, null, 8));
      const seconds = Math.floor(timeoutNs / 1e9);
      timeout[0] = seconds % 2 ** 32;
      timeout[1] = Math.floor(seconds / 2 ** 32);
      timeout[2] = timeoutNs - seconds * 1e9;
      return settle(pwait2(epollPwait2Call, epoll, events, count, timeout, null, 8));
    },
    eventfd: (initial) => settle(eventfd(initial, closeOnExec | nonBlocking)),
    pidfdOpen: (pid) => settle(pidfdOpen(pidfdOpenCall, pid, 0)),
    pidfdSendSignal: (pidfd, signal) => settle(pidfdSendSignal(pidfdSendSignalCall, pidfd, signal, null, 0)),
    kill: (pid, signal) => settle(kill(pid, signal)),
  };
}

function files({
  declare,
  settle,
  view,
}: Settled): Part<
  | 'open'
  | 'close'
  | 'read'
  | 'pread'
  | 'write'
  | 'setNonBlocking'
  | 'mapShared'
  | 'lockExclusive'
  | 'linkCount'
> {
  const open = declare('open', ['str', 'int', 'int']);
  const close = declare('close', ['int']);
  const read = declare('read', ['int', 'void *', 'size_t'], 'int64_t');
  const pread = declare('pread', ['int', 'void *', 'size_t', 'int64_t'], 'int64_t');
  const write = declare('write', ['int', 'void *', 'size_t'], 'int64_t');
  const control = declare('fcntl', ['int', 'int', 'int']);
  const mmap = declare('mmap', ['void *', 'size_t', 'int', 'int', 'int', 'int64_t'], 'int64_t');
  const flock = declare('flock', ['int', 'int']);
  const statx = declare('statx', ['int', 'void *', 'int', 'uint32_t', 'void *']);
  const stats = new Uint32Array(statxBytes / 4);
  const emptyPath = new Uint8Array(1);
  return {
    open: (path, flags) => settle(open(path, flags | closeOnExec, 0o644)),
    close: (fd) => settle(close(fd)),
    read: (fd, into, length) => settle(read(fd, into, length)),
    pread: (fd, into, length) => settle(pread(fd, into, length, 0)),
    write: (fd, from, length) => settle(write(fd, from, length)),
    setNonBlocking: (fd) => settle(control(fd, setStatusFlags, nonBlocking)),
    mapShared(fd, length) {
      const address = settle(mmap(null, length, readableAndWritable, mapShared, fd, 0));
      return address < 0 ? address : view(address, length);
    },
    lockExclusive: (fd) => settle(flock(fd, lockExclusiveAtOnce)),
    linkCount(fd) {
      const result = settle(statx(fd, emptyPath, atEmptyPath, statxNlink, stats));
      return result < 0 ? result : (stats[statxNlinkWord] ?? 0);
    },
  };
}

function channels({
  declare,
  settle,
  sendmsg,
}: Settled): Part<
  'pipe' | 'socketpair' | 'connectUnix' | 'sendWithFds' | 'peerCredentials' | 'socketOption' | 'ioctl'
> {
  const socket = declare('socket', ['int', 'int', 'int']);
  const connect = declare('connect', ['int', 'void *', 'uint32_t']);
  const close = declare('close', ['int']);
  const pipe2 = declare('pipe2', ['void *', 'int']);
  const socketpair = declare('socketpair', ['int', 'int', 'int', 'void *']);
  const getsockopt = declare('getsockopt', ['int', 'int', 'int', 'void *', 'void *']);
  const ioctl = declare('ioctl', ['int', 'size_t', 'size_t']);
  /** struct cmsghdr: length (64 bits), level, type, then the descriptors. */
  const control = new Int32Array(4 + fdsPerMessageMax);
  const length = new Int32Array(1);
  return {
    pipe: (into) => settle(pipe2(into, closeOnExec)),
    socketpair: (type, into) => settle(socketpair(familyUnix, type | closeOnExec, 0, into)),
    connectUnix(type, path) {
      const address = unixAddress(path);
      if (address === undefined) return -nameTooLong;
      const fd = settle(socket(familyUnix, type | closeOnExec, 0));
      if (fd < 0) return fd;
      const result = settle(connect(fd, address, address.length));
      if (result < 0) close(fd);
      return result < 0 ? result : fd;
    },
    sendWithFds(socket, bytes, byteCount, fds) {
      if (fds.length > fdsPerMessageMax) return -invalidArgument;
      control.set([16 + 4 * fds.length, 0, solSocket, scmRights, ...fds]);
      // CMSG_SPACE rounds up to 8 bytes.
      const controlLength = fds.length === 0 ? 0 : 16 + 4 * (fds.length + (fds.length % 2));
      return settle(
        sendmsg(socket, { bytes, byteCount, control, controlLength, flags: msgDontwaitNosignal }),
      );
    },
    peerCredentials(socket, into) {
      length[0] = 12;
      return settle(getsockopt(socket, solSocket, soPeercred, into, length));
    },
    socketOption(socket, option, into) {
      length[0] = into.byteLength;
      const result = settle(getsockopt(socket, solSocket, option, into, length));
      return result < 0 ? result : (length[0] ?? 0);
    },
    ioctl: (fd, request, argument) => settle(ioctl(fd, request, argument)),
  };
}

/** struct sockaddr_un. An abstract name begins with a NUL and ends where the address ends; a path ends with a NUL. */
function unixAddress(path: string): Uint8Array | undefined {
  const text = new TextEncoder().encode(path);
  const isAbstract = path.startsWith('@');
  const pathBytes = text.length + (isAbstract ? 0 : 1);
  if (pathBytes > unixPathBytes) return undefined;
  const address = new Uint8Array(unixPathAt + pathBytes);
  address[0] = familyUnix;
  address.set(text, unixPathAt);
  if (isAbstract) address[unixPathAt] = 0;
  return address;
}
