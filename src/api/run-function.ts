/**
 * One run of a registered function for whoever asks, by a request of its own or on a stream:
 *
 *   open     its id is taken; nothing has happened yet
 *   start    `launch` reserves a place among the live invocations before it does anything else, so that a full daemon refuses and
 *            nothing was started; a launch that fails gives the id back
 *   finish   gives the id back and counts it
 */
import { randomUUID } from 'node:crypto';
import { SfsdError } from '../contracts/errors.js';
import type { Credentials, FunctionSpec, Launched, LaunchOutcome } from '../contracts/function.js';
import type { DecisionBody } from '../contracts/http.js';
import type { InvocationKey, PolicyName } from '../contracts/invocation.js';
import { fromMs, type Instant, instant } from '../contracts/time.js';
import { decisionBody, type FinishedRun } from './bodies.js';
import type { Client } from './clients.js';
import type { ApiContext } from './context.js';
import { credentialsOf, requireOwn, requirePolicy } from './rights.js';
import type { Run } from './runs.js';

export interface RunRequest {
  readonly functionName: string;
  readonly id: string | undefined;
  readonly source: string | undefined;
  readonly policy: PolicyName | undefined;
  readonly expectedMs: number | undefined;
  /** On CLOCK_MONOTONIC, as the caller wrote it. */
  readonly arrivedAtMs: number | undefined;
  readonly body: Uint8Array;
  readonly client: Client;
}

export interface OpenRun {
  readonly spec: FunctionSpec;
  /** Whom it runs as. */
  readonly credentials: Credentials;
  readonly run: Run;
}

/** Throws SFSD_ERR_FUNCTION_UNKNOWN, SFSD_ERR_FORBIDDEN, SFSD_ERR_REQUEST_INVALID, SFSD_ERR_INVOCATION_DUPLICATE. */
export function openRun({ ports, runs }: ApiContext, request: RunRequest): OpenRun {
  const { functionName, client } = request;
  const spec = ports.functions.get(functionName);
  if (spec === undefined) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name: functionName });
  requireOwn(client, `function ${functionName}`, spec.uid);
  requirePolicy(client, request.policy, ports.plane);
  const credentials = credentialsOf(client, spec);
  const enqueuedAt = ports.plane.now();
  const run = runs.open({
    id: request.id ?? randomUUID(),
    source: request.source ?? 'api',
    functionName,
    ownerUid: credentials.uid,
    arrivedAt: arrivalOf(request.arrivedAtMs, enqueuedAt),
    enqueuedAt,
  });
  return { spec, run, credentials };
}

/** Given back by `finishRun`; a launch that fails gives it back itself. */
export async function startRun(
  { ports, runs, metrics }: ApiContext,
  { spec, run, credentials }: OpenRun,
  { policy, expectedMs, body }: Pick<RunRequest, 'policy' | 'expectedMs' | 'body'>,
): Promise<Launched> {
  try {
    return await ports.launch(spec, {
      id: run.id,
      source: run.source,
      body,
      ...(policy === undefined ? {} : { policy }),
      ...(expectedMs === undefined ? {} : { expected: fromMs(expectedMs) }),
      credentials,
      arrivedAt: run.arrivedAt,
      signal: run.signal,
    });
  } catch (thrown) {
    runs.close(run);
    metrics.refused(spec.name);
    throw thrown;
  }
}

export function finishRun({ runs, metrics }: ApiContext, run: Run, outcome: LaunchOutcome): FinishedRun {
  runs.close(run);
  metrics.ran(run.functionName, outcome);
  const { id, source, functionName, ownerUid, enqueuedAt } = run;
  return { id, source, functionName, ownerUid, enqueuedAt, outcome };
}

export function decisionsOf({ ports }: ApiContext, key: InvocationKey): readonly DecisionBody[] {
  return (ports.plane.explain(key)?.decisions ?? []).map(decisionBody);
}

/** A wrong clock would give negative turnarounds, so an arrival in the future is refused. */
function arrivalOf(arrivedAtMs: number | undefined, now: Instant): Instant {
  if (arrivedAtMs === undefined) return now;
  const arrivedAt = instant(arrivedAtMs * 1000);
  if (arrivedAt > now) {
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
      reason: `an arrival at ${arrivedAtMs} ms lies in the future: CLOCK_MONOTONIC is ${now / 1000} ms`,
    });
  }
  return arrivedAt;
}
