/**
 * Registered functions: PUT, GET, DELETE /v1/functions/:name and GET /v1/functions.
 */
import type { FastifyInstance } from 'fastify';
import { SfsdError } from '../contracts/errors.js';
import type { FunctionBody } from '../contracts/http.js';
import type { ApiContext } from './context.js';
import { guardedFailures } from './errors.js';
import { functionInputSchema, functionNameSchema, ref } from './schemas.js';

interface Named {
  readonly Params: { readonly name: string };
}

/** A FunctionBody whose defaults validation has filled in; the name is in the path and may be repeated. */
type FunctionInput = Omit<FunctionBody, 'name'> & { readonly name?: string };

const tags = ['functions'];
export const nameParams = {
  type: 'object',
  required: ['name'],
  properties: { name: functionNameSchema },
};

export async function functionRoutes(app: FastifyInstance, { ports }: ApiContext): Promise<void> {
  app.put<Named & { readonly Body: FunctionInput }>(
    '/v1/functions/:name',
    {
      schema: {
        tags,
        summary: 'Register a function, or replace it; running instances finish as they were.',
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
      const { spec, created } = await ports.functions.put(name, request.body);
      return reply.code(created ? 201 : 200).send(spec satisfies FunctionBody);
    },
  );

  app.get(
    '/v1/functions',
    {
      schema: {
        tags,
        summary: 'All registered functions.',
        response: {
          200: { description: 'All.', type: 'array', items: ref('FunctionBody') },
          ...guardedFailures(),
        },
      },
    },
    async (): Promise<readonly FunctionBody[]> => ports.functions.list(),
  );

  app.get<Named>(
    '/v1/functions/:name',
    {
      schema: {
        tags,
        summary: 'One registered function.',
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
      return spec;
    },
  );

  app.delete<Named>(
    '/v1/functions/:name',
    {
      schema: {
        tags,
        summary: 'Forget a function; running instances finish.',
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
      if (!(await ports.functions.delete(name))) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
      return reply.code(204).send();
    },
  );
}
