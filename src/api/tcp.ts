/**
 * The second way in, over TCP, for a server that is on its unix socket already. Only with tokens: nobody is known by address.
 *
 * Its connections are handed to the same HTTP server, marked, so that routes, bounds and timeouts are the same ones.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { reasonOf, SfsdError } from '../contracts/errors.js';

/** Apart from the unix socket's: who floods one way in does not close the other. */
const connectionsMax = 1024;
const closeGraceMs = 2000;

export interface TcpListening {
  readonly host: string;
  readonly port: number;
  /** Refuses new connections and waits for the answers under way: after `closeGraceMs` they are cut. Idempotent. */
  close(): Promise<void>;
}

/** Throws SFSD_ERR_TCP. `port` 0: any free one. */
export async function listenTcp(
  app: FastifyInstance,
  options: { readonly host: string; readonly port: number },
): Promise<TcpListening> {
  const { host, port } = options;
  const open = new Set<Socket>();
  // As node's own HTTP server has it: a client may have said all and still wait for the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    app.acceptTcp(socket);
  });
  server.maxConnections = connectionsMax;
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_TCP', { host, port, reason: reasonOf(thrown) }, { cause: thrown });
  }
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const cut = setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, closeGraceMs);
    await closed;
    clearTimeout(cut);
  };
  return { host, port: (server.address() as AddressInfo).port, close };
}
