/**
 * Every failure becomes {"code","message"} with the status of the table in contracts/errors.ts; 429 and 503 carry Retry-After.
 *
 *   SfsdError                  as it is
 *   fastify's own refusals     SFSD_ERR_BODY_TOO_LARGE, SFSD_ERR_MEDIA_TYPE, else SFSD_ERR_REQUEST_INVALID
 *   anything else              a bug: SFSD_ERR_INTERNAL with the request's id; what happened is in the log, not in the answer
 *   bytes that are no HTTP     answered on the bare socket, in the same form; so is an expectation that nobody can meet
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, errorTable, reasonOf, SfsdError } from '../contracts/errors.js';
import type { ErrorBody } from '../contracts/http.js';

/**
 * Seconds. Places free up as functions end, which takes milliseconds to seconds; one second is the shortest that the header
 * can say.
 */
const retryAfterSeconds = 1;

export function errorBody(error: SfsdError): ErrorBody {
  return { code: error.code, message: error.message };
}

/** Seconds; undefined when the same request would fail again. */
export function retryAfterOf({ status, details }: SfsdError): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  return Number(details.retryAfterSeconds ?? retryAfterSeconds);
}

/** Sends a coded error, with what else the answer should hold. */
export function sendError(reply: FastifyReply, error: SfsdError, extra: { readonly stderr?: string } = {}) {
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  if (error.status === 401) reply.header('www-authenticate', 'Bearer realm="sfsd"');
  return reply
    .code(error.status)
    .type('application/json')
    .send({ ...errorBody(error), ...extra });
}

export function installErrorHandlers(app: FastifyInstance): void {
  app.setErrorHandler((thrown, request, reply) => answer(thrown, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendError(
      reply,
      new SfsdError('SFSD_ERR_ROUTE_UNKNOWN', { method: request.method, path: pathOf(request.url) }),
    ),
  );
}

/** Also for what the router refuses before any route is known, such as `/%zz`. */
export function answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = coded(thrown, request);
  if (error.status >= 500 && error.code !== 'SFSD_ERR_STOPPING') {
    request.log.error({ event: 'request_failed', code: error.code, err: thrown });
  }
  return sendError(reply, error);
}

function coded(thrown: unknown, request: FastifyRequest): SfsdError {
  if (thrown instanceof SfsdError) return thrown;
  const { code, statusCode } = thrown as { readonly code?: unknown; readonly statusCode?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new SfsdError('SFSD_ERR_BODY_TOO_LARGE', { limit: request.routeOptions.bodyLimit });
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const type = request.headers['content-type'] || '(none)';
    return new SfsdError('SFSD_ERR_MEDIA_TYPE', { type: type.slice(0, 128) });
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new SfsdError('SFSD_ERR_REQUEST_INVALID', { reason: withoutStop(reasonOf(thrown)) });
  }
  return new SfsdError(
    'SFSD_ERR_INTERNAL',
    { reason: `request ${request.id} failed unexpectedly` },
    { cause: thrown },
  );
}

/** For node's clientError: the request could not be parsed, or came too slowly. The connection is of no more use. */
export function answerBrokenRequest(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) {
    socket.destroy();
    return;
  }
  const reasons: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: 'its headers are too large',
    ERR_HTTP_REQUEST_TIMEOUT: 'it was not received whole in time',
  };
  const reason = reasons[error.code ?? ''] ?? 'it is not well-formed HTTP/1.1';
  const body = JSON.stringify(errorBody(new SfsdError('SFSD_ERR_REQUEST_INVALID', { reason })));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}

/** For node's checkExpectation: it would answer 417 without a word. */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const reason = 'header/expect must be 100-continue';
  const body = JSON.stringify(errorBody(new SfsdError('SFSD_ERR_REQUEST_INVALID', { reason })));
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(400, { ...headers, connection: 'close' }).end(body);
}

interface DocumentedError {
  readonly description: string;
  readonly type: 'object';
  readonly required: readonly string[];
  readonly properties: object;
}

const admissionCodes = [
  'SFSD_ERR_UNAUTHENTICATED',
  'SFSD_ERR_FORBIDDEN',
  'SFSD_ERR_RATE_LIMITED',
  'SFSD_ERR_KERNEL',
] as const;

/** The `response` part of a route's schema: every route asks who speaks, and these are the codes that it can answer beside that. */
export function guardedFailures(...codes: readonly ErrorCode[]): Record<number, DocumentedError> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...admissionCodes, ...codes, 'SFSD_ERR_INTERNAL' as const]) {
    const { status } = errorTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, list]) => [status, documented(list)]));
}

function documented(codes: readonly ErrorCode[]): DocumentedError {
  return {
    description: codes.map((code) => `${code}: ${errorTable[code].message}`).join(' | '),
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code: { type: 'string', enum: codes },
      message: { type: 'string' },
      stderr: { type: 'string', description: 'The last of what the function wrote there, as UTF-8.' },
    },
  };
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url;
}

/** The table's message ends the sentence itself. */
function withoutStop(reason: string): string {
  return reason.replace(/\.$/, '');
}
