/**
 * The one table of coded errors. A code says what went wrong, its HTTP status who has to act, and the message what to do.
 * Every error that leaves the daemon or ends a command is an SfsdError; anything else is a bug and reported as SFSD_ERR_INTERNAL.
 */

interface ErrorRow {
  readonly status: number;
  /** May hold {placeholders}, filled from the details given to the constructor. */
  readonly message: string;
}

export const errorTable = {
  SFSD_ERR_INTERNAL: {
    status: 500,
    message: 'Internal error: {reason}. This is a bug; please report it with the daemon log.',
  },
  SFSD_ERR_REQUEST_INVALID: { status: 400, message: 'The request is not valid: {reason}.' },
  SFSD_ERR_ROUTE_UNKNOWN: { status: 404, message: 'No route {method} {path}. GET /openapi.json lists all.' },
  SFSD_ERR_BODY_TOO_LARGE: { status: 413, message: 'The body is larger than {limit} bytes.' },
  SFSD_ERR_MEDIA_TYPE: {
    status: 415,
    message: 'Content type {type} is not accepted here; send application/json.',
  },
  SFSD_ERR_FORBIDDEN: { status: 403, message: 'Not allowed: {reason}.' },
  SFSD_ERR_UNAUTHENTICATED: {
    status: 401,
    message:
      'Over TCP each request needs a token of the token file, as `Authorization: Bearer TOKEN`: {reason}.',
  },
  SFSD_ERR_RATE_LIMITED: {
    status: 429,
    message:
      '{client} sends more than {requestsPerSecond} requests a second (access.requestsPerSecond). Nothing was done; retry after the time given.',
  },
  SFSD_ERR_TOKEN_FILE: { status: 500, message: 'The token file {file} is not used: {reason}.' },
  SFSD_ERR_TARGET_INIT: { status: 403, message: '{target} is or holds pid 1, which is never scheduled.' },
  SFSD_ERR_TARGET_KERNEL_THREAD: {
    status: 403,
    message: 'Process {pid} is a thread of the kernel, which is never scheduled.',
  },
  SFSD_ERR_TARGET_OURS: {
    status: 403,
    message: '{target} is or holds a process of sfsd itself, which is never scheduled.',
  },
  SFSD_ERR_TARGET_FOREIGN: {
    status: 403,
    message:
      '{client} may register processes of its own uid and those inside access.cgroups; {target} is neither.',
  },
  SFSD_ERR_TARGET_HIDDEN: { status: 403, message: 'Process {pid} cannot be looked at: {reason}.' },
  SFSD_ERR_PID_NAMESPACE: {
    status: 400,
    message:
      "Pid {pid} is counted in the caller's pid namespace and cannot be translated: {reason}. Name the host's pid with pidNamespace `host`.",
  },
  SFSD_ERR_FUNCTION_UNKNOWN: { status: 404, message: 'No function is registered as {name}.' },
  SFSD_ERR_FUNCTION_INVALID: { status: 400, message: 'The function definition is not valid: {reason}.' },
  SFSD_ERR_FUNCTION_BUSY: {
    status: 429,
    message: 'Function {name} already runs {concurrency} invocations, its limit.',
  },
  SFSD_ERR_FUNCTIONS_FULL: {
    status: 429,
    message: 'The bound of {limit} registered functions is reached; delete one first.',
  },
  SFSD_ERR_INVOCATION_UNKNOWN: {
    status: 404,
    message: 'No invocation {id} from source {source} is known; finished ones are kept for a while only.',
  },
  SFSD_ERR_INVOCATION_DUPLICATE: {
    status: 409,
    message: 'Invocation {id} from source {source} is already live.',
  },
  SFSD_ERR_INVOCATION_GONE: {
    status: 410,
    message: 'The tasks of invocation {id} are gone, or their start time differs: {reason}.',
  },
  SFSD_ERR_QUEUE_FULL: {
    status: 429,
    message: 'The bound of {limit} live invocations is reached; retry after the time given.',
  },
  SFSD_ERR_STOPPING: { status: 503, message: 'The daemon is stopping and takes no new work.' },
  SFSD_ERR_LAUNCH_FAILED: { status: 502, message: 'Function {name} could not be started: {reason}.' },
  SFSD_ERR_FUNCTION_FAILED: { status: 502, message: 'Function {name} failed: {outcome}.' },
  SFSD_ERR_FUNCTION_TIMEOUT: {
    status: 504,
    message: 'Function {name} was killed after its timeout of {timeoutMs} ms.',
  },
  SFSD_ERR_SPAWNER_LOST: {
    status: 503,
    message: 'The spawner died; functions it ran were ended and a new one is starting. Retry.',
  },
  SFSD_ERR_CONFIG_INVALID: { status: 500, message: 'The configuration has {count} fault(s):\n{faults}' },
  SFSD_ERR_SOCKET_IN_USE: {
    status: 500,
    message: 'Another sfsd answers on {path}. Stop it, or give this one its own --socket.',
  },
  SFSD_ERR_TCP: {
    status: 500,
    message: 'Cannot listen on {host} port {port} (tcp.host, tcp.port): {reason}.',
  },
  SFSD_ERR_SECOND_INSTANCE: {
    status: 500,
    message: 'Another sfsd (pid {pid}) runs on {path}. Stop it, or give this one its own --socket.',
  },
  SFSD_ERR_DAEMON_UNREACHABLE: {
    status: 503,
    message:
      'No sfsd answers on {path} ({reason}). Start it with `sfsd start`, or name its socket with --socket.',
  },
  SFSD_ERR_PERMISSION: { status: 500, message: 'Real-time scheduling is not permitted: {reason}.' },
  SFSD_ERR_KERNEL: { status: 500, message: '{call} failed: {reason}.' },
  SFSD_ERR_TRACE_INVALID: { status: 400, message: '{file}: {reason}.' },
  SFSD_ERR_WORKLOAD_INVALID: { status: 400, message: 'The workload cannot be made: {reason}.' },
  SFSD_ERR_FILE: { status: 500, message: '{file}: {reason}.' },
  SFSD_ERR_STORE_FAILED: {
    status: 503,
    message: 'The store {path} failed: {reason}. Nothing was changed.',
  },
  SFSD_ERR_STORE_UNUSABLE: {
    status: 500,
    message:
      'The store {path} cannot be opened: {reason}. Mend that, or name another with store.path (`none`: keep nothing).',
  },
  SFSD_ERR_STORE_IN_USE: {
    status: 500,
    message:
      'Another sfsd has the store {path} open. Stop it, or give this one its own store.path (`none`: keep nothing).',
  },
  SFSD_ERR_STORE_NEWER: {
    status: 500,
    message:
      'The store {path} has schema version {found}; this sfsd knows versions up to {known} and has left it alone. Run the newer sfsd, or name another file with store.path.',
  },
  SFSD_ERR_USAGE: { status: 400, message: '{reason}.' },
  SFSD_ERR_MISSING_TOOL: { status: 500, message: '{tool} is missing. Install it: {install}' },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof errorTable;

export type ErrorDetails = Readonly<Record<string, string | number>>;

export class SfsdError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options: { readonly cause?: unknown } = {}) {
    super(
      fill(errorTable[code].message, details),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'SfsdError';
    this.code = code;
    this.details = details;
  }

  /** HTTP status that answers a request which failed so. */
  get status(): number {
    return errorTable[this.code].status;
  }
}

/** A bug if it fails; on in production. */
export function assert(condition: unknown, fact: string): asserts condition {
  if (!condition) throw new SfsdError('SFSD_ERR_INTERNAL', { reason: `not so: ${fact}` });
}

/** The message of anything thrown, for use as a {reason}. What Node adds to a refusal of the kernel (`, open 'FILE'`) says it twice. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { syscall, path } = thrown as NodeFault;
  return syscall === undefined || path === undefined
    ? thrown.message
    : thrown.message.replace(`, ${syscall} '${path}'`, '');
}

interface NodeFault {
  readonly syscall?: unknown;
  readonly path?: unknown;
}

function fill(message: string, details: ErrorDetails): string {
  return message.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = details[name];
    return value === undefined ? whole : String(value);
  });
}
