/**
 * `Submit` over one stream of invocations: what the generator and the daemon spend on each request is load that no trace has, and a
 * request of its own costs both twice as much. Refusals and failures are outcomes, as the contract wants it; only a bug rejects.
 */
import type { ExitStatus } from '../../contracts/function.js';
import type { DecisionBody, ResultBody, StreamRequestBody } from '../../contracts/http.js';
import { invocationKey } from '../../contracts/invocation.js';
import type { ReplayOutcome, ReplayRequest, Submit } from '../../contracts/replay.js';
import type { Decision } from '../../contracts/scheduler.js';
import { duration, instant } from '../../contracts/time.js';
import { ReplyError } from '../client.js';
import type { InvocationStreamClient } from '../invocation-stream.js';

export const replaySource = 'replay';

/** @param runName makes ids unique on a daemon that has seen the same workload before. */
export function submitOver(stream: Pick<InvocationStreamClient, 'invoke'>, runName: string): Submit {
  return async (request) => {
    try {
      return outcomeOf(await stream.invoke(lineOf(request, runName)));
    } catch (thrown) {
      if (thrown instanceof ReplyError) return failed({ kind: 'cancelled' }, thrown.code);
      const code = (thrown as { code?: unknown } | undefined)?.code;
      if (typeof code !== 'string') throw thrown;
      // No answer: whether it ran is unknown.
      return failed({ kind: 'lost' }, code);
    }
  };
}

function lineOf(request: ReplayRequest, runName: string): StreamRequestBody {
  const { body } = request;
  return {
    functionName: request.functionName,
    ...(body.length === 0 ? {} : { bodyBase64: Buffer.from(body).toString('base64') }),
    id: `${runName}-${request.policy}-${request.id}`,
    source: replaySource,
    // FIFO and RR are SFS with other parameters: the daemon is another, the request is not.
    // FIFO and RR are SFS on a daemon of their own.
    policy: request.policy === 'cfs' || request.policy === 'gittins' ? request.policy : 'sfs',
    arrivedAtMs: request.arrivedAt / 1000,
  };
}

export function outcomeOf(result: ResultBody): ReplayOutcome {
  return {
    exit: exitOf(result.exit),
    enqueuedAt: instantOf(result.enqueuedAtMs),
    startedAt: instantOf(result.startedAtMs),
    endedAt: instantOf(result.endedAtMs),
    cpuTime: duration(result.cpuMs * 1000),
    voluntarySwitches: result.voluntarySwitches,
    involuntarySwitches: result.involuntarySwitches,
    decisions: result.decisions.map(decisionOf),
  };
}

/** `exited 0`, `signalled SIGKILL`, `timeout`, `cancelled`, `lost`. */
export function exitOf(text: string): ExitStatus {
  const [kind, detail = ''] = text.split(' ');
  if (kind === 'exited') return { kind, code: Number(detail) };
  if (kind === 'signalled') return { kind, signal: detail };
  return kind === 'timeout' || kind === 'cancelled' ? { kind } : { kind: 'lost' };
}

/** The key stays with the daemon: an outcome's decisions are all of one invocation. */
function decisionOf(body: DecisionBody): Decision {
  const { kind, worker, value, extra } = body;
  const key = invocationKey(0);
  return { kind, at: instantOf(body.atMs), key, worker, cpuTime: duration(body.cpuMs * 1000), value, extra };
}

function failed(exit: ExitStatus, errorCode: string): ReplayOutcome {
  const never = instant(0);
  return {
    exit,
    errorCode,
    enqueuedAt: never,
    startedAt: never,
    endedAt: never,
    cpuTime: duration(0),
    voluntarySwitches: 0,
    involuntarySwitches: 0,
    decisions: [],
  };
}

function instantOf(ms: number) {
  return instant(ms * 1000);
}
