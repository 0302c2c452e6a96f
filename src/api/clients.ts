/**
 * Who speaks, and whether too often.
 *
 *   unix socket   the peer as the kernel recorded it at connect (SO_PEERCRED): it cannot be forged and does not change, so the
 *                 client is found once for each connection
 *   TCP           the token of each request: a proxy may carry several clients on one connection
 *
 * Both are settled in one hook before a body is read, and a route then names the role that it needs. On the unix socket that
 * costs a request one look into a map.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import { type Role, roleNames } from '../contracts/access.js';
import type { SfsdConfig } from '../contracts/config.js';
import { SfsdError } from '../contracts/errors.js';
import type { Credentials } from '../contracts/function.js';
import type { ApiPorts } from './ports.js';
import { type Bucket, Buckets } from './rate-limit.js';
import { roleOf } from './rights.js';
import type { Token } from './token-table.js';

export interface Client {
  /** As errors call it. */
  readonly name: string;
  readonly role: Role;
  /** Whom functions of its own run as. */
  readonly credentials: Credentials;
  /** Absent: no limit. */
  readonly bucket?: Bucket;
  /** The process at the other end when pids that it names are counted in a namespace of its own. */
  readonly nestedPid?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    client: Client;
  }
}

const bearer = /^Bearer +([!-~]+) *$/i;

export class Clients {
  readonly #ports: ApiPorts;
  readonly #access: SfsdConfig['access'];
  readonly #buckets: Buckets;
  /** Weak: an entry goes with its connection, and connections are bounded. */
  readonly #bySocket = new WeakMap<Socket, Client>();
  readonly #overTcp = new WeakSet<Socket>();
  /** As many as there are tokens. */
  readonly #byToken = new Map<Token, Client>();

  constructor(ports: ApiPorts) {
    this.#ports = ports;
    this.#access = ports.config.access;
    this.#buckets = new Buckets(ports.config.access);
  }

  /** From now on this connection's requests need tokens. */
  admitTcp(socket: Socket): void {
    this.#overTcp.add(socket);
  }

  /** Throws SFSD_ERR_UNAUTHENTICATED, SFSD_ERR_RATE_LIMITED, and what the kernel's refusal to name the peer becomes. */
  admit({ socket, headers }: FastifyRequest['raw']): Client {
    const client = this.#bySocket.get(socket) ?? this.#newcomer(socket, headers.authorization);
    this.charge(client);
    return client;
  }

  /** For what asks as much as a request does. Throws SFSD_ERR_RATE_LIMITED. */
  charge({ name, bucket }: Client): void {
    if (bucket !== undefined) this.#spend(name, bucket);
  }

  #newcomer(socket: Socket, authorization: string | undefined): Client {
    if (this.#overTcp.has(socket)) return this.#byAuthorization(authorization);
    const client = this.#peer(socket);
    this.#bySocket.set(socket, client);
    return client;
  }

  #peer(socket: Socket): Client {
    const peer = this.#ports.peerOf(socket);
    const { uid, gid, pid, confined, nestedPids } = peer;
    const role = roleOf(peer, { access: this.#access, daemonUid: this.#ports.daemonUid });
    const name = confined ? `a function of uid ${uid}` : `uid ${uid}`;
    return {
      name,
      role,
      credentials: { uid, gid },
      ...this.#limit(role, `uid ${uid}`),
      ...(nestedPids ? { nestedPid: pid } : {}),
    };
  }

  #byAuthorization(authorization: string | undefined): Client {
    const presented = bearer.exec(authorization ?? '')?.[1];
    const token = presented === undefined ? undefined : this.#ports.tokens?.find(presented);
    if (token === undefined) {
      // Guesses share one bucket, so that neither they nor their answers take the daemon's time.
      const guesses = this.#buckets.of('');
      this.#spend('Whoever has no valid token', guesses);
      const reason = authorization === undefined ? 'none came' : 'what came is none of them';
      throw new SfsdError('SFSD_ERR_UNAUTHENTICATED', { reason });
    }
    const known = this.#byToken.get(token);
    if (known !== undefined) return known;
    const { name, role, credentials } = token;
    const client = { name: `token ${name}`, role, credentials, ...this.#limit(role, `token ${name}`) };
    this.#byToken.set(token, client);
    return client;
  }

  /** Operators may do worse than ask often. */
  #limit(role: Role, key: string): Pick<Client, 'bucket'> {
    return role === 'operate' ? {} : { bucket: this.#buckets.of(key) };
  }

  #spend(client: string, bucket: Bucket): void {
    const waitSeconds = bucket.take(this.#ports.plane.now());
    if (waitSeconds === 0) return;
    const { requestsPerSecond } = this.#access;
    throw new SfsdError('SFSD_ERR_RATE_LIMITED', {
      client,
      requestsPerSecond,
      retryAfterSeconds: Math.ceil(waitSeconds),
    });
  }
}

/** Before anything else is done for a request, and before its body is read. */
export function admitClients(app: FastifyInstance, clients: Clients): void {
  app.decorateRequest('client');
  app.addHook('onRequest', (request, _reply, done) => {
    request.client = clients.admit(request.raw);
    done();
  });
}

/** For a route's `onRequest`: throws SFSD_ERR_FORBIDDEN for clients of lesser roles. */
export function needs(role: Role): onRequestHookHandler {
  return ({ client }, _reply, done) => {
    requireRole(client, role);
    done();
  };
}

/** Throws SFSD_ERR_FORBIDDEN for clients of lesser roles. */
export function requireRole(client: Client, role: Role): void {
  if (roleNames.indexOf(client.role) >= roleNames.indexOf(role)) return;
  throw new SfsdError('SFSD_ERR_FORBIDDEN', {
    reason: `${client.name} has the role ${client.role}, and this needs ${role}; roles are given by access.rules and the token file`,
  });
}
