/**
 * Many invocations over one connection, for gateways and load generators: a request of its own for each costs both sides more than
 * launching its function does.
 *
 *   caller ─▶ {"id","functionName",...}\n ... ─▶ one run for each line, all at once
 *   caller ◀─ {"id","exit",...}\n             ◀─ as they end, in that order; or {"id","code","message"} for one that was refused
 *
 *   A caller that ends its side is taken to be gone, as with HTTP (a unix socket does not tell the two apart): what runs for it is ended,
 *   since nobody would read it.
 *
 * Not read on while `inFlightMax` runs are under way, or while the caller leaves `unsentBytesMax` of replies unread.
 */
import type { Socket } from 'node:net';
import { SfsdError } from '../contracts/errors.js';
import type { StreamReplyBody, StreamRequestBody } from '../contracts/http.js';
import { resultBody } from './bodies.js';
import type { Client } from './clients.js';
import type { ApiContext } from './context.js';
import { errorBody, retryAfterOf } from './errors.js';
import { LineSplitter } from './line-splitter.js';
import { decisionsOf, finishRun, openRun, startRun } from './run-function.js';
import type { Run } from './runs.js';

const inFlightMax = 4096;
const unsentBytesMax = 4 * 1024 * 1024;
/** Of a line, beside its body in base64. */
const lineBytesBesideBody = 4096;
const noBody = new Uint8Array(0);

/** Throws SFSD_ERR_REQUEST_INVALID. */
export type CheckLine = (value: unknown) => asserts value is StreamRequestBody;

export interface InvocationStreamOptions {
  readonly context: ApiContext;
  readonly socket: Socket;
  readonly client: Client;
  /** Counts a line against the client's rate limit; throws SFSD_ERR_RATE_LIMITED. */
  readonly charge: () => void;
  readonly check: CheckLine;
}

export class InvocationStream {
  readonly #context: ApiContext;
  readonly #socket: Socket;
  readonly #client: Client;
  readonly #charge: () => void;
  readonly #check: CheckLine;
  readonly #lines: LineSplitter;
  readonly #runs = new Set<Run>();
  /** Lines taken whose reply is not written. */
  #inFlight = 0;
  #inputOver = false;

  constructor({ context, socket, client, charge, check }: InvocationStreamOptions) {
    this.#context = context;
    this.#socket = socket;
    this.#client = client;
    this.#charge = charge;
    this.#check = check;
    const bodyBytesMax = context.ports.config.functions.bodyMaxBytes;
    this.#lines = new LineSplitter(Math.ceil(bodyBytesMax / 3) * 4 + lineBytesBesideBody);
    socket.on('data', (chunk: Buffer) => {
      this.#lines.put(chunk);
      this.#take();
    });
    socket.on('drain', () => this.#take());
    socket.on('end', () => socket.destroy());
    // 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#inputOver = true;
      for (const run of this.#runs) run.cancel();
    });
  }

  /** Takes no more lines, whole or not, and ends the connection after the last reply. Idempotent. */
  finish(): void {
    this.#inputOver = true;
    this.#endWhenDone();
  }

  #take(): void {
    while (!this.#inputOver && this.#hasRoom) {
      const line = this.#lines.next();
      if (line === undefined) break;
      if (line === 'too-long') {
        const limit = this.#context.ports.config.functions.bodyMaxBytes;
        this.#refuse({}, new SfsdError('SFSD_ERR_BODY_TOO_LARGE', { limit }));
        this.finish();
        return;
      }
      if (line.length > 0) void this.#run(line);
    }
    if (this.#hasRoom) this.#socket.resume();
    else this.#socket.pause();
  }

  get #hasRoom(): boolean {
    return this.#inFlight < inFlightMax && this.#socket.writableLength < unsentBytesMax;
  }

  async #run(line: Buffer): Promise<void> {
    this.#inFlight += 1;
    let request: Partial<StreamRequestBody> = {};
    try {
      const value = parse(line);
      if (typeof value === 'object' && value !== null) request = value;
      this.#charge();
      this.#check(value);
      this.#write(await this.#outcomeOf(value));
    } catch (thrown) {
      this.#refuse(request, thrown);
    } finally {
      this.#inFlight -= 1;
      if (this.#inputOver) this.#endWhenDone();
      else if (this.#socket.isPaused()) this.#take();
    }
  }

  async #outcomeOf(request: StreamRequestBody): Promise<StreamReplyBody> {
    const { functionName, id, source, policy, expectedMs, arrivedAtMs, bodyBase64 } = request;
    const context = this.#context;
    const wanted = {
      functionName,
      id,
      source,
      policy,
      expectedMs,
      arrivedAtMs,
      body: bodyBase64 === undefined ? noBody : Buffer.from(bodyBase64, 'base64'),
      client: this.#client,
    };
    const open = openRun(context, wanted);
    this.#runs.add(open.run);
    try {
      const launched = await startRun(context, open, wanted);
      const done = finishRun(context, open.run, await launched.outcome);
      return resultBody(done, decisionsOf(context, launched.key));
    } finally {
      this.#runs.delete(open.run);
    }
  }

  #refuse({ id, source }: Partial<StreamRequestBody>, thrown: unknown): void {
    const error =
      thrown instanceof SfsdError
        ? thrown
        : new SfsdError('SFSD_ERR_INTERNAL', { reason: 'a line of a stream failed unexpectedly' });
    if (error !== thrown) {
      this.#context.ports.logger.error({ event: 'request_failed', code: error.code, err: thrown });
    }
    const retryAfterSeconds = retryAfterOf(error);
    this.#write({
      id: typeof id === 'string' ? id : '',
      source: typeof source === 'string' ? source : 'api',
      ...errorBody(error),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }

  #write(reply: StreamReplyBody): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(reply)}\n`);
  }

  #endWhenDone(): void {
    if (this.#inFlight === 0 && this.#socket.writable) this.#socket.end();
  }
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', { reason: 'a line is not JSON' }, { cause: thrown });
  }
}
