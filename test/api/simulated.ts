/**
 * Simulated ports for the API: a scheduling plane that only keeps books, a store of functions, and launches that end when a test
 * says so. Time stands still unless a test moves it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Listening, listen } from '../../src/api/listen.js';
import type { ApiPorts } from '../../src/api/ports.js';
import { createServer, type ServerBounds } from '../../src/api/server.js';
import { SfsdError } from '../../src/contracts/errors.js';
import type {
  ExitStatus,
  FunctionSpec,
  Launched,
  LaunchOutcome,
  LaunchRequest,
} from '../../src/contracts/function.js';
import { type EndReason, type InvocationKey, invocationKey } from '../../src/contracts/invocation.js';
import type { ResourceView } from '../../src/contracts/resources.js';
import type { Decision } from '../../src/contracts/scheduler.js';
import type {
  Explanation,
  NewInvocation,
  Reservation,
  SchedulingPlane,
  SchedulingStatus,
} from '../../src/contracts/scheduling-plane.js';
import { after, duration, fromMs, type Instant, instant } from '../../src/contracts/time.js';
import { SimulatedFunctions } from './simulated-functions.js';
import { hostMode, hostPorts } from './simulated-host.js';
import { SimulatedStore } from './simulated-store.js';
import { accessConfig, simulatedPeer, simulatedProcesses, type World, worldOf } from './simulated-world.js';

interface Entry {
  readonly key: InvocationKey;
  readonly invocation: NewInvocation;
  readonly decisions: Decision[];
  ended?: EndReason;
}

export class SimulatedPlane implements SchedulingPlane {
  readonly defaultPolicy = 'sfs';
  readonly policies = ['sfs', 'cfs'] as const;
  readonly registered: NewInvocation[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #byKey = new Map<InvocationKey, Entry>();
  liveMax = 1000;
  /** Live invocations and places held by reservations. */
  live = 0;
  isStopping = false;
  #now = instant(5_000_000);

  now(): Instant {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now = after(this.#now, fromMs(milliseconds));
  }

  reserve(count: number): Reservation & { used: number } {
    if (this.isStopping) throw new SfsdError('SFSD_ERR_STOPPING');
    if (this.live + count > this.liveMax) {
      throw new SfsdError('SFSD_ERR_QUEUE_FULL', { limit: this.liveMax });
    }
    this.live += count;
    const reservation = {
      used: 0,
      released: false,
      release: () => {
        if (reservation.released) return;
        reservation.released = true;
        this.live -= count - reservation.used;
      },
    };
    return reservation;
  }

  register(invocation: NewInvocation, reservation: Reservation): InvocationKey {
    const { source, id } = invocation;
    const name = `${source} ${id}`;
    const old = this.#entries.get(name);
    if (old !== undefined && old.ended === undefined) {
      throw new SfsdError('SFSD_ERR_INVOCATION_DUPLICATE', { id, source });
    }
    const key = invocationKey(this.#byKey.size + 1);
    const entry: Entry = { key, invocation, decisions: [] };
    this.#entries.set(name, entry);
    this.#byKey.set(key, entry);
    this.registered.push(invocation);
    (reservation as Reservation & { used: number }).used += 1;
    this.#record(entry, 'arrived');
    return key;
  }

  find(source: string, id: string): InvocationKey | undefined {
    return this.#entries.get(`${source} ${id}`)?.key;
  }

  end(key: InvocationKey, reason: EndReason): void {
    const entry = this.#byKey.get(key);
    if (entry === undefined || entry.ended !== undefined) return;
    entry.ended = reason;
    this.live -= 1;
    this.#record(entry, 'ended');
  }

  endedAs(source: string, id: string): EndReason | undefined {
    return this.#entries.get(`${source} ${id}`)?.ended;
  }

  /** As the real plane does with invocations that ended a while ago. */
  forget(source: string, id: string): void {
    const key = this.find(source, id);
    this.#entries.delete(`${source} ${id}`);
    if (key !== undefined) this.#byKey.delete(key);
  }

  explain(key: InvocationKey): Explanation | undefined {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return undefined;
    const state = entry.ended === undefined ? 'queued' : 'ended';
    return {
      invocation: { ...entry.invocation, key },
      state,
      decisions: entry.decisions,
      incomplete: false,
    };
  }

  status(): SchedulingStatus {
    return {
      ...hostMode,
      defaultPolicy: 'sfs',
      slice: fromMs(20),
      workers: [
        {
          worker: 0,
          invocation: { source: 'api', id: 'busy', functionName: 'f', since: instant(this.#now - 2500) },
        },
        { worker: 1 },
      ],
      queueLength: 3,
      live: this.live,
      liveMax: this.liveMax,
      blocked: 1,
      paused: false,
      budgetUsed: 0.5,
      budgetShare: 0.93,
      counters: {
        arrivals: 1,
        promotions: 2,
        demotions: 3,
        blocks: 4,
        wakes: 5,
        bypasses: 6,
        preemptions: 0,
        completions: 7,
        denials: 8,
        budgetPauses: 9,
        sliceUpdates: 10,
        polls: 11,
        observations: 12,
      },
      decisionsLost: 0,
      loop: { samples: 100, lateP50: duration(30), lateP99: duration(160), lateMax: duration(400) },
      cpu: {
        cores: 2,
        elapsed: fromMs(10_000),
        polling: fromMs(50),
        scheduling: fromMs(30),
        control: fromMs(100),
        spawner: fromMs(20),
      },
    };
  }

  #record(entry: Entry, kind: Decision['kind']): void {
    const { key } = entry;
    entry.decisions.push({
      kind,
      at: this.#now,
      key,
      worker: -1,
      cpuTime: duration(0),
      value: 20_000,
      extra: 0,
    });
  }
}

export interface Ending {
  readonly exit?: ExitStatus;
  readonly stdout?: Uint8Array | string;
  readonly stderr?: string;
  readonly truncated?: boolean;
}

/** One launch that a test ends by hand. */
export interface SimulatedLaunch {
  readonly spec: FunctionSpec;
  readonly request: LaunchRequest;
  /** Undefined until its image is in place. */
  finish(ending?: Ending): void;
}

/** Launches reserve and register as the real launcher does, and end by `finish`, by `onLaunch`, or when they are cancelled. */
export class SimulatedLauncher {
  readonly launches: SimulatedLaunch[] = [];
  readonly #plane: SimulatedPlane;
  /** Each launch ends so at once; undefined: it waits for `finish`. */
  ending: Ending | ((request: LaunchRequest) => Ending) | undefined;
  /** Thrown after the reservation was taken and given back: the launch failed. */
  failure: unknown;
  /** Called at each launch. */
  onLaunch: (launch: SimulatedLaunch) => void = () => {};
  /** A launch whose image is not in place before this resolves. */
  startGate: Promise<void> | undefined;

  constructor(plane: SimulatedPlane) {
    this.#plane = plane;
  }

  readonly launch = async (spec: FunctionSpec, request: LaunchRequest): Promise<Launched> => {
    const source = request.source ?? 'api';
    const id = request.id ?? 'made-up';
    const reservation = this.#plane.reserve(1);
    if (this.failure !== undefined) {
      reservation.release();
      throw this.failure;
    }
    await this.startGate;
    const startedAt = this.#plane.now();
    const arrivedAt = request.arrivedAt ?? startedAt;
    const invocation: NewInvocation = {
      source,
      id,
      functionName: spec.name,
      group: { kind: 'process', pid: 1000, startTime: '1' },
      arrivedAt,
    };
    const key = this.#plane.register(invocation, reservation);
    reservation.release();
    let settle: (outcome: LaunchOutcome) => void = () => {};
    const outcome = new Promise<LaunchOutcome>((resolve) => {
      settle = resolve;
    });
    const finish = (ending: Ending = {}) => {
      this.#plane.end(key, 'exited');
      settle(outcomeOf(ending, { arrivedAt, startedAt, endedAt: this.#plane.now() }));
    };
    const cancel = () => finish({ exit: { kind: 'cancelled' } });
    request.signal?.addEventListener('abort', cancel, { once: true });
    if (request.signal?.aborted === true) cancel();
    const launch: SimulatedLaunch = { spec, request, finish };
    this.launches.push(launch);
    this.onLaunch(launch);
    if (this.ending !== undefined) {
      finish(typeof this.ending === 'function' ? this.ending(request) : this.ending);
    }
    return { key, source, id, pid: 1000, startTime: '1', outcome, cancel };
  };
}

function outcomeOf(
  ending: Ending,
  times: Pick<LaunchOutcome, 'arrivedAt' | 'startedAt' | 'endedAt'>,
): LaunchOutcome {
  const { stdout = '' } = ending;
  return {
    exit: ending.exit ?? { kind: 'exited', code: 0 },
    stdout: typeof stdout === 'string' ? Buffer.from(stdout) : stdout,
    stderr: Buffer.from(ending.stderr ?? ''),
    truncated: ending.truncated ?? false,
    ...times,
    cpuMs: 12.5,
    voluntarySwitches: 3,
    involuntarySwitches: 4,
    rssMaxBytes: 1024,
  };
}

export interface Rig {
  readonly ports: ApiPorts;
  readonly plane: SimulatedPlane;
  readonly functions: SimulatedFunctions;
  readonly launcher: SimulatedLauncher;
  readonly store: SimulatedStore;
  /** The peer and the processes that the ports report; a test may change them. */
  readonly world: World;
  readonly logged: Record<string, unknown>[];
}

export const functionsConfig: ApiPorts['config']['functions'] = {
  registeredMax: 3,
  bodyMaxBytes: 4096,
  outputMaxBytes: 1_000_000,
  timeoutMs: 30_000,
  concurrency: 8,
  killGraceMs: 100,
  resultsMax: 3,
  spawnerSocket: '',
};

/** Two functions by name, and three more together. */
export const resources: ResourceView = {
  at: instant(4_000_000),
  functions: [
    { functionName: 'busy', instances: 3, measured: 2, cpuCores: 1.25, memoryBytes: 3_145_728 },
    { functionName: 'idle', instances: 1, measured: 1, cpuCores: 0, memoryBytes: 1_048_576 },
  ],
  others: { functions: 3, instances: 5, measured: 0, cpuCores: 0.5, memoryBytes: 4096 },
};

export const daemonUid = 4242;

export function rig(): Rig {
  const plane = new SimulatedPlane();
  const functions = new SimulatedFunctions();
  const launcher = new SimulatedLauncher(plane);
  const store = new SimulatedStore();
  const world = worldOf(daemonUid);
  const logged: Record<string, unknown>[] = [];
  const sink = { write: (line: string) => void logged.push(JSON.parse(line)) };
  const ports: ApiPorts = {
    plane,
    functions,
    launch: launcher.launch,
    store,
    processes: simulatedProcesses(world),
    peerOf: () => simulatedPeer(world),
    daemonUid,
    stopping: () => world.stopping,
    ...hostPorts,
    resources: async () => resources,
    config: { functions: functionsConfig, access: accessConfig },
    logger: pino({ level: 'debug' }, sink),
  };
  return { ports, plane, functions, launcher, store, world, logged };
}

/** A place for a socket, removed at the end of the test. */
export function socketFolder(test: { teardown(release: () => unknown): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-api-'));
  test.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function serve(
  test: { teardown(release: () => unknown): void },
  simulated: Rig,
  bounds: Partial<ServerBounds> = {},
): Promise<Listening> {
  const app = createServer(simulated.ports, bounds);
  const listening = await listen(app, { path: join(socketFolder(test), 'sfsd.sock'), mode: '0660' });
  test.teardown(() => listening.close());
  return listening;
}
