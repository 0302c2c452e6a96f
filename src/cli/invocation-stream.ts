/**
 * The caller's side of a stream of invocations (api/invocation-stream.ts): one upgraded connection, a line for each request, and for each
 * reply whoever waits for its id.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { assert, reasonOf, SfsdError } from '../contracts/errors.js';
import type { ErrorBody, ResultBody, StreamReplyBody, StreamRequestBody } from '../contracts/http.js';
import { ReplyError } from './client.js';

const streamPath = '/v1/stream';
const streamProtocol = 'sfsd-invocations';
const openTimeoutMs = 10_000;
/** The daemon's refusal is a few hundred bytes. */
const refusalBytesMax = 64 * 1024;

interface Waiting {
  readonly resolve: (result: ResultBody) => void;
  readonly reject: (error: Error) => void;
}

export class InvocationStreamClient {
  readonly #socketPath: string;
  readonly #socket: Socket;
  readonly #waiting = new Map<string, Waiting>();
  /** The start of a reply whose end has not come. */
  #partial = '';

  private constructor(socketPath: string, socket: Socket) {
    this.#socketPath = socketPath;
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values())
        reject(unreachable(socketPath, 'it closed the stream before it answered'));
      this.#waiting.clear();
    });
  }

  /** Throws SFSD_ERR_DAEMON_UNREACHABLE, and a ReplyError when the daemon refuses the stream. */
  static open(socketPath: string): Promise<InvocationStreamClient> {
    return new Promise((resolve, reject) => {
      const opening = httpRequest({
        socketPath,
        path: streamPath,
        headers: { connection: 'upgrade', upgrade: streamProtocol },
        timeout: openTimeoutMs,
      });
      opening.on('upgrade', (_response, socket: Socket, head) => {
        socket.setTimeout(0);
        if (head.length > 0) socket.unshift(head);
        resolve(new InvocationStreamClient(socketPath, socket));
      });
      opening.on('response', (response) => void refusalOf(socketPath, response).then(reject));
      opening.on('timeout', () => opening.destroy(new Error(`no answer within ${openTimeoutMs / 1000} s`)));
      opening.on('error', (error) => reject(unreachable(socketPath, reasonOf(error), error)));
      opening.end();
    });
  }

  /** Rejects with a ReplyError for what was refused, SFSD_ERR_DAEMON_UNREACHABLE when the stream ends first. */
  invoke(request: StreamRequestBody): Promise<ResultBody> {
    const name = nameOf(request.source ?? 'api', request.id);
    assert(!this.#waiting.has(name), 'an id is used once at a time');
    return new Promise((resolve, reject) => {
      if (!this.#socket.writable) {
        reject(unreachable(this.#socketPath, 'the stream has been closed'));
        return;
      }
      this.#waiting.set(name, { resolve, reject });
      this.#socket.write(`${JSON.stringify(request)}\n`);
    });
  }

  /** What is under way is ended by the daemon. */
  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    const lines = text.split('\n');
    lines[0] = this.#partial + (lines[0] ?? '');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#reply(JSON.parse(line) as StreamReplyBody);
  }

  #reply(reply: StreamReplyBody): void {
    const name = nameOf(reply.source, reply.id);
    const waiting = this.#waiting.get(name);
    this.#waiting.delete(name);
    if (!('code' in reply)) waiting?.resolve(reply);
    else {
      const { retryAfterSeconds } = reply;
      waiting?.reject(new ReplyError({ body: reply, status: 0, retryAfterSeconds }));
    }
  }
}

/** A source holds no space. */
function nameOf(source: string, id: string): string {
  return `${source} ${id}`;
}

async function refusalOf(socketPath: string, response: IncomingMessage): Promise<Error> {
  let text = '';
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > refusalBytesMax) break;
    }
    const body = JSON.parse(text) as ErrorBody;
    return new ReplyError({ body, status: response.statusCode ?? 0 });
  } catch (thrown) {
    return unreachable(socketPath, `it answered ${response.statusCode} without an error code`, thrown);
  }
}

function unreachable(path: string, reason: string, cause?: unknown): SfsdError {
  return new SfsdError('SFSD_ERR_DAEMON_UNREACHABLE', { path, reason }, { cause });
}
