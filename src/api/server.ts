/**
 * The HTTP API. Routes and bodies: contracts/http.ts. It is served on a unix socket, where listen.ts puts it, and where it is
 * configured with tokens over TCP, too: tcp.ts.
 *
 *   root       error handlers, request log and counter; who asks, and whether too often, before a body is read
 *    +- each route    the role that it needs, before a body is read
 *    +- raw           invocations of functions: their own content type parser
 *    +- stream        many of them over one upgraded connection, past fastify
 */
import type { Socket } from 'node:net';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import { admitClients, Clients } from './clients.js';
import type { ApiContext } from './context.js';
import { answer, answerBrokenRequest, answerExpectation, installErrorHandlers } from './errors.js';
import { functionRoutes } from './function-routes.js';
import { invocationRoutes } from './invocation-routes.js';
import { invokeRoutes } from './invoke-routes.js';
import { tellOfLost } from './lost-invocations.js';
import { Metrics } from './metrics.js';
import { describeApi, openapiRoutes } from './openapi.js';
import type { ApiPorts } from './ports.js';
import { registrationRoutes } from './registration-routes.js';
import { Results } from './results.js';
import { Runs } from './runs.js';
import { sharedSchemas } from './schemas.js';
import { statusRoutes } from './status-routes.js';
import { openStreamDoor, streamRoutes } from './stream-door.js';
import { schemaCompiler } from './validation.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Serves a TCP connection: each of its requests needs a token. */
    acceptTcp(socket: Socket): void;
  }
}

/** Bounds on what one client, slow or hostile, can hold. Overridden by tests only. */
export interface ServerBounds {
  /** Open connections; further ones are closed at once. A synchronous invocation holds one until it ends. */
  readonly connectionsMax: number;
  readonly headerBytesMax: number;
  /** JSON bodies; lists of registrations and function input have their own. */
  readonly jsonBytesMax: number;
  /** From the first byte of a request to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to the end of its body. It does not bound how long an answer takes. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How often the timeouts above are looked at. */
  readonly timeoutCheckMs: number;
}

const defaultBounds: ServerBounds = {
  connectionsMax: 4096,
  headerBytesMax: 16 * 1024,
  jsonBytesMax: 1024 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  timeoutCheckMs: 5_000,
};

/** Longer than any valid id, so that the schema says what is wrong with a long one. */
const pathParameterLengthMax = 1024;

export function createServer(ports: ApiPorts, bounds: Partial<ServerBounds> = {}): FastifyInstance {
  const limits = { ...defaultBounds, ...bounds };
  const app = bareServer(ports, limits);
  app.server.maxConnections = limits.connectionsMax;
  app.server.on('checkExpectation', answerExpectation);
  let connectionsDropped = 0;
  app.server.on('drop', () => {
    connectionsDropped += 1;
    // Once: a flood of connections must not become a flood of lines. The metric has the number.
    if (connectionsDropped > 1) return;
    ports.logger.warn({ event: 'connection_dropped', connectionsMax: limits.connectionsMax });
  });

  const context: ApiContext = {
    ports,
    runs: new Runs(),
    results: new Results({ countMax: ports.config.functions.resultsMax }),
    metrics: new Metrics(),
    connectionsDropped: () => connectionsDropped,
  };
  tellOfLost(context);
  installErrorHandlers(app);
  closeConnectionsAtEnd(app);
  recordRequests(app, context);
  const clients = new Clients(ports);
  admitClients(app, clients);
  app.decorate('acceptTcp', (socket: Socket) => {
    clients.admitTcp(socket);
    app.server.emit('connection', socket);
  });
  openStreamDoor(app, context, clients);
  app.register(async (root) => {
    await describeApi(root, { version: ports.version });
    await root.register(openapiRoutes);
    await root.register(statusRoutes, context);
    await root.register(functionRoutes, context);
    await root.register(registrationRoutes, context);
    await root.register(invocationRoutes, context);
    await root.register(invokeRoutes, context);
    await root.register(streamRoutes);
  });
  return app;
}

function bareServer(ports: ApiPorts, limits: ServerBounds): FastifyInstance {
  const logger: FastifyBaseLogger = ports.logger;
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request costs more than its routing; who asks for details gets the request's number with them.
    childLoggerFactory: (parent, bindings, options) =>
      ports.logger.isLevelEnabled('debug') ? parent.child(bindings, options) : parent,
    bodyLimit: limits.jsonBytesMax,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionTimeout: 0,
    // While it stops, the plane refuses new work with SFSD_ERR_STOPPING; status and results can still be read.
    return503OnClosing: false,
    routerOptions: { maxParamLength: pathParameterLengthMax },
    http: {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      requireHostHeader: false,
    },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      answer(error, request, reply);
    },
  });
  app.setValidatorCompiler(schemaCompiler(sharedSchemas));
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  acceptJsonOnly(app);
  return app;
}

/** JSON and nothing else; an empty body is an absent one, since clients send the content type out of habit. */
function acceptJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else parse(request, body.toString(), done);
  });
}

/** An answer that is sent while the server closes is its connection's last; else the connection would idle on. */
function closeConnectionsAtEnd(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });
}

/** One count and, at debug, one line for each request. */
function recordRequests(app: FastifyInstance, { metrics }: ApiContext): void {
  app.addHook('onResponse', (request, reply, done) => {
    const known = request.routeOptions.url;
    const route = known ?? 'unknown';
    const method = known === undefined ? 'any' : request.method;
    metrics.answered({ method, route, status: reply.statusCode });
    request.log.debug({
      event: 'request',
      method: request.method,
      route,
      status: reply.statusCode,
      elapsedMs: reply.elapsedTime,
    });
    done();
  });
}
