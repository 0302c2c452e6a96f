/**
 * A small HTTP server on a unix socket that answers in the shapes of contracts/http.ts, so that commands are tested over a real
 * socket without a daemon. It keeps what it was asked for.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SfsdError } from '../../src/contracts/errors.js';
import type {
  DecisionBody,
  ExplanationBody,
  FunctionBody,
  RegistrationBody,
  ResultBody,
  StatusBody,
} from '../../src/contracts/http.js';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export const statusBody: StatusBody = {
  version: '0.1.0',
  pid: 4242,
  uptimeMs: 7_384_000,
  stopping: false,
  mode: 'fifo',
  targets: [],
  protection: { processes: 0, threads: 0, cpuCores: 0 },
  policy: 'sfs',
  sliceMs: 12.345,
  workers: [
    { worker: 0, invocation: { id: '7f3a', source: 'api', functionName: 'fib', forMs: 3.21 } },
    { worker: 1 },
  ],
  queueLength: 3,
  live: 7,
  liveMax: 4096,
  blocked: 1,
  budget: { paused: false, usedShare: 0.412, maxShare: 0.93 },
  counters: {
    arrivals: 400,
    promotions: 380,
    demotions: 40,
    blocks: 12,
    wakes: 11,
    bypasses: 6,
    preemptions: 0,
    completions: 393,
    denials: 0,
    budgetPauses: 5,
    sliceUpdates: 4,
    polls: 90_000,
    observations: 120_000,
  },
  decisionsLost: 0,
  loop: { samples: 1024, lateP50Ms: 0.031, lateP99Ms: 0.164, lateMaxMs: 0.4 },
  cpu: {
    cores: 2,
    elapsedMs: 7_384_000,
    pollingMs: 20_000,
    schedulingMs: 9_000,
    controlMs: 60_000,
    spawnerMs: 12_000,
    hostShare: 0.00684,
  },
  functions: { registered: 4, running: 5 },
  store: {
    path: '/var/lib/sfsd/sfsd.db',
    schemaVersion: 2,
    rowsSetAside: 0,
    lostInvocations: 0,
    writeFailures: 0,
  },
  ffi: { configured: 'koffi', control: 'koffi', scheduling: 'koffi' },
  guard: { state: 'watching', pid: 4, epoch: 0, tasks: 2, tasksMax: 64, demoted: 0, stalls: 0, restarts: 0 },
  resources: {
    atMs: 7_383_000,
    functions: [
      { functionName: 'fib', instances: 3, measured: 3, cpuCores: 1.257, memoryBytes: 31_457_280 },
      { functionName: 'hello', instances: 2, measured: 2, cpuCores: 0.01, memoryBytes: 2_097_152 },
    ],
    others: { functions: 0, instances: 0, measured: 0, cpuCores: 0, memoryBytes: 0 },
  },
};

export function decision(
  kind: DecisionBody['kind'],
  fields: Partial<Omit<DecisionBody, 'kind'>>,
): DecisionBody {
  return { kind, atMs: 0, worker: -1, cpuMs: 0, value: 0, extra: 0, ...fields };
}

/** A life that has every kind of decision, the pool-wide ones included. */
export const everyKind: readonly DecisionBody[] = [
  decision('arrived', { atMs: 1000, value: 20_000, extra: 3 }),
  decision('sliced', { atMs: 1001, value: 12_345, extra: 6172 }),
  decision('promoted', { atMs: 1004.1, worker: 1, value: 20_000, extra: 4100 }),
  decision('blocked', { atMs: 1010, worker: 1, cpuMs: 5.5, value: 14_500 }),
  decision('woken', { atMs: 1030, cpuMs: 5.5, value: 14_500, extra: 20_000 }),
  decision('promoted', { atMs: 1031, worker: 0, cpuMs: 5.5, value: 14_500, extra: 1000 }),
  decision('preempted', { atMs: 1035, worker: 0, cpuMs: 9.5, extra: 4200 }),
  decision('promoted', { atMs: 1036, worker: 0, cpuMs: 9.5, value: 10_500, extra: 1000 }),
  decision('paused', { atMs: 1040, value: 93_000 }),
  decision('resumed', { atMs: 1047, value: 7000 }),
  decision('demoted', { atMs: 1052.6, worker: 0, cpuMs: 20.3, value: 300, extra: 20_000 }),
  decision('bypassed', { atMs: 1060, cpuMs: 20.3, value: 61_000, extra: 60_000 }),
  decision('denied', { atMs: 1061, cpuMs: 20.3 }),
  decision('ended', { atMs: 1100, cpuMs: 45, value: 0, extra: 3 }),
];

export function explanationBody(id: string, decisions: readonly DecisionBody[]): ExplanationBody {
  const ended = decisions.at(-1)?.kind === 'ended';
  return {
    id,
    source: 'api',
    functionName: 'fib',
    state: ended ? 'ended' : 'queued',
    arrivedAtMs: 1000,
    decisions,
    incomplete: false,
  };
}

export const functionBody: FunctionBody = {
  name: 'hello',
  command: '/bin/cat',
  args: [],
  env: {},
  workingDirectory: '/',
  timeoutMs: 30_000,
  concurrency: 64,
  outputMaxBytes: 1_048_576,
};

export function resultBody(fields: Partial<ResultBody>): ResultBody {
  return {
    id: 'run-1',
    source: 'api',
    functionName: 'hello',
    exit: 'exited 0',
    stdoutBase64: Buffer.from('hi\n').toString('base64'),
    stderrBase64: '',
    truncated: false,
    arrivedAtMs: 1000,
    enqueuedAtMs: 1000.2,
    startedAtMs: 1003,
    endedAtMs: 1012.5,
    turnaroundMs: 12.5,
    cpuMs: 8.25,
    voluntarySwitches: 2,
    involuntarySwitches: 1,
    rssMaxBytes: 1_572_864,
    decisions: [decision('arrived', { atMs: 1000 }), decision('promoted', { atMs: 1001, worker: 0 })],
    ...fields,
  };
}

export class ContractServer {
  readonly asked: Asked[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'sfsd-cli-'));
  readonly socketPath = join(this.folder, 'sfsd.sock');
  readonly functions = new Map<string, FunctionBody>([['hello', functionBody]]);
  /** Advances by a second and ten arrivals with each look. */
  status: StatusBody = statusBody;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => this.#answer(request, Buffer.concat(chunks).toString('utf8'), response));
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(this.socketPath, resolve);
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const asked: Asked = {
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body,
    };
    this.asked.push(asked);
    try {
      const { status, value, bytes } = this.#route(asked);
      const text = bytes ?? (value === undefined ? '' : JSON.stringify(value));
      response.writeHead(status, { 'content-type': bytes === undefined ? 'application/json' : 'text/plain' });
      response.end(text);
    } catch (thrown) {
      const error =
        thrown instanceof SfsdError
          ? thrown
          : new SfsdError('SFSD_ERR_INTERNAL', { reason: `${thrown}` }, { cause: thrown });
      const stderr = error.details.stderr === undefined ? {} : { stderr: String(error.details.stderr) };
      response.writeHead(error.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: error.code, message: error.message, ...stderr }));
    }
  }

  #route(asked: Asked): { readonly status: number; readonly value?: unknown; readonly bytes?: string } {
    const [, , room, name = '', action] = asked.path.split('/');
    if (asked.path === '/healthz') return { status: 200, value: { status: 'ok' } };
    if (asked.path === '/v1/status') return { status: 200, value: this.#look() };
    if (room === 'functions' && action === 'invocations') return this.#invoke(asked, name);
    if (room === 'functions') return this.#function(asked, name);
    if (room === 'invocations') return this.#invocation(asked, name, action);
    throw new SfsdError('SFSD_ERR_ROUTE_UNKNOWN', { method: asked.method, path: asked.path });
  }

  #look(): StatusBody {
    const seen = this.status;
    const { counters, cpu } = seen;
    this.status = {
      ...seen,
      uptimeMs: seen.uptimeMs + 1000,
      counters: { ...counters, arrivals: counters.arrivals + 10, demotions: counters.demotions + 2 },
      cpu: { ...cpu, elapsedMs: cpu.elapsedMs + 1000, pollingMs: cpu.pollingMs + 4 },
    };
    return seen;
  }

  #invoke(asked: Asked, name: string): { status: number; value?: unknown; bytes?: string } {
    if (name === 'broken') {
      if (asked.query.detail === 'true')
        return {
          status: 200,
          value: resultBody({ exit: 'exited 3', stderrBase64: Buffer.from('boom').toString('base64') }),
        };
      throw new SfsdError('SFSD_ERR_FUNCTION_FAILED', { name, outcome: 'exited 3', stderr: 'boom' });
    }
    if (!this.functions.has(name)) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
    const id = String(asked.headers['sfsd-id'] ?? 'made-up-1');
    if (asked.query.async === 'true') return { status: 202, value: { id, source: 'api' } };
    if (asked.query.detail === 'true') return { status: 200, value: resultBody({ id }) };
    return { status: 200, bytes: `got ${asked.body}` };
  }

  #function(asked: Asked, name: string): { status: number; value?: unknown } {
    if (asked.method === 'PUT') {
      const status = this.functions.has(name) ? 200 : 201;
      const body = { ...functionBody, ...(JSON.parse(asked.body) as Partial<FunctionBody>), name };
      this.functions.set(name, body);
      return { status, value: body };
    }
    if (name === '') return { status: 200, value: [...this.functions.values()] };
    const found = this.functions.get(name);
    if (found === undefined) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
    if (asked.method === 'GET') return { status: 200, value: found };
    this.functions.delete(name);
    return { status: 204 };
  }

  #invocation(asked: Asked, id: string, action: string | undefined): { status: number; value?: unknown } {
    if (id === '') return { status: 202, value: registered(JSON.parse(asked.body) as RegistrationBody[]) };
    if (id === 'unknown') throw new SfsdError('SFSD_ERR_INVOCATION_UNKNOWN', { id, source: 'api' });
    if (action === 'decisions') return { status: 200, value: explanationBody(id, everyKind) };
    return { status: 204 };
  }
}

function registered(list: readonly RegistrationBody[]): unknown[] {
  return list.map(({ id, source = 'api', pid }) =>
    pid === 1
      ? { id, source, code: 'SFSD_ERR_INVOCATION_GONE', message: 'The tasks are gone.' }
      : { id, source },
  );
}
