/**
 * Malformed requests as bytes on a socket: spoilt bodies, broken headers and request lines, lengths that lie, chunks that are none,
 * pipelines, writes in pieces, clients that stall and go. One connection for each; every answer that comes must be in the table of
 * errors, and of a well-formed request in the API's own description.
 */
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { type ErrorCode, errorTable } from '../../src/contracts/errors.js';
import type { OpenApi } from './caller.js';
import type { Fuzz } from './fuzz-bodies.js';

/** How long a client waits for an answer that should come at once, on a host that is busy. */
const answerMaxMs = 20_000;
const stallMaxMs = 400;
const newline = '\n'.charCodeAt(0);
/** Ends of line in the answer to an upgrade, its empty line included. */
const headLines = 4;

export interface Way {
  readonly connect: NetConnectOpts;
  /** Of the `authorization` header; undefined: none. */
  readonly authorization?: string;
}

export interface Attack {
  readonly way: Way;
  readonly pieces: readonly Buffer[];
  /** Goes away after all is written, without waiting. */
  readonly abort: boolean;
  readonly stallMs: number;
  /** Of a stream: lines to wait for, then the client goes; undefined: it ends its side once all is written. */
  readonly replies?: number;
  /** Of a request that is well-formed HTTP and alone: its route in the description. */
  readonly route?: { readonly method: string; readonly path: string };
}

/** Method, path, and the path as the description has it. */
type Route = readonly [string, string, string];

const routes: readonly [Route, ...Route[]] = [
  ['POST', '/v1/invocations', '/v1/invocations'],
  ['PUT', '/v1/functions/f', '/v1/functions/{name}'],
  ['PUT', '/v1/functions/spoilt', '/v1/functions/{name}'],
  ['DELETE', '/v1/functions/spoilt', '/v1/functions/{name}'],
  ['GET', '/v1/functions', '/v1/functions'],
  ['POST', '/v1/invocations/i1/end', '/v1/invocations/{id}/end'],
  ['DELETE', '/v1/invocations/i2', '/v1/invocations/{id}'],
  ['GET', '/v1/invocations/i3/decisions?source=hook', '/v1/invocations/{id}/decisions'],
  ['GET', '/v1/status', '/v1/status'],
  ['GET', '/healthz', '/healthz'],
];
const running = [
  'POST',
  '/v1/functions/f/invocations?detail=true',
  '/v1/functions/{name}/invocations',
] as const;
/** Running a function costs a hundred times an answer: few do. */
const runningShare = 0.01;

export function attackOf(fuzz: Fuzz, ways: readonly [Way, ...Way[]]): Attack {
  const way = fuzz.pick(ways);
  const [method, path, template] = fuzz.chance(runningShare) ? running : fuzz.pick(routes);
  const authorization = way.authorization === undefined ? [] : [`authorization: ${way.authorization}`];
  const text = bodyFor(fuzz, method, path);
  const head = (line: string, headers: readonly string[]) =>
    Buffer.from(`${[line, 'host: sfsd', ...authorization, ...headers].join('\r\n')}\r\n\r\n`, 'latin1');
  const body = Buffer.from(text);
  const json = ['content-type: application/json', `content-length: ${body.length}`];
  const whole = Buffer.concat([head(`${method} ${path} HTTP/1.1`, json), body]);
  const attack = (bytes: Buffer, more: Partial<Attack> = {}): Attack => ({
    way,
    pieces: piecesOf(fuzz, bytes),
    abort: fuzz.chance(0.1),
    stallMs: fuzz.chance(0.02) ? fuzz.below(stallMaxMs) : 0,
    ...more,
  });
  if (fuzz.chance(0.45)) return attack(whole, { route: { method, path: template } });
  const kinds: readonly [() => Attack, ...(() => Attack)[]] = [
    () => attack(Buffer.concat([head(brokenLine(fuzz, method, path), json), body])),
    () => attack(Buffer.concat([head(`${method} ${path} HTTP/1.1`, brokenHeaders(fuzz, body.length)), body])),
    () => attack(Buffer.concat([head(`${method} ${path} HTTP/1.1`, chunkedHeaders), chunks(fuzz, text)])),
    () =>
      attack(whole.subarray(0, fuzz.below(whole.length)), { abort: true, stallMs: fuzz.below(stallMaxMs) }),
    () => attack(Buffer.concat(Array.from({ length: 2 + fuzz.below(4) }, () => whole))),
    () => attack(noise(fuzz)),
    () => attack(Buffer.concat([whole.subarray(0, fuzz.below(whole.length)), noise(fuzz)])),
  ];
  return fuzz.pick(kinds)();
}

function bodyFor(fuzz: Fuzz, method: string, path: string): string {
  if (method === 'PUT' && fuzz.chance(0.7)) return JSON.stringify(fuzz.spoiltFunction());
  if (path === '/v1/invocations' && fuzz.chance(0.3)) return JSON.stringify(fuzz.goodList());
  return fuzz.body();
}

const chunkedHeaders = ['content-type: application/json', 'transfer-encoding: chunked'];

function brokenLine(fuzz: Fuzz, method: string, path: string): string {
  return fuzz.pick([
    `${method} ${path}`,
    `${method} ${path} HTTP/9.9`,
    `${method}  ${path} HTTP/1.1`,
    `${method.toLowerCase()} ${path} HTTP/1.1`,
    `BREW ${path} HTTP/1.1`,
    `PATCH ${path} HTTP/1.1`,
    `${method} ${path}%zz HTTP/1.1`,
    `${method} ${path}/%00%ff HTTP/1.1`,
    `${method} ${path}?${'a=b&'.repeat(fuzz.below(3000))} HTTP/1.1`,
    `${method} /v1/functions/${'x'.repeat(fuzz.below(4000))} HTTP/1.1`,
    `${method} http://other${path} HTTP/1.1`,
    `${method} ../../etc/passwd HTTP/1.1`,
    `${method} ${path}\u0000 HTTP/1.1`,
    `OPTIONS * HTTP/1.1`,
    `CONNECT host:80 HTTP/1.1`,
  ]);
}

function brokenHeaders(fuzz: Fuzz, length: number): string[] {
  const json = 'content-type: application/json';
  return fuzz.pick([
    [json],
    [json, `content-length: ${length + 1 + fuzz.below(50)}`],
    [json, `content-length: ${fuzz.below(length + 1)}`],
    [json, 'content-length: -1'],
    [json, 'content-length: 99999999999999999999'],
    [json, `content-length: ${length}`, `content-length: ${length + 1}`],
    [json, `content-length: ${length}`, 'transfer-encoding: chunked'],
    [json, 'transfer-encoding: gzip, nothing'],
    [json, `content-length: ${64 * 1024 * 1024}`],
    ['content-type: \u00ff;;;', `content-length: ${length}`],
    [`content-type: ${'a'.repeat(fuzz.below(20_000))}`, `content-length: ${length}`],
    [json, `content-length: ${length}`, ...Array.from({ length: fuzz.below(3000) }, (_, at) => `x-${at}: y`)],
    [json, `content-length: ${length}`, 'no colon here'],
    [json, `content-length: ${length}`, ': no name'],
    [json, `content-length: ${length}`, 'folded: a\r\n b'],
    [json, `content-length: ${length}`, 'nul: \u0000'],
    [json, `content-length: ${length}`, 'expect: 100-continue'],
    [json, `content-length: ${length}`, 'expect: miracles'],
    [json, `content-length: ${length}`, 'upgrade: websocket', 'connection: upgrade'],
    [json, `content-length: ${length}`, 'authorization: Bearer  '],
    [json, `content-length: ${length}`, `authorization: Bearer ${'t'.repeat(fuzz.below(9000))}`],
    [json, `content-length: ${length}`, `sfsd-id: ${'i'.repeat(fuzz.below(300))}`, 'sfsd-policy: fast'],
    [json, `content-length: ${length}`, 'sfsd-arrived-at-ms: 999999999999999', 'sfsd-source: \u00e4'],
  ]);
}

function chunks(fuzz: Fuzz, text: string): Buffer {
  const size = Buffer.byteLength(text).toString(16);
  return Buffer.from(
    fuzz.pick([
      `${size}\r\n${text}\r\n0\r\n\r\n`,
      `${size}\r\n${text}`,
      `${size}\r\n${text}\r\n0\r\nTrailer: x\r\n\r\n`,
      `${size};extension=${'e'.repeat(fuzz.below(5000))}\r\n${text}\r\n0\r\n\r\n`,
      `fffffffffffffffff\r\n${text}\r\n0\r\n\r\n`,
      `-1\r\n${text}\r\n`,
      `zz\r\n${text}\r\n0\r\n\r\n`,
      `${size}\n${text}\n0\n\n`,
    ]),
  );
}

export function noise(fuzz: Fuzz): Buffer {
  return Buffer.from(Array.from({ length: 1 + fuzz.below(400) }, () => fuzz.below(256)));
}

/** Whole, or cut anywhere, also within a character or a line's end. */
export function piecesOf(fuzz: Fuzz, bytes: Buffer): Buffer[] {
  if (fuzz.chance(0.7)) return [bytes];
  const cuts = Array.from({ length: 1 + fuzz.below(6) }, () => fuzz.below(bytes.length + 1));
  const ends = [...cuts.sort((one, other) => one - other), bytes.length];
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

/** What came back, whole, once the other side has closed; '' when the client went first. */
export function send(attack: Attack): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(attack.way.connect);
    const received: Buffer[] = [];
    const overdue = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end within ${answerMaxMs} ms`));
    }, answerMaxMs);
    let replies = -headLines;
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (attack.replies === undefined) return;
      for (const byte of chunk) if (byte === newline) replies += 1;
      if (replies >= attack.replies) socket.end();
    });
    // Closed on us while we still wrote: what it said before counts.
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(overdue);
      resolve(attack.abort ? '' : Buffer.concat(received).toString('latin1'));
    });
    socket.once('connect', () => void write(socket, attack));
  });
}

async function write(socket: Socket, { pieces, stallMs, abort, replies }: Attack): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  if (stallMs > 0) await new Promise((resolve) => setTimeout(resolve, stallMs));
  if (abort) socket.destroy();
  else if (replies === undefined) socket.end();
}

/** Why an answer should not have come; undefined: all is well. */
export function faultOf(attack: Attack, answer: string, document: OpenApi): string | undefined {
  let rest = answer;
  let last = 0;
  while (rest !== '') {
    const head = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest);
    if (head === null) return 'it is not HTTP';
    last = Number(head[1]);
    const length = Number(/content-length: (\d+)/i.exec(head[2] ?? '')?.[1] ?? 0);
    const body = rest.slice(head[0].length, head[0].length + length);
    rest = rest.slice(head[0].length + length);
    const fault = last >= 400 ? errorFault(last, body) : undefined;
    if (fault !== undefined) return fault;
    if (last < 400 || attack.route === undefined) continue;
    const { method, path } = attack.route;
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses;
    if (responses?.[String(last)] === undefined) return `${last} of ${method} ${path} is not documented`;
  }
  return undefined;
}

function errorFault(status: number, body: string): string | undefined {
  const { code } = JSON.parse(body) as { readonly code?: ErrorCode };
  const row = code === undefined ? undefined : errorTable[code];
  if (row === undefined) return `${status} without a code of the table`;
  if (row.status !== status) return `${code} with status ${status}`;
  return status === 500 ? `${code}` : undefined;
}
