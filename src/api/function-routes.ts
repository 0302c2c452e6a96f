/**
 * Registered functions: PUT, GET, DELETE /v1/functions/:name and GET /v1/functions.
 *
 * A function belongs to the uid that it runs as. Its environment may hold secrets, so only its owner and operators see the values.
 */
import type { FastifyInstance } from 'fastify';
import { SfsdError } from '../contracts/errors.js';
import type { FunctionSpec } from '../contracts/function.js';
import type { FunctionBody } from '../contracts/http.js';
import { type Client, needs } from './clients.js';
import type { ApiContext } from './context.js';
import { guardedFailures } from './errors.js';
import { ownerOf, owns, requireOwn, requirePolicy, requireWeight } from './rights.js';
import { functionInputSchema, functionNameSchema, ref } from './schemas.js';

interface Named {
  readonly Params: { readonly name: string };
}

/** A FunctionBody whose defaults validation has filled in; the name is in the path and may be repeated. */
type FunctionInput = Omit<FunctionBody, 'name'> & { readonly name?: string };

const tags = ['functions'];
const hiddenValue = '(hidden)';
export const nameParams = {
  type: 'object',
  required: ['name'],
  properties: { name: functionNameSchema },
};

export async function functionRoutes(app: FastifyInstance, { ports }: ApiContext): Promise<void> {
  app.put<Named & { readonly Body: FunctionInput }>(
    '/v1/functions/:name',
    {
      onRequest: needs('submit'),
      schema: {
        tags,
        summary:
          'Register a function, or replace it; running instances finish as they were. Role submit, for functions of its own; one that runs as another uid or gid needs operate.',
        params: nameParams,
        body: functionInputSchema(ports.config.functions),
        response: {
          200: { description: 'Replaced.', ...ref('FunctionBody') },
          201: { description: 'Registered.', ...ref('FunctionBody') },
          ...guardedFailures(
            'SFSD_ERR_REQUEST_INVALID',
            'SFSD_ERR_FUNCTION_INVALID',
            'SFSD_ERR_BODY_TOO_LARGE',
            'SFSD_ERR_MEDIA_TYPE',
            'SFSD_ERR_FUNCTIONS_FULL',
            'SFSD_ERR_STORE_FAILED',
          ),
        },
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      if (request.body.name !== undefined && request.body.name !== name)
        throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
          reason: `body/name is not the name in the path, ${name}`,
        });
      const { client, body } = request;
      const known = ports.functions.get(name);
      if (known !== undefined) requireOwn(client, `function ${name}`, known.uid);
      requirePolicy(client, body.policy, ports.plane);
      requireWeight(client, body.weight);
      const definition = { ...body, ...ownerOf(client, body, known) };
      const { spec, created } = await ports.functions.put(name, definition);
      return reply.code(created ? 201 : 200).send(spec satisfies FunctionBody);
    },
  );

  app.get(
    '/v1/functions',
    {
      onRequest: needs('read'),
      schema: {
        tags,
        summary: 'All registered functions; values of env of one\u2019s own only. Role read.',
        response: {
          200: { description: 'All.', type: 'array', items: ref('FunctionBody') },
          ...guardedFailures(),
        },
      },
    },
    async ({ client }): Promise<readonly FunctionBody[]> =>
      ports.functions.list().map((spec) => shown(spec, client)),
  );

  app.get<Named>(
    '/v1/functions/:name',
    {
      onRequest: needs('read'),
      schema: {
        tags,
        summary: 'One registered function; values of env of one\u2019s own only. Role read.',
        params: nameParams,
        response: {
          200: { description: 'The function.', ...ref('FunctionBody') },
          ...guardedFailures('SFSD_ERR_REQUEST_INVALID', 'SFSD_ERR_FUNCTION_UNKNOWN'),
        },
      },
    },
    async (request): Promise<FunctionBody> => {
      const { name } = request.params;
      const spec = ports.functions.get(name);
      if (spec === undefined) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
      return shown(spec, request.client);
    },
  );

  app.delete<Named>(
    '/v1/functions/:name',
    {
      onRequest: needs('submit'),
      schema: {
        tags,
        summary: 'Forget a function; running instances finish. Role submit, for one\u2019s own.',
        params: nameParams,
        response: {
          204: { description: 'Forgotten.', type: 'null' },
          ...guardedFailures(
            'SFSD_ERR_REQUEST_INVALID',
            'SFSD_ERR_FUNCTION_UNKNOWN',
            'SFSD_ERR_BODY_TOO_LARGE',
            'SFSD_ERR_MEDIA_TYPE',
            'SFSD_ERR_STORE_FAILED',
          ),
        },
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const spec = ports.functions.get(name);
      if (spec === undefined) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
      requireOwn(request.client, `function ${name}`, spec.uid);
      if (!(await ports.functions.delete(name))) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
      return reply.code(204).send();
    },
  );
}

function shown(spec: FunctionSpec, client: Client): FunctionBody {
  if (owns(client, spec.uid)) return spec;
  return { ...spec, env: Object.fromEntries(Object.keys(spec.env).map((name) => [name, hiddenValue])) };
}
