/**
 * Who is at the other end of a socket, and which process a pid means now.
 *
 * Of a peer the kernel keeps pid, uid, gid and groups from when it connected; the rest is read from /proc by that pid while its pidfd
 * (SO_PEERPIDFD, Linux 6.5) says that the number is still its own. A function could otherwise connect, hand the socket to its child,
 * end, and wait for its number to become somebody's who is trusted.
 *
 * A function is known by what the spawner gives it and nothing can take away: no_new_privs with an empty bounding set. A daemon
 * that may not empty the bounding set has no_new_privs alone to go by. A peer that has ended counts as a function. Root that lives and cannot be
 * read is none: where /proc hides processes (hidepid), root's that are hidden have more capabilities than we.
 */
import type { Socket } from 'node:net';
import type { Peer } from '../contracts/access.js';
import { SfsdError } from '../contracts/errors.js';
import { openIdentity } from '../linux/identity.js';
import type { Libc } from '../linux/libc.js';
import { ProcText, statusField } from '../linux/proc-text.js';

const socketPeerGroups = 59;
const socketPeerPidfd = 77;
const errnoNoSuchOption = -92;
const errnoRange = -34;
const errnoNoProcess = -3;
/** Most hosts' users are in fewer groups; NGROUPS_MAX is the kernel's bound. */
const groupCounts = [64, 65_536];
/** CAP_SETPCAP, as a bit of the capability sets in /proc/PID/status. */
const capSetpcap = 1n << 8n;
/** What the kernel says of a socket without credentials. */
const nobody = -1;

type Standing = Pick<Peer, 'confined' | 'nestedPids'>;

export class PeerReader {
  readonly #libc: Libc;
  readonly #text: ProcText;
  readonly #canEmptyBounding: boolean;
  readonly #credentials = new Int32Array(3);
  readonly #pidfd = new Int32Array(1);

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#text = new ProcText(libc);
    const own = this.#text.read('/proc/self/status');
    this.#canEmptyBounding = typeof own === 'string' && (capabilities(own, 'CapEff') & capSetpcap) !== 0n;
  }

  /** SO_PEERCRED and its companions, never anything that the peer says itself. Throws SFSD_ERR_FORBIDDEN. */
  of(socket: Socket): Peer {
    // Node keeps the descriptor on the handle and has no public name for it.
    const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } | null };
    const fd = handle?.fd ?? -1;
    const result = this.#libc.peerCredentials(fd, this.#credentials);
    const [pid = 0, uid = nobody, gid = nobody] = this.#credentials;
    if (result < 0 || uid === nobody)
      throw new SfsdError('SFSD_ERR_FORBIDDEN', { reason: `the peer is unknown (errno ${-result})` });
    return { pid, uid: uid >>> 0, gid: gid >>> 0, groups: this.#groups(fd), ...this.#standing(fd, pid, uid) };
  }

  /** None where the kernel does not tell: a rule on a group then does not fit. */
  #groups(fd: number): readonly number[] {
    for (const count of groupCounts) {
      const into = new Int32Array(count);
      const bytes = this.#libc.socketOption(fd, socketPeerGroups, into);
      if (bytes >= 0) return Array.from(into.subarray(0, bytes / 4), (gid) => gid >>> 0);
      if (bytes !== errnoRange) return [];
    }
    return [];
  }

  #standing(fd: number, pid: number, uid: number): Standing {
    // From outside of this pid namespace, where no function of ours is.
    if (pid === 0) return { confined: false, nestedPids: true };
    const result = this.#libc.socketOption(fd, socketPeerPidfd, this.#pidfd);
    const pidfd = result < 0 ? undefined : this.#pidfd[0];
    const hasEnded = result < 0 && result !== errnoNoSuchOption;
    const status = hasEnded ? errnoNoProcess : this.#text.read(`/proc/${pid}/status`);
    const lives = pidfd !== undefined && this.#libc.pidfdSendSignal(pidfd, 0) !== errnoNoProcess;
    if (pidfd !== undefined) this.#libc.close(pidfd);
    const isReused = pidfd !== undefined && !lives;
    if (typeof status === 'number' && lives && uid === 0) return { confined: false, nestedPids: false };
    if (typeof status === 'number' || isReused) return { confined: true, nestedPids: false };
    const isBound = !this.#canEmptyBounding || capabilities(status, 'CapBnd') === 0n;
    return {
      confined: isBound && statusField(status, 'NoNewPrivs')[0] === '1',
      nestedPids: statusField(status, 'NSpid').length > 1,
    };
  }
}

function capabilities(status: string, set: string): bigint {
  return BigInt(`0x${statusField(status, set)[0] ?? '0'}`);
}

export function startTimeOf(libc: Libc, pid: number): { readonly startTime: string } | 'gone' | 'denied' {
  const identity = openIdentity(libc, pid);
  if (identity === 'gone' || identity === 'denied') return identity;
  libc.close(identity.pidfd);
  libc.close(identity.statFd);
  return { startTime: identity.startTime };
}
