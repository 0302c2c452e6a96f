/**
 * From a pid as a container counts to the host's.
 *
 *   1. The kernel is asked: NS_GET_PID_FROM_PIDNS on the namespace of a process in it (Linux 6.11 and later).
 *   2. An older kernel is asked by reading: of each process in that very namespace /proc/PID/status has all its numbers (NSpid), the
 *      last of them its own there. All are read once for a whole list, at most `scanMax`.
 *
 * What is found may be gone, or its number another's, a moment later: who uses it takes hold of the process and looks again.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import type { Libc } from './libc.js';
import { ProcText, statusField } from './proc-text.js';

const readOnly = 0;
/** _IOR(0xb7, 0x6, int) of linux/nsfs.h. */
const getPidFromPidns = 0x8004_b706;
const errnoNoProcess = -3;
const errnoInvalid = -22;
const errnoNotTypewriter = -25;
const scanMax = 32_768;

export type TranslatePid = (pid: number) => number | { readonly reason: string };

/** @param peerPid a process of the namespace, in the daemon's numbers; 0: it is outside of what the daemon sees. */
export function pidTranslator(libc: Libc, peerPid: number): TranslatePid {
  const path = `/proc/${peerPid}/ns/pid`;
  let scanned: ReadonlyMap<number, number> | undefined;
  return (pid) => {
    if (peerPid === 0) return { reason: 'the caller lives in a namespace outside of the daemon\u2019s' };
    const namespace = libc.open(path, readOnly);
    if (namespace < 0)
      return { reason: `the namespace of process ${peerPid} cannot be opened (errno ${-namespace})` };
    const found = libc.ioctl(namespace, getPidFromPidns, pid);
    libc.close(namespace);
    if (found > 0) return found;
    if (found === errnoNoProcess) return { reason: 'there is no such process' };
    if (found !== errnoNotTypewriter && found !== errnoInvalid)
      return { reason: `the kernel refused (errno ${-found})` };
    scanned ??= scanNamespace(libc, peerPid);
    return scanned.get(pid) ?? { reason: 'there is no such process' };
  };
}

/** Inner number to outer number, of each process in the very namespace of `peerPid`. */
export function scanNamespace(libc: Libc, peerPid: number): ReadonlyMap<number, number> {
  const text = new ProcText(libc);
  const wanted = namespaceOf(peerPid);
  const found = new Map<number, number>();
  if (wanted === undefined) return found;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const name of pids.slice(0, scanMax)) {
    if (namespaceOf(Number(name)) !== wanted) continue;
    const status = text.read(`/proc/${name}/status`);
    const inner = typeof status === 'string' ? statusField(status, 'NSpid').at(-1) : undefined;
    if (inner !== undefined) found.set(Number(inner), Number(name));
  }
  return found;
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}
