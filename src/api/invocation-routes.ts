/**
 * One invocation, however it came: GET it, GET its decisions, say it is completed, stop managing it.
 *
 * Three places may know it, asked in this order: the scheduling plane (live or recently finished), the runs that this server
 * started (a launch that has not reached the plane yet), the kept results (the plane has forgotten it already).
 *
 * Everybody who may read sees how it was scheduled; what it wrote only its owner and operators.
 */
import type { FastifyInstance } from 'fastify';
import type { Role } from '../contracts/access.js';
import { SfsdError } from '../contracts/errors.js';
import type { ExplanationBody, InvocationBody, ResultBody } from '../contracts/http.js';
import type { InvocationKey } from '../contracts/invocation.js';
import type { Explanation } from '../contracts/scheduling-plane.js';
import { decisionBody, explanationBody, resultBody } from './bodies.js';
import { type Client, needs } from './clients.js';
import type { ApiContext } from './context.js';
import { guardedFailures } from './errors.js';
import type { KeptResult } from './results.js';
import { owns, requireOwn } from './rights.js';
import type { Run } from './runs.js';
import { idSchema, ref, sourceSchema } from './schemas.js';

interface InvocationRoute {
  readonly Params: { readonly id: string };
  readonly Querystring: { readonly source: string };
}

const tags = ['invocations'];
const params = { type: 'object', required: ['id'], properties: { id: idSchema } };
const querystring = {
  type: 'object',
  additionalProperties: false,
  properties: { source: { ...sourceSchema, default: 'api' } },
};
const readFailures = guardedFailures('SFSD_ERR_REQUEST_INVALID', 'SFSD_ERR_INVOCATION_UNKNOWN');
/** A body is not wanted, but one that is sent must be JSON of a decent size. */
const writeFailures = guardedFailures(
  'SFSD_ERR_REQUEST_INVALID',
  'SFSD_ERR_INVOCATION_UNKNOWN',
  'SFSD_ERR_BODY_TOO_LARGE',
  'SFSD_ERR_MEDIA_TYPE',
);

function schemaOf(role: Role, summary: string, response: object) {
  return { onRequest: needs(role), schema: { tags, summary, params, querystring, response } };
}

export async function invocationRoutes(app: FastifyInstance, context: ApiContext): Promise<void> {
  app.get<InvocationRoute>(
    '/v1/invocations/:id',
    schemaOf(
      'read',
      'Where an invocation stands; asynchronous runs of one\u2019s own carry their result once they have ended. Role read.',
      {
        200: { description: 'As it is now.', ...ref('InvocationBody') },
        ...readFailures,
      },
    ),
    async (request): Promise<InvocationBody> => {
      const { decisions, incomplete, ...body } = describe(context, nameOf(request), request.client);
      return body;
    },
  );

  app.get<InvocationRoute>(
    '/v1/invocations/:id/decisions',
    schemaOf('read', 'What the scheduling plane decided about it, oldest first. Role read.', {
      200: { description: 'As far as it is known now.', ...ref('ExplanationBody') },
      ...readFailures,
    }),
    async (request): Promise<ExplanationBody> => describe(context, nameOf(request), request.client),
  );

  app.post<InvocationRoute>(
    '/v1/invocations/:id/end',
    schemaOf('submit', 'It is completed, although its tasks may live on. Role submit, for one\u2019s own.', {
      204: { description: 'Demoted and no longer managed.', type: 'null' },
      ...writeFailures,
    }),
    async (request, reply) => {
      const name = nameOf(request);
      const key = context.ports.plane.find(name.source, name.id);
      if (key === undefined) throw unknown(name);
      requireOwnInvocation(context, request.client, { name, key });
      context.ports.plane.end(key, 'completed');
      return reply.code(204).send();
    },
  );

  app.delete<InvocationRoute>(
    '/v1/invocations/:id',
    schemaOf(
      'submit',
      'Stop managing it: demoted, it lives on. A function run of ours is ended. Role submit, for one\u2019s own.',
      {
        204: { description: 'Done.', type: 'null' },
        ...writeFailures,
      },
    ),
    async (request, reply) => {
      const name = nameOf(request);
      const run = context.runs.get(name.source, name.id);
      const key = context.ports.plane.find(name.source, name.id);
      if (run !== undefined) {
        requireOwn(request.client, `invocation ${name.id}`, run.ownerUid);
        run.cancel();
      } else if (key !== undefined) {
        requireOwnInvocation(context, request.client, { name, key });
        context.ports.plane.end(key, 'cancelled');
      } else throw unknown(name);
      return reply.code(204).send();
    },
  );
}

interface Name {
  readonly source: string;
  readonly id: string;
}

function nameOf(request: { readonly params: { id: string }; readonly query: { source: string } }): Name {
  return { source: request.query.source, id: request.params.id };
}

function unknown(name: Name): SfsdError {
  return new SfsdError('SFSD_ERR_INVOCATION_UNKNOWN', { id: name.id, source: name.source });
}

/** Asked of the plane only when it matters: an operator's flood of ends costs what it did. */
function requireOwnInvocation(
  { ports }: ApiContext,
  client: Client,
  { name, key }: { readonly name: Name; readonly key: InvocationKey },
): void {
  if (client.role === 'operate') return;
  requireOwn(client, `invocation ${name.id}`, ports.plane.explain(key)?.invocation.ownerUid);
}

function describe({ ports, runs, results }: ApiContext, name: Name, client: Client): ExplanationBody {
  const key = ports.plane.find(name.source, name.id);
  const explanation = key === undefined ? undefined : ports.plane.explain(key);
  const run = runs.get(name.source, name.id);
  // The result of an earlier run of the same name is not this one's.
  const kept = run === undefined ? results.get(name.source, name.id) : undefined;
  if (explanation !== undefined) {
    const isShown = kept !== undefined && kept.key === key && owns(client, kept.run.ownerUid);
    const own = isShown ? resultOf(kept, explanation) : undefined;
    return explanationBody(explanation, ports.plane.defaultPolicy, own);
  }
  if (run !== undefined) return startingBody(run);
  if (kept !== undefined) return endedBody(kept, client);
  throw unknown(name);
}

/** The plane's decisions, where it has them, are the later and the fuller. */
function resultOf(kept: KeptResult, explanation: Explanation): ResultBody {
  return resultBody(kept.run, explanation.decisions.map(decisionBody));
}

function startingBody({ id, source, functionName, arrivedAt }: Run): ExplanationBody {
  return {
    id,
    source,
    functionName,
    state: 'submitted',
    arrivedAtMs: arrivedAt / 1000,
    decisions: [],
    incomplete: false,
  };
}

function endedBody({ run, decisions }: KeptResult, client: Client): ExplanationBody {
  const { id, source, functionName } = run;
  const result = resultBody(run, decisions);
  const { arrivedAtMs } = result;
  const own = owns(client, run.ownerUid) ? { result } : {};
  return { id, source, functionName, state: 'ended', arrivedAtMs, ...own, decisions, incomplete: false };
}
