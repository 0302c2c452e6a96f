/**
 * Takes hold of a process so that its number cannot come to mean another one:
 *
 *   1. pidfd_open(pid)          whatever has the number now is held
 *   2. open and read its stat   through this fd, only this process is ever read: ESRCH once it is gone
 *   3. compare the start time   the one held is the one that was meant
 *
 * What must never be scheduled by us is refused: pid 1, kernel threads, this daemon. Processes in containers have numbers of
 * their own in there, but whoever names one to us uses the host's, and /proc shows those; where /proc belongs to another pid
 * namespace than our system calls, every number is ambiguous and all are refused.
 */
import { readlinkSync } from 'node:fs';
import type { Libc } from './libc.js';
import { ProcStat } from './proc-stat.js';

export interface Identity {
  /** Readable once the whole process has ended. */
  readonly pidfd: number;
  /** Of its leading thread: /proc/PID/task/PID/stat. */
  readonly statFd: number;
  readonly startTime: string;
  readonly threads: number;
}

const readOnly = 0;
const pidMax = 2 ** 22;
const kernelThreadDaemon = 2;
const errnoNoEntry = -2;
const errnoNoProcess = -3;

/** Both fds of the result are the caller's to close. */
export function openIdentity(libc: Libc, pid: number, startTime?: string): Identity | 'gone' | 'denied' {
  if (!Number.isInteger(pid) || pid <= 0 || pid > pidMax) return 'gone';
  if (pid === 1 || pid === kernelThreadDaemon || pid === process.pid) return 'denied';
  const pidfd = libc.pidfdOpen(pid);
  // A number of one thread, not of a process, is refused by the kernel as well: EINVAL or ENOENT.
  if (pidfd < 0) return pidfd === errnoNoProcess ? 'gone' : 'denied';
  const statFd = libc.open(`/proc/${pid}/task/${pid}/stat`, readOnly);
  const verdict = statFd < 0 ? refusal(libc, pidfd, statFd) : verify(libc, statFd, startTime);
  if (typeof verdict !== 'string') return { pidfd, statFd, ...verdict };
  libc.close(pidfd);
  if (statFd >= 0) libc.close(statFd);
  return verdict;
}

/** Whether /proc speaks of the same numbers as our system calls. */
export function procIsOurs(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    return false;
  }
}

function verify(
  libc: Libc,
  statFd: number,
  startTime: string | undefined,
): Pick<Identity, 'startTime' | 'threads'> | 'gone' | 'denied' {
  const stat = new ProcStat();
  if (stat.read(libc, statFd) === 'gone' || stat.ended) return 'gone';
  if (stat.isKernelThread || stat.parent === kernelThreadDaemon) return 'denied';
  const found = stat.startTime;
  if (startTime !== undefined && startTime !== found) return 'gone';
  return { startTime: found, threads: stat.threads };
}

/** Whoever lives and has no entry in /proc is hidden from us: hidepid. */
function refusal(libc: Libc, pidfd: number, errno: number): 'gone' | 'denied' {
  if (errno !== errnoNoEntry && errno !== errnoNoProcess) return 'denied';
  return libc.pidfdSendSignal(pidfd, 0) === errnoNoProcess ? 'gone' : 'denied';
}
