/**
 * Who is at the other end of a socket, and which process a pid means now.
 */
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
  return { uid: into[1] ?? -1, gid: into[2] ?? -1 };
}

export function startTimeOf(libc: Libc, pid: number): { readonly startTime: string } | 'gone' | 'denied' {
  const identity = openIdentity(libc, pid);
  if (identity === 'gone' || identity === 'denied') return identity;
  libc.close(identity.pidfd);
  libc.close(identity.statFd);
  return { startTime: identity.startTime };
}
