/**
 * Who speaks: the uid at the other end of the unix socket, as the kernel recorded it at connect (SO_PEERCRED). It cannot be
 * forged and does not change during a connection, so it is read once for each.
 *
 * Until roles exist there is one rule: the daemon's own uid and root may do everything, everybody else may look at status,
 * health, metrics and the API description only. The socket's mode decides who can connect at all.
 */
import type { Socket } from 'node:net';
import { SfsdError } from '../contracts/errors.js';
import type { Credentials } from '../contracts/function.js';
import type { PeerOf } from './ports.js';

export class Peers {
  readonly #peerOf: PeerOf;
  readonly #daemonUid: number;
  /** Weak: an entry goes with its connection, and connections are bounded. */
  readonly #known = new WeakMap<Socket, Credentials>();

  constructor(options: { readonly peerOf: PeerOf; readonly daemonUid: number }) {
    this.#peerOf = options.peerOf;
    this.#daemonUid = options.daemonUid;
  }

  of(socket: Socket): Credentials {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const credentials = this.#peerOf(socket);
    this.#known.set(socket, credentials);
    return credentials;
  }

  /** Throws SFSD_ERR_FORBIDDEN unless the peer is root or the daemon's own uid. */
  requireOperator(socket: Socket): void {
    const { uid } = this.of(socket);
    if (uid === 0 || uid === this.#daemonUid) return;
    throw new SfsdError('SFSD_ERR_FORBIDDEN', {
      reason: `uid ${uid} may read status, health, metrics and /openapi.json only; the rest is for uid ${this.#daemonUid} and root`,
    });
  }
}
