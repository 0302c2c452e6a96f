/**
 * Who is at the other end of a socket, and which process a pid means now.
 *
 * A function of root's is root by its uid and has no capability at all. It must not command the daemon that starts it: a peer that is uid
 * 0 and powerless, or already gone, is refused. A peer of another pid namespace has the number 0 here; it is none of ours.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { SfsdError } from '../contracts/errors.js';
import type { Credentials } from '../contracts/function.js';
import { openIdentity } from '../linux/identity.js';
import type { Libc } from '../linux/libc.js';

/** SO_PEERCRED, never anything that the peer says itself. */
export function peerCredentials(libc: Libc, socket: Socket): Credentials {
  // Node keeps the descriptor on the handle and has no public name for it.
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } | null };
  const into = new Int32Array(3);
  const result = libc.peerCredentials(handle?.fd ?? -1, into);
  if (result < 0)
    throw new SfsdError('SFSD_ERR_FORBIDDEN', { reason: `the peer is unknown (errno ${-result})` });
  const [pid = 0, uid = -1, gid = -1] = into;
  if (uid === 0 && pid > 0 && isPowerless(libc, pid))
    throw new SfsdError('SFSD_ERR_FORBIDDEN', {
      reason: `process ${pid} is root without a capability, as functions are, or has ended`,
    });
  return { uid, gid };
}

/**
 * A process that lives and cannot be read is one with more capabilities than we have: `hidepid` shows us every other process of root's.
 */
function isPowerless(libc: Libc, pid: number): boolean {
  try {
    return /^CapEff:\s*0+$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    const pidfd = libc.pidfdOpen(pid);
    if (pidfd < 0) return true;
    libc.close(pidfd);
    return false;
  }
}

export function startTimeOf(libc: Libc, pid: number): { readonly startTime: string } | 'gone' | 'denied' {
  const identity = openIdentity(libc, pid);
  if (identity === 'gone' || identity === 'denied') return identity;
  libc.close(identity.pidfd);
  libc.close(identity.statFd);
  return { startTime: identity.startTime };
}
