/**
 * POST /v1/functions/:name/invocations: run a registered function on the bytes of the body.
 *
 *   sync    the answer waits for the end. A caller that goes away ends the function: nobody would read its result.
 *   async   202 as soon as the function has started and the store knows of it; the result is kept for GET. The caller may go.
 *
 * run-function.ts and recorded-run.ts say in which order things happen.
 *
 * The body is any bytes of any content type, and a function's content types are its own affair: the header is not even parsed.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SfsdError } from '../contracts/errors.js';
import type { FunctionSpec } from '../contracts/function.js';
import type { AcceptedBody } from '../contracts/http.js';
import type { InvocationKey, PolicyName } from '../contracts/invocation.js';
import { exitText, type FinishedRun, resultBody, turnaroundMs } from './bodies.js';
import { needs } from './clients.js';
import type { ApiContext } from './context.js';
import { guardedFailures, sendError } from './errors.js';
import { nameParams } from './function-routes.js';
import { startRecorded } from './recorded-run.js';
import { decisionsOf, finishRun, openRun, type RunRequest, startRun } from './run-function.js';
import type { Run } from './runs.js';
import { idSchema, policySchema, ref, sourceSchema } from './schemas.js';

interface InvokeRoute {
  readonly Params: { readonly name: string };
  readonly Querystring: { readonly async?: 'true' | 'false'; readonly detail?: 'true' | 'false' };
  readonly Headers: {
    readonly 'sfsd-id'?: string;
    readonly 'sfsd-source'?: string;
    readonly 'sfsd-policy'?: PolicyName;
    readonly 'sfsd-expected-ms'?: string;
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
      'sfsd-expected-ms': {
        type: 'string',
        pattern: '^[0-9]{1,7}(\\.[0-9]{1,9})?$',
        description: 'CPU time that the caller expects it to use, for policy gittins.',
      },
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
      'SFSD_ERR_STORE_FAILED',
      'SFSD_ERR_FUNCTION_TIMEOUT',
    ),
  },
};

async function invoke(context: ApiContext, request: InvokeRequest, reply: FastifyReply) {
  const isAsync = request.query.async === 'true';
  const detail = request.query.detail === 'true';
  if (isAsync && detail) {
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
      reason: 'query/async and query/detail exclude each other; GET of an asynchronous run has its detail',
    });
  }
  const wanted = wantedOf(request);
  const open = openRun(context, wanted);
  const { run } = open;
  if (!isAsync) {
    const stopListening = cancelWhenClientGoes(run, request);
    try {
      const launched = await startRun(context, open, wanted);
      const done = finishRun(context, run, await launched.outcome);
      return detail ? sendDetail(context, reply, done, launched.key) : sendOutput(reply, done, open.spec);
    } finally {
      stopListening();
    }
  }
  await startRecorded(context, open, wanted);
  return reply
    .code(202)
    .header('location', locationOf(run))
    .send({ id: run.id, source: run.source } satisfies AcceptedBody);
}

function wantedOf({ params, headers, body, client }: InvokeRequest): RunRequest {
  const arrivedAtMs = headers['sfsd-arrived-at-ms'];
  const expectedMs = headers['sfsd-expected-ms'];
  return {
    functionName: params.name,
    id: headers['sfsd-id'],
    source: headers['sfsd-source'],
    policy: headers['sfsd-policy'],
    expectedMs: expectedMs === undefined ? undefined : Number(expectedMs),
    arrivedAtMs: arrivedAtMs === undefined ? undefined : Number(arrivedAtMs),
    body: body ?? new Uint8Array(0),
    client,
  };
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
  return reply.headers(headersOf(run)).send(resultBody(run, decisionsOf(context, key)));
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

function locationOf({ id, source }: Run): string {
  const path = `/v1/invocations/${encodeURIComponent(id)}`;
  return source === 'api' ? path : `${path}?source=${encodeURIComponent(source)}`;
}
