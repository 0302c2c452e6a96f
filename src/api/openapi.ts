/**
 * The API describes itself: /openapi.json is made from the schemas that validate the requests, so the two cannot differ.
 * `describe` must be called before any route is added, since it listens for them.
 */
import { fastifySwagger } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { needs } from './clients.js';
import { guardedFailures } from './errors.js';
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
          'Per-host function scheduling. On the unix socket the kernel says who asks; over TCP, where that is configured, each request carries a bearer token. Each operation names the role that it needs (read, submit or operate; each holds the ones before it). Every error is {"code","message"}; 429 and 503 carry Retry-After in seconds.',
      },
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', description: 'A token of the token file; over TCP only.' },
        },
      },
      security: [{}, { token: [] }],
      tags: [
        { name: 'functions', description: 'Registered functions and their runs.' },
        { name: 'invocations', description: 'Invocations, whoever started their tasks.' },
        { name: 'status', description: 'How the daemon is.' },
      ],
    },
    refResolver: { buildLocalReference: (schema) => String(schema.$id) },
  });
}

export async function openapiRoutes(app: FastifyInstance): Promise<void> {
  app.get(
    '/openapi.json',
    {
      onRequest: needs('read'),
      schema: {
        tags: ['status'],
        summary: 'This description.',
        response: { 200: { description: 'OpenAPI 3.1.', type: 'object' }, ...guardedFailures() },
      },
    },
    async () => app.swagger(),
  );
}
