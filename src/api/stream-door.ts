/**
 * `GET /v1/stream` with `Connection: Upgrade` and `Upgrade: sfsd-invocations` (RFC 9110, 7.8): after 101 the connection carries lines of
 * JSON, see invocation-stream.ts. An upgrade, because a request whose body lasts for hours would run into the server's time limits on
 * requests, which guard it against slow clients.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { StreamRequestBody } from '../contracts/http.js';
import { type Client, type Clients, needs, requireRole } from './clients.js';
import type { ApiContext } from './context.js';
import { errorBody, guardedFailures } from './errors.js';
import { type CheckLine, InvocationStream } from './invocation-stream.js';
import {
  expectedMsSchema,
  functionNameSchema,
  idSchema,
  policySchema,
  sharedSchemas,
  sourceSchema,
} from './schemas.js';
import { schemaCompiler } from './validation.js';

export const streamPath = '/v1/stream';
export const streamProtocol = 'sfsd-invocations';

/** At a stop, for runs that are still under way. */
const lastWordsMs = 1500;

const lineSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'functionName'],
  properties: {
    id: idSchema,
    source: sourceSchema,
    functionName: functionNameSchema,
    policy: policySchema,
    expectedMs: expectedMsSchema,
    arrivedAtMs: { type: 'number', minimum: 0, maximum: 1e15 },
    bodyBase64: {
      type: 'string',
      pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
    },
  },
} as const;

export function openStreamDoor(app: FastifyInstance, context: ApiContext, clients: Clients): void {
  const streams = new Map<Socket, InvocationStream>();
  const check = lineCheck();
  app.server.on('upgrade', (request, duplex, head) => {
    // The server's own sockets are what it hands over.
    const socket = duplex as Socket;
    let client: Client;
    try {
      client = clients.admit(request);
      requireRole(client, 'submit');
      requireStream(request);
      if (context.ports.stopping()) throw new SfsdError('SFSD_ERR_STOPPING');
    } catch (thrown) {
      refuse(socket, thrown);
      return;
    }
    socket.setTimeout(0);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${streamProtocol}\r\n\r\n`,
    );
    const charge = () => clients.charge(client);
    const stream = new InvocationStream({ context, socket, client, charge, check });
    streams.set(socket, stream);
    socket.once('close', () => streams.delete(socket));
    if (head.length > 0) socket.unshift(head);
  });
  app.addHook('preClose', async () => {
    for (const [socket, stream] of streams) {
      stream.finish();
      setTimeout(() => socket.destroy(), lastWordsMs).unref();
    }
  });
}

/** What answers a request that does not ask for the upgrade, and the description of one that does. */
export async function streamRoutes(app: FastifyInstance): Promise<void> {
  const schema = {
    tags: ['functions'],
    summary: 'Many invocations over one connection: a line of JSON for each, a line back at its end.',
    response: {
      101: {
        description: `With \`Upgrade: ${streamProtocol}\`. From here on lines: StreamRequestBody in, ResultBody or StreamRefusalBody out.`,
      },
      ...guardedFailures('SFSD_ERR_REQUEST_INVALID', 'SFSD_ERR_STOPPING'),
    },
  };
  app.get(streamPath, { schema, onRequest: needs('submit') }, () => {
    throw notAsked();
  });
}

function lineCheck(): CheckLine {
  const compile = schemaCompiler(sharedSchemas);
  const validate = compile({ schema: lineSchema, method: 'GET', url: streamPath, httpPart: 'body' });
  return (value): asserts value is StreamRequestBody => {
    const verdict: unknown = validate(value);
    if (verdict !== true) throw (verdict as { readonly error: SfsdError }).error;
  };
}

/** Node hands over every request that asks for any upgrade once anybody listens for one. */
function requireStream({ url = '', method, headers }: IncomingMessage): void {
  const [path = ''] = url.split('?', 1);
  if (path !== streamPath || method !== 'GET') {
    const reason = `${path.slice(0, 128)} knows no upgrade; send the request without the header "upgrade"`;
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', { reason });
  }
  if (headers.upgrade?.toLowerCase() !== streamProtocol) throw notAsked();
}

function notAsked(): SfsdError {
  return new SfsdError('SFSD_ERR_REQUEST_INVALID', {
    reason: `${streamPath} is opened with the headers "connection: upgrade" and "upgrade: ${streamProtocol}"`,
  });
}

function refuse(socket: Socket, thrown: unknown): void {
  const error =
    thrown instanceof SfsdError ? thrown : new SfsdError('SFSD_ERR_INTERNAL', { reason: reasonOf(thrown) });
  const body = JSON.stringify(errorBody(error));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.on('error', () => {});
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
}
