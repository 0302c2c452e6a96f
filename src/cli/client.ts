/**
 * The daemon's HTTP API as typed calls over its unix socket, or over TCP with a token (shapes: contracts/http.ts).
 *
 * An answer that is an error becomes a ReplyError with the daemon's own code and text; a daemon that does not answer becomes
 * SFSD_ERR_DAEMON_UNREACHABLE. Connections carry one request at a time: pipelining would let a long function hold back the
 * answers of short ones behind it.
 */
import { Pool } from 'undici';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type {
  AcceptedBody,
  ErrorBody,
  ExplanationBody,
  FunctionBody,
  InvocationBody,
  RegisteredBody,
  RegistrationBody,
  ResultBody,
  StatusBody,
} from '../contracts/http.js';
import type { PolicyName } from '../contracts/invocation.js';

/** A call that runs no function answers within milliseconds, or the host is starved. */
const answerTimeoutMs = 10_000;

/** What the daemon said no with. */
export class ReplyError extends Error {
  readonly code: string;
  readonly status: number;
  /** The failed function's last words. */
  readonly stderr: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(reply: {
    readonly body: ErrorBody;
    readonly status: number;
    readonly retryAfterSeconds?: number | undefined;
  }) {
    super(reply.body.message);
    this.name = 'ReplyError';
    this.code = reply.body.code;
    this.status = reply.status;
    this.stderr = reply.body.stderr;
    this.retryAfterSeconds = reply.retryAfterSeconds;
  }
}

export interface InvokeOptions {
  readonly body: Uint8Array;
  readonly id?: string | undefined;
  readonly source?: string | undefined;
  readonly policy?: PolicyName | undefined;
  readonly expectedMs?: number | undefined;
  /** An Instant in milliseconds: replay counts turnaround from the intended arrival. */
  readonly arrivedAtMs?: number | undefined;
}

interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** 0: as long as the function takes. */
  readonly timeoutMs?: number;
}

interface Reply {
  readonly status: number;
  readonly bytes: Buffer;
}

export class SfsdClient {
  /** As errors name it: the socket's path or the URL. */
  readonly address: string;
  readonly #pool: Pool;
  readonly #authorization: Readonly<Record<string, string>>;

  constructor(
    options: ({ readonly socketPath: string } | { readonly url: string; readonly token: string }) & {
      readonly connections?: number;
    },
  ) {
    const isLocal = 'socketPath' in options;
    this.address = isLocal ? options.socketPath : options.url;
    this.#authorization = isLocal ? {} : { authorization: `Bearer ${options.token}` };
    this.#pool = new Pool(isLocal ? 'http://localhost' : options.url, {
      ...(isLocal ? { socketPath: options.socketPath } : {}),
      connections: options.connections ?? 4,
      pipelining: 1,
      connectTimeout: answerTimeoutMs,
    });
  }

  /** Drops connections at once: nothing a command still wants is in flight when it closes. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async health(): Promise<void> {
    await this.#send({ method: 'GET', path: '/healthz' });
  }

  async status(): Promise<StatusBody> {
    return this.#json({ method: 'GET', path: '/v1/status' });
  }

  async putFunction(name: string, body: Partial<FunctionBody>): Promise<FunctionBody> {
    return this.#json({
      method: 'PUT',
      path: `/v1/functions/${encodeURIComponent(name)}`,
      ...jsonBody(body),
    });
  }

  async functions(): Promise<readonly FunctionBody[]> {
    return this.#json({ method: 'GET', path: '/v1/functions' });
  }

  async function(name: string): Promise<FunctionBody> {
    return this.#json({ method: 'GET', path: `/v1/functions/${encodeURIComponent(name)}` });
  }

  async deleteFunction(name: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `/v1/functions/${encodeURIComponent(name)}` });
  }

  /** The function's standard output; a function that failed is a ReplyError. */
  async invoke(name: string, options: InvokeOptions): Promise<Buffer> {
    return (await this.#send(invocation(name, options, {}))).bytes;
  }

  async invokeAsync(name: string, options: InvokeOptions): Promise<AcceptedBody> {
    return this.#json(invocation(name, options, { async: 'true' }));
  }

  async invokeDetailed(name: string, options: InvokeOptions): Promise<ResultBody> {
    return this.#json(invocation(name, options, { detail: 'true' }));
  }

  async invocation(id: string, source?: string): Promise<InvocationBody> {
    return this.#json({
      method: 'GET',
      path: `/v1/invocations/${encodeURIComponent(id)}`,
      query: { source },
    });
  }

  async explain(id: string, source?: string): Promise<ExplanationBody> {
    const path = `/v1/invocations/${encodeURIComponent(id)}/decisions`;
    return this.#json({ method: 'GET', path, query: { source } });
  }

  async register(list: readonly RegistrationBody[]): Promise<readonly RegisteredBody[]> {
    return this.#json({ method: 'POST', path: '/v1/invocations', ...jsonBody(list) });
  }

  async end(id: string, source?: string): Promise<void> {
    const path = `/v1/invocations/${encodeURIComponent(id)}/end`;
    await this.#send({ method: 'POST', path, query: { source } });
  }

  async unmanage(id: string, source?: string): Promise<void> {
    await this.#send({
      method: 'DELETE',
      path: `/v1/invocations/${encodeURIComponent(id)}`,
      query: { source },
    });
  }

  async #json<Body>(call: Call): Promise<Body> {
    const { status, bytes } = await this.#send(call);
    const parsed = parseJson(bytes);
    if (parsed === undefined)
      throw this.#unreachable(`it answered ${status} to ${call.path} with something that is not JSON`);
    return parsed as Body;
  }

  async #send(call: Call): Promise<Reply> {
    const timeoutMs = call.timeoutMs ?? answerTimeoutMs;
    let reply: Awaited<ReturnType<Pool['request']>>;
    let bytes: Buffer;
    try {
      reply = await this.#pool.request({
        method: call.method,
        path: call.path,
        query: present(call.query ?? {}),
        headers: { ...call.headers, ...this.#authorization },
        body: call.body ?? null,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      bytes = Buffer.from(await reply.body.arrayBuffer());
    } catch (thrown) {
      throw this.#unreachable(connectionReason(thrown), thrown);
    }
    const status = reply.statusCode;
    if (status < 300) return { status, bytes };
    throw this.#refused({ status, bytes, retryAfter: reply.headers['retry-after'] });
  }

  #refused(reply: Reply & { readonly retryAfter: string | string[] | undefined }): Error {
    const body = parseJson(reply.bytes) as Partial<ErrorBody> | undefined;
    if (typeof body?.code !== 'string' || typeof body.message !== 'string')
      return this.#unreachable(`it answered ${reply.status} without an error code: is this socket sfsd’s?`);
    return new ReplyError({
      status: reply.status,
      body: { ...body, code: body.code, message: body.message },
      retryAfterSeconds: reply.retryAfter === undefined ? undefined : Number(reply.retryAfter),
    });
  }

  #unreachable(reason: string, cause?: unknown): SfsdError {
    return new SfsdError('SFSD_ERR_DAEMON_UNREACHABLE', { path: this.address, reason }, { cause });
  }
}

function invocation(
  name: string,
  options: InvokeOptions,
  query: Readonly<Record<string, string | undefined>>,
): Call {
  return {
    method: 'POST',
    path: `/v1/functions/${encodeURIComponent(name)}/invocations`,
    query,
    headers: {
      'content-type': 'application/octet-stream',
      ...present({
        'sfsd-id': options.id,
        'sfsd-source': options.source,
        'sfsd-policy': options.policy,
        'sfsd-expected-ms': options.expectedMs === undefined ? undefined : String(options.expectedMs),
        'sfsd-arrived-at-ms': options.arrivedAtMs === undefined ? undefined : String(options.arrivedAtMs),
      }),
    },
    body: options.body,
    timeoutMs: 0,
  };
}

function jsonBody(value: unknown): Pick<Call, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function present(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  );
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function connectionReason(thrown: unknown): string {
  const code = (thrown as NodeJS.ErrnoException | undefined)?.code;
  switch (code) {
    case 'ENOENT':
      return 'there is no such socket';
    case 'ECONNREFUSED':
      return 'nobody listens on it';
    case 'EACCES':
      return 'permission denied: use root or a member of the socket’s group';
    case 'ENOTSOCK':
      return 'it is not a socket';
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
    case 'EPIPE':
      return 'it closed the connection before it answered';
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return `no answer within ${answerTimeoutMs / 1000} s`;
    default:
      return reasonOf(thrown);
  }
}
