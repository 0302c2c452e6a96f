/**
 * POST /v1/invocations: tell the daemon of invocations whose tasks others started. A list, because a gateway that starts
 * thousands of functions a second cannot afford a request for each.
 *
 *   1. The list is validated as a whole: a fault anywhere refuses it, and nothing has happened.
 *   2. One `reserve` takes a place for each item, or refuses the list (429) before any side effect.
 *   3. Each item is registered by itself; one that fails gets its error as its entry, the others are not touched.
 *   4. Places that were not used up are given back.
 *
 * Nothing in step 3 awaits: 20,000 items a second is the aim, and an item costs microseconds.
 */
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { SfsdError } from '../contracts/errors.js';
import type { RegisteredBody, RegistrationBody } from '../contracts/http.js';
import type { NewInvocation } from '../contracts/scheduling-plane.js';
import { fromMs, type Instant } from '../contracts/time.js';
import { type Client, needs } from './clients.js';
import type { ApiContext } from './context.js';
import { errorBody, guardedFailures } from './errors.js';
import { requirePolicy, requireWeight } from './rights.js';
import { ref, registrationsMax } from './schemas.js';
import { Targets } from './targets.js';

/** 256 items of the longest cgroup path, or of 256 tids, fit. */
const listBytesMax = 2 * 1024 * 1024;

export async function registrationRoutes(app: FastifyInstance, context: ApiContext): Promise<void> {
  app.post<{ readonly Body: readonly RegistrationBody[] }>(
    '/v1/invocations',
    {
      bodyLimit: listBytesMax,
      onRequest: needs('submit'),
      schema: {
        tags: ['invocations'],
        summary:
          'Register invocations whose tasks run already; one entry for each, in order. Role submit, for processes of one\u2019s own uid or inside access.cgroups; an entry for what may not be registered is a RefusedBody.',
        body: {
          type: 'array',
          minItems: 1,
          maxItems: registrationsMax,
          items: ref('RegistrationBody'),
        },
        response: {
          202: {
            description: 'Each was accepted, or has the code it was refused with.',
            type: 'array',
            items: { anyOf: [ref('AcceptedBody'), ref('RefusedBody')] },
          },
          ...guardedFailures(
            'SFSD_ERR_REQUEST_INVALID',
            'SFSD_ERR_BODY_TOO_LARGE',
            'SFSD_ERR_MEDIA_TYPE',
            'SFSD_ERR_QUEUE_FULL',
            'SFSD_ERR_STOPPING',
          ),
        },
      },
    },
    async (request, reply) => {
      const entries = registerAll(context, request.body, request);
      return reply.code(202).send(entries);
    },
  );
}

function registerAll(
  { ports, metrics }: ApiContext,
  list: readonly RegistrationBody[],
  { client, log }: { readonly client: Client; readonly log: FastifyBaseLogger },
): readonly RegisteredBody[] {
  const { plane, processes } = ports;
  const targets = new Targets({ client, processes, allowedCgroups: ports.config.access.cgroups });
  const reservation = plane.reserve(list.length);
  try {
    const arrivedAt = plane.now();
    const refusals = new Map<string, number>();
    const entries = list.map((item): RegisteredBody => {
      const { id, source = 'api' } = item;
      try {
        requirePolicy(client, item.policy, plane);
        requireWeight(client, item.weight);
        plane.register(newInvocation(item, { source, arrivedAt, client, targets }), reservation);
        return { id, source };
      } catch (thrown) {
        const error = codedOrLogged(thrown, log);
        refusals.set(error.code, (refusals.get(error.code) ?? 0) + 1);
        return { id, source, ...errorBody(error) };
      }
    });
    let accepted = entries.length;
    for (const [code, count] of refusals) {
      metrics.registered(code, count);
      accepted -= count;
    }
    metrics.registered('accepted', accepted);
    return entries;
  } finally {
    reservation.release();
  }
}

/** A bug in one item must not hide from the caller that the items before it are registered. */
function codedOrLogged(thrown: unknown, log: FastifyBaseLogger): SfsdError {
  if (thrown instanceof SfsdError) return thrown;
  log.error({ event: 'registration_failed', err: thrown });
  return new SfsdError(
    'SFSD_ERR_INTERNAL',
    { reason: 'a registration failed unexpectedly' },
    { cause: thrown },
  );
}

function newInvocation(
  item: RegistrationBody,
  options: {
    readonly source: string;
    readonly arrivedAt: Instant;
    readonly client: Client;
    readonly targets: Targets;
  },
): NewInvocation {
  const { id, functionName, policy, weight, expectedMs, sliceMaxMs } = item;
  return {
    id,
    source: options.source,
    functionName,
    group: options.targets.groupOf(item),
    ownerUid: options.client.credentials.uid,
    arrivedAt: options.arrivedAt,
    ...(policy === undefined ? {} : { policy }),
    ...(weight === undefined ? {} : { weight }),
    ...(expectedMs === undefined ? {} : { expected: fromMs(expectedMs) }),
    ...(sliceMaxMs === undefined ? {} : { sliceMax: fromMs(sliceMaxMs) }),
  };
}
