/**
 * The API describes itself: /openapi.json is made from the schemas that validate the requests, so the two cannot differ.
 * `describe` must be called before any route is added, since it listens for them.
 */
import { fastifySwagger } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { failures } from './errors.js';
import { sharedSchemas } from './schemas.js';

export async function describeApi(
  app: FastifyInstance,
  options: { readonly version: string },
): Promise<void> {
  for (const schema of sharedSchemas) app.addSchema(schema);
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'sfsd',
        version: options.version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description:
          'Per-host function scheduling, served on a unix socket. Every error is {"code","message"}; 429 and 503 carry Retry-After in seconds.',
      },
      tags: [
        { name: 'functions', description: 'Registered functions and their runs.' },
        { name: 'invocations', description: 'Invocations, whoever started their tasks.' },
        { name: 'status', description: 'What everybody who can connect may read.' },
      ],
    },
    refResolver: { buildLocalReference: (schema) => String(schema.$id) },
  });
}

export async function openapiRoutes(app: FastifyInstance): Promise<void> {
  app.get(
    '/openapi.json',
    {
      schema: {
        tags: ['status'],
        summary: 'This description.',
        response: { 200: { description: 'OpenAPI 3.1.', type: 'object' }, ...failures() },
      },
    },
    async () => app.swagger(),
  );
}
