/**
 * What the role `read` is for: status, health and metrics.
 */
import type { FastifyInstance } from 'fastify';
import { SfsdError } from '../contracts/errors.js';
import type { StatusBody } from '../contracts/http.js';
import { statusBody } from './bodies.js';
import { needs } from './clients.js';
import type { ApiContext } from './context.js';
import { guardedFailures } from './errors.js';
import { ref } from './schemas.js';

const tags = ['status'];

export async function statusRoutes(app: FastifyInstance, context: ApiContext): Promise<void> {
  const { ports, results, metrics } = context;

  app.get(
    '/v1/status',
    {
      onRequest: needs('read'),
      schema: {
        tags,
        summary: 'The whole daemon at a glance.',
        response: { 200: { description: 'Now.', ...ref('StatusBody') }, ...guardedFailures() },
      },
    },
    async (): Promise<StatusBody> => statusBody(ports, await ports.resources()),
  );

  app.get(
    '/healthz',
    {
      onRequest: needs('read'),
      schema: {
        tags,
        summary: 'Whether new work is taken.',
        response: {
          200: {
            description: 'It is.',
            type: 'object',
            required: ['status'],
            properties: { status: { type: 'string', const: 'ok' } },
          },
          ...guardedFailures('SFSD_ERR_STOPPING'),
        },
      },
    },
    async () => {
      if (ports.stopping()) throw new SfsdError('SFSD_ERR_STOPPING');
      return { status: 'ok' };
    },
  );

  app.get(
    '/metrics',
    {
      onRequest: needs('read'),
      schema: {
        tags,
        summary: 'Metrics in the Prometheus text format; docs/metrics.md explains each.',
        response: {
          200: { description: 'Now.', content: { 'text/plain': { schema: { type: 'string' } } } },
          ...guardedFailures(),
        },
      },
    },
    async (_request, reply) => {
      const text = await metrics.scrape(statusBody(ports, await ports.resources()), {
        resultsKept: results.count,
        resultsBytes: results.bytes,
        resultsDropped: results.dropped,
        connectionsDropped: context.connectionsDropped(),
      });
      return reply.type(metrics.registry.contentType).send(text);
    },
  );
}
