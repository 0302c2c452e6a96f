/**
 * POST /v1/functions/:name/invocations: run a registered function on the bytes of the body.
 *
 *   1. The function, the id and the headers are checked; nothing has happened yet.
 *   2. `launch` reserves a place among the live invocations before it does anything else, so that a full daemon answers 429
 *      and nothing was started.
 *   3. sync    the answer waits for the end. A caller that goes away ends the function: nobody would read its result.
 *      async   202 as soon as the function has started; the result is kept for GET. The caller may go.
 *
 * The body is any bytes of any content type, and a function's content types are its own affair: the header is not even parsed.
 */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SfsdError } from '../contracts/errors.js';
import type { Credentials, FunctionSpec, Launched, LaunchOutcome } from '../contracts/function.js';
import type { AcceptedBody } from '../contracts/http.js';
import type { InvocationKey, PolicyName } from '../contracts/invocation.js';
import { type Instant, instant } from '../contracts/time.js';
import { decisionBody, exitText, type FinishedRun, resultBody, turnaroundMs } from './bodies.js';
import { needs } from './clients.js';
import type { ApiContext } from './context.js';
import { guardedFailures, sendError } from './errors.js';
import { nameParams } from './function-routes.js';
import { credentialsOf, requireOwn, requirePolicy } from './rights.js';
import type { Run } from './runs.js';
import { idSchema, policySchema, ref, sourceSchema } from './schemas.js';

interface InvokeRoute {
  readonly Params: { readonly name: string };
  readonly Querystring: { readonly async?: 'true' | 'false'; readonly detail?: 'true' | 'false' };
  readonly Headers: {
    readonly 'sfsd-id'?: string;
    readonly 'sfsd-source'?: string;
    readonly 'sfsd-policy'?: PolicyName;
    readonly 'sfsd-arrived-at-ms'?: string;
  };
  readonly Body: Buffer | undefined;
}

type InvokeRequest = FastifyRequest<InvokeRoute>;

const booleanQuery = { type: 'string', enum: ['true', 'false'] };
const bytes = { description: 'Any bytes.' };

export async function invokeRoutes(app: FastifyInstance, context: ApiContext): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.post<InvokeRoute>(
    '/v1/functions/:name/invocations',
    {
      bodyLimit: context.ports.config.functions.bodyMaxBytes,
      onRequest: [
        needs('submit'),
        (request, _reply, done) => {
          delete request.raw.headers['content-type'];
          done();
        },
      ],
      schema: invokeSchema,
    },
    (request, reply) => invoke(context, request, reply),
  );
}

const invokeSchema = {
  tags: ['functions'],
  summary:
    'Run a function as its owner: the body is its standard input, the answer its standard output. Role submit, for functions of one\u2019s own.',
  params: nameParams,
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: {
      async: { ...booleanQuery, description: 'Answer 202 once it has started; GET the result later.' },
      detail: { ...booleanQuery, description: 'Answer with a ResultBody, whatever the exit was.' },
    },
  },
  headers: {
    type: 'object',
    properties: {
      'sfsd-id': { ...idSchema, description: 'Made up when absent.' },
      'sfsd-source': sourceSchema,
      'sfsd-policy': policySchema,
      'sfsd-arrived-at-ms': {
        type: 'string',
        pattern: '^[0-9]{1,15}(\\.[0-9]{1,9})?$',
        description: "When it arrived, on the host's CLOCK_MONOTONIC; for replay.",
      },
    },
  },
  body: {
    content: { '*/*': { schema: bytes } },
  },
  response: {
    200: {
      description:
        'It exited with 0. Headers: sfsd-invocation-id, sfsd-turnaround-ms, sfsd-cpu-ms, sfsd-exit, and sfsd-truncated: true when output was dropped.',
      content: {
        'application/octet-stream': { schema: bytes },
        'application/json': { schema: ref('ResultBody') },
      },
    },
    202: { description: 'Started; `location` names where its result will be.', ...ref('AcceptedBody') },
    ...guardedFailures(
      'SFSD_ERR_REQUEST_INVALID',
      'SFSD_ERR_FUNCTION_UNKNOWN',
      'SFSD_ERR_INVOCATION_DUPLICATE',
      'SFSD_ERR_BODY_TOO_LARGE',
      'SFSD_ERR_QUEUE_FULL',
      'SFSD_ERR_FUNCTION_BUSY',
      'SFSD_ERR_LAUNCH_FAILED',
      'SFSD_ERR_FUNCTION_FAILED',
      'SFSD_ERR_STOPPING',
      'SFSD_ERR_SPAWNER_LOST',
      'SFSD_ERR_FUNCTION_TIMEOUT',
    ),
  },
};

async function invoke(context: ApiContext, request: InvokeRequest, reply: FastifyReply) {
  const { ports } = context;
  const { name } = request.params;
  const spec = ports.functions.get(name);
  if (spec === undefined) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
  requireOwn(request.client, `function ${name}`, spec.uid);
  requirePolicy(request.client, request.headers['sfsd-policy'], ports.plane.defaultPolicy);
  const credentials = credentialsOf(request.client, spec);
  const isAsync = request.query.async === 'true';
  const detail = request.query.detail === 'true';
  if (isAsync && detail) {
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
      reason: 'query/async and query/detail exclude each other; GET of an asynchronous run has its detail',
    });
  }
  const enqueuedAt = ports.plane.now();
  const run = context.runs.open({
    id: request.headers['sfsd-id'] ?? randomUUID(),
    source: request.headers['sfsd-source'] ?? 'api',
    functionName: name,
    ownerUid: credentials.uid,
    arrivedAt: arrivalOf(request.headers['sfsd-arrived-at-ms'], enqueuedAt),
    enqueuedAt,
  });
  if (!isAsync) {
    const stopListening = cancelWhenClientGoes(run, request);
    try {
      const launched = await start(context, { spec, run, request, credentials });
      const done = finish(context, { run, outcome: await launched.outcome });
      return detail ? sendDetail(context, reply, done, launched.key) : sendOutput(reply, done, spec);
    } finally {
      stopListening();
    }
  }
  const launched = await start(context, { spec, run, request, credentials });
  void launched.outcome.then((outcome) => {
    const done = finish(context, { run, outcome });
    context.results.put(keep(context, done, launched.key));
  });
  return reply
    .code(202)
    .header('location', locationOf(run))
    .send({ id: run.id, source: run.source } satisfies AcceptedBody);
}

/** Given back by `finish`; a launch that fails gives it back itself. */
async function start(
  { ports, runs, metrics }: ApiContext,
  {
    spec,
    run,
    request,
    credentials,
  }: {
    readonly spec: FunctionSpec;
    readonly run: Run;
    readonly request: InvokeRequest;
    readonly credentials: Credentials;
  },
): Promise<Launched> {
  const policy = request.headers['sfsd-policy'];
  try {
    return await ports.launch(spec, {
      id: run.id,
      source: run.source,
      body: request.body ?? new Uint8Array(0),
      ...(policy === undefined ? {} : { policy }),
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

function finish(
  { runs, metrics }: ApiContext,
  { run, outcome }: { readonly run: Run; readonly outcome: LaunchOutcome },
): FinishedRun {
  runs.close(run);
  metrics.ran(run.functionName, outcome);
  const { id, source, functionName, ownerUid, enqueuedAt } = run;
  return { id, source, functionName, ownerUid, enqueuedAt, outcome };
}

function keep({ ports }: ApiContext, run: FinishedRun, key: InvocationKey) {
  const decisions = ports.plane.explain(key)?.decisions ?? [];
  return { run, key, decisions: decisions.map(decisionBody) };
}

/**
 * The connection is listened to, not the answer: of requests that are pipelined only the first has its answer on the connection,
 * and the others' answers never close.
 */
function cancelWhenClientGoes(run: Run, { raw: { socket } }: InvokeRequest): () => void {
  const cancel = () => run.cancel();
  if (socket.destroyed) cancel();
  // Pipelined requests share their connection; each takes its listener back at its end.
  else socket.setMaxListeners(0).once('close', cancel);
  return () => socket.off('close', cancel);
}

function sendDetail(context: ApiContext, reply: FastifyReply, run: FinishedRun, key: InvocationKey) {
  const { decisions } = keep(context, run, key);
  return reply.headers(headersOf(run)).send(resultBody(run, decisions));
}

function sendOutput(reply: FastifyReply, run: FinishedRun, spec: FunctionSpec) {
  reply.headers(headersOf(run));
  const { exit, stdout, stderr } = run.outcome;
  if (exit.kind === 'exited' && exit.code === 0) {
    return reply
      .type('application/octet-stream')
      .send(Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength));
  }
  return sendError(reply, failureOf(run, spec), { stderr: Buffer.from(stderr).toString('utf8') });
}

function failureOf({ outcome: { exit } }: FinishedRun, { name, timeoutMs }: FunctionSpec): SfsdError {
  if (exit.kind === 'timeout') return new SfsdError('SFSD_ERR_FUNCTION_TIMEOUT', { name, timeoutMs });
  if (exit.kind === 'lost') return new SfsdError('SFSD_ERR_SPAWNER_LOST');
  return new SfsdError('SFSD_ERR_FUNCTION_FAILED', { name, outcome: exitText(exit) });
}

function headersOf({ id, outcome }: FinishedRun): Record<string, string> {
  return {
    'sfsd-invocation-id': id,
    'sfsd-turnaround-ms': String(turnaroundMs(outcome)),
    'sfsd-cpu-ms': String(outcome.cpuMs),
    'sfsd-exit': exitText(outcome.exit),
    ...(outcome.truncated ? { 'sfsd-truncated': 'true' } : {}),
  };
}

/** A wrong clock would give negative turnarounds, so an arrival in the future is refused. */
function arrivalOf(header: string | undefined, now: Instant): Instant {
  if (header === undefined) return now;
  const arrivedAt = instant(Number(header) * 1000);
  if (arrivedAt > now) {
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
      reason: `header/sfsd-arrived-at-ms ${header} lies in the future: CLOCK_MONOTONIC is ${now / 1000} ms`,
    });
  }
  return arrivedAt;
}

function locationOf({ id, source }: Run): string {
  const path = `/v1/invocations/${encodeURIComponent(id)}`;
  return source === 'api' ? path : `${path}?source=${encodeURIComponent(source)}`;
}
