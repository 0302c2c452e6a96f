/**
 * CAP_SYS_NICE where it counts. The kernel asks for it in the initial user namespace, so that root of a container's own namespace has it
 * in name only.
 */
import { readFileSync, readlinkSync } from 'node:fs';

const capSysNice = 23n;
/** PROC_USER_INIT_INO: the inode of the initial user namespace on every kernel. */
const initialUserNamespace = 'user:[4026531837]';

export function hasSysNice(): boolean {
  const status = readFileSync('/proc/self/status', 'utf8');
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return (effective & (1n << capSysNice)) !== 0n && isInitialUserNamespace();
}

export function isInitialUserNamespace(): boolean {
  return userNamespaceOf('self') === initialUserNamespace;
}

/** undefined: the process has ended, or may not be asked. */
export function userNamespaceOf(pid: number | 'self'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/user`);
  } catch {
    return undefined;
  }
}
