/**
 * The stream door under attack: an upgrade, good or spoilt, and after it lines: good ones, spoilt ones, broken text, noise, lines that
 * are too long, all cut into pieces anywhere; half a line and then silence; a caller that goes. Each whole line must be answered by one
 * line, in whatever order, unless one of them is too long: that is answered and ends the stream.
 */
import { type ErrorCode, errorTable } from '../../src/contracts/errors.js';
import type { OpenApi } from './caller.js';
import { type Attack, faultOf, noise, piecesOf, type Way } from './fuzz-attack.js';
import type { Fuzz } from './fuzz-bodies.js';

const newline = '\n'.charCodeAt(0);
const linesMax = 12;
/** Running a function costs a hundred times an answer: few do. */
const runningShare = 0.02;
/** Base64 of the largest body, and what may stand beside it. */
const lineMaxOf = (bodyMaxBytes: number) => Math.ceil(bodyMaxBytes / 3) * 4 + 4096;

export function streamAttackOf(
  fuzz: Fuzz,
  { ways, bodyMaxBytes }: { readonly ways: readonly [Way, ...Way[]]; readonly bodyMaxBytes: number },
): Attack {
  const way = fuzz.pick(ways);
  const lines = Array.from({ length: fuzz.below(linesMax) }, () => lineOf(fuzz, bodyMaxBytes));
  const sent = Buffer.concat(lines);
  const cut = fuzz.chance(0.15) ? fuzz.below(sent.length + 1) : sent.length;
  const bytes = Buffer.concat([upgrade(fuzz, way), sent.subarray(0, cut)]);
  return {
    way,
    pieces: piecesOf(fuzz, bytes),
    abort: fuzz.chance(0.15),
    stallMs: fuzz.chance(0.03) ? fuzz.below(400) : 0,
    replies: repliesTo(sent.subarray(0, cut), lineMaxOf(bodyMaxBytes)),
  };
}

/** Why an answer should not have come; undefined: all is well. */
export function streamFaultOf(attack: Attack, answer: string, document: OpenApi): string | undefined {
  if (attack.abort) return undefined;
  if (!answer.startsWith('HTTP/1.1 101 ')) return faultOf(attack, answer, document);
  const lines = answer.slice(answer.indexOf('\r\n\r\n') + 4).split('\n');
  if (lines.pop() !== '') return 'the last line is not whole';
  if (lines.length !== attack.replies) return `${lines.length} replies to ${attack.replies} lines`;
  for (const line of lines) {
    const { code, exit } = JSON.parse(line) as { readonly code?: ErrorCode; readonly exit?: string };
    if (exit !== undefined) continue;
    if (code === undefined || errorTable[code] === undefined) return 'a refusal without a code of the table';
    if (errorTable[code].status === 500) return code;
  }
  return undefined;
}

function upgrade(fuzz: Fuzz, { authorization }: Way): Buffer {
  const good = [
    'GET /v1/stream HTTP/1.1',
    'host: sfsd',
    'connection: upgrade',
    'upgrade: sfsd-invocations',
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
  ];
  const spoilt = fuzz.pick([
    ['POST /v1/stream HTTP/1.1', ...good.slice(1)],
    ['GET /v1/status HTTP/1.1', ...good.slice(1)],
    [...good.slice(0, 3), 'upgrade: websocket', ...good.slice(4)],
    [...good, `upgrade: ${'u'.repeat(fuzz.below(2000))}`],
    [...good, 'content-length: 5'],
    [...good, 'transfer-encoding: chunked'],
  ]);
  return Buffer.from(`${(fuzz.chance(0.08) ? spoilt : good).join('\r\n')}\r\n\r\n`, 'latin1');
}

function lineOf(fuzz: Fuzz, bodyMaxBytes: number): Buffer {
  const good = {
    id: `s${fuzz.below(1e9)}`,
    functionName: fuzz.chance(runningShare) ? 'f' : 'absent',
    ...(fuzz.chance(0.3) ? { bodyBase64: Buffer.from('x'.repeat(fuzz.below(100))).toString('base64') } : {}),
  };
  const field = fuzz.pick([
    'id',
    'source',
    'functionName',
    'policy',
    'arrivedAtMs',
    'bodyBase64',
    '__proto__',
  ]);
  const kinds: readonly [() => string | Buffer, ...(() => string | Buffer)[]] = [
    () => JSON.stringify(good),
    () => JSON.stringify({ ...good, [field]: fuzz.value(2) }),
    () => JSON.stringify(fuzz.value(3)) ?? 'undefined',
    () => fuzz.brokenText(JSON.stringify(good)),
    () => fuzz.body(),
    () => noise(fuzz),
    () => '\r',
    () => '',
  ];
  const text = fuzz.chance(0.01) ? 'l'.repeat(fuzz.below(2 * lineMaxOf(bodyMaxBytes))) : fuzz.pick(kinds)();
  return Buffer.concat([Buffer.from(text), Buffer.from('\n')]);
}

/** One for each whole line that is not empty, up to the first that is too long, whole or not, and one for that. */
function repliesTo(sent: Buffer, lineMax: number): number {
  let replies = 0;
  for (let start = 0; start < sent.length; ) {
    const end = sent.indexOf(newline, start);
    if ((end < 0 ? sent.length : end) - start > lineMax) return replies + 1;
    if (end < 0) break;
    if (end > start) replies += 1;
    start = end + 1;
  }
  return replies;
}
