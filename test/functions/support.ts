/**
 * What the tests of functions/ share: the real spawner, cgroups and kernel calls, and a scheduling plane that only records.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { assert, SfsdError } from '../../src/contracts/errors.js';
import type { FunctionSpec, LaunchRequest } from '../../src/contracts/function.js';
import { type EndReason, type InvocationKey, invocationKey } from '../../src/contracts/invocation.js';
import type {
  Explanation,
  NewInvocation,
  Reservation,
  SchedulingPlane,
  SchedulingStatus,
} from '../../src/contracts/scheduling-plane.js';
import type { Clock, Instant } from '../../src/contracts/time.js';
import { SharedTick } from '../../src/daemon/shared-tick.js';
import { FunctionRegistry } from '../../src/functions/function-registry.js';
import { Launcher, type LaunchLimits } from '../../src/functions/launcher.js';
import { OutputWatch } from '../../src/functions/output-watch.js';
import { Spawner, type SpawnerEvent } from '../../src/functions/spawner.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { InstanceCgroups } from '../../src/linux/instance-cgroups.js';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import type { Libc } from '../../src/linux/libc.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { NoStore } from '../../src/store/no-store.js';

const build = fileURLToPath(new URL('../../../native/build/', import.meta.url));
export const spawnerPath = `${build}spawner`;
export const burnPath = `${build}burn`;

/** Accepts everything, schedules nothing, and remembers who is live. */
export class RecordingPlane implements SchedulingPlane {
  readonly defaultPolicy = 'sfs';
  readonly policies = ['sfs', 'cfs'] as const;
  readonly registered: NewInvocation[] = [];
  readonly ended: { readonly key: InvocationKey; readonly reason: EndReason }[] = [];
  readonly #clock: Clock;
  readonly #live = new Map<string, InvocationKey>();
  readonly #names = new Map<InvocationKey, string>();
  #nextKey = 1;
  reserved = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get live(): number {
    return this.#live.size;
  }

  now(): Instant {
    return this.#clock.now();
  }

  reserve(count: number): Reservation {
    this.reserved += count;
    return {
      release: () => {
        this.reserved -= count;
      },
    };
  }

  register(invocation: NewInvocation, _reservation: Reservation): InvocationKey {
    const { source, id } = invocation;
    const name = `${source} ${id}`;
    if (this.#live.has(name)) throw new SfsdError('SFSD_ERR_INVOCATION_DUPLICATE', { source, id });
    const key = invocationKey(this.#nextKey++);
    this.reserved--;
    this.registered.push(invocation);
    this.#live.set(name, key);
    this.#names.set(key, name);
    return key;
  }

  /** Never before the start: so a duplicate reaches `register`. */
  find(): InvocationKey | undefined {
    return undefined;
  }

  end(key: InvocationKey, reason: EndReason): void {
    this.ended.push({ key, reason });
    this.#live.delete(this.#names.get(key) ?? '');
  }

  explain(): Explanation | undefined {
    return undefined;
  }

  status(): SchedulingStatus {
    throw new SfsdError('SFSD_ERR_INTERNAL', { reason: 'nobody asks a recording plane for its status' });
  }
}

export interface Host {
  readonly libc: Libc;
  readonly clock: Clock;
  readonly plane: RecordingPlane;
  readonly spawner: Spawner;
  readonly cgroups: InstanceCgroups;
  readonly registry: FunctionRegistry;
  readonly launcher: Launcher;
  readonly events: SpawnerEvent[];
  close(): Promise<void>;
}

const tickMs = 100;

export function libcOfHost(): Libc {
  const loaded = loadKoffiLibc();
  assert(loaded.ok, 'the kernel calls can be loaded here');
  return loaded.libc;
}

export async function startHost(
  options: { readonly priority?: number; readonly limits?: Partial<LaunchLimits> } = {},
): Promise<Host> {
  const libc = libcOfHost();
  const clock = new MonotonicClock(libc);
  const plane = new RecordingPlane(clock);
  const events: SpawnerEvent[] = [];
  const spawner = await Spawner.start({
    libc,
    programPath: spawnerPath,
    priority: options.priority ?? 15,
    sessionNice: 10,
    report: (event) => events.push(event),
  });
  // A parent cgroup belongs to one daemon only, and a test file may have several hosts.
  const cgroups = new InstanceCgroups(CgroupLayout.detect(), { parent: `/sfsd-test-${spawner.pid}` });
  const limits = {
    killGraceMs: 200,
    outputMaxBytes: 1024 * 1024,
    bodyMaxBytes: 1024 * 1024,
    ...options.limits,
  };
  const registry = new FunctionRegistry({
    registeredMax: 64,
    defaults: { timeoutMs: 10_000, concurrency: 64, outputMaxBytes: limits.outputMaxBytes },
    rows: new NoStore().functions,
    wallClock: Date.now,
  });
  const outputs = new OutputWatch(libc, new SharedTick(tickMs));
  const launcher = new Launcher({
    libc,
    clock,
    spawner,
    cgroups,
    plane,
    slots: registry.slots,
    outputs,
    limits,
  });
  const close = async () => {
    await launcher.stop(2000);
    await spawner.close();
    outputs.close();
    cgroups.close();
  };
  return { libc, clock, plane, spawner, cgroups, registry, launcher, events, close };
}

/** As at a start, when stored functions come in at once. */
export function register(
  host: Host,
  name: string,
  definition: Readonly<Record<string, unknown>>,
): FunctionSpec {
  const createdAtUnixMs = 0;
  const [refused] = host.registry.load([{ name, definition: JSON.stringify(definition), createdAtUnixMs }]);
  const spec = host.registry.get(name);
  if (refused !== undefined || spec === undefined) throw new Error(`${name}: ${refused?.reason}`);
  return spec;
}

/** A function that is one line of shell. */
export function shell(
  host: Host,
  script: string,
  fields: Readonly<Record<string, unknown>> = {},
): FunctionSpec {
  return register(host, 'shell', { command: '/bin/sh', args: ['-c', script], ...fields });
}

export function burn(host: Host, ...args: readonly string[]): FunctionSpec {
  return register(host, 'burn', { command: burnPath, args });
}

export const asRoot = { uid: 0, gid: 0 } as const;

export function requestOf(fields: Partial<LaunchRequest> = {}): LaunchRequest {
  return { body: new Uint8Array(0), credentials: asRoot, ...fields };
}

/** Launches and waits for the end. */
export async function run(host: Host, spec: FunctionSpec, fields: Partial<LaunchRequest> = {}) {
  const launched = await host.launcher.launch(spec, requestOf(fields));
  return { launched, outcome: await launched.outcome };
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

/** All that a launch takes has been given back. */
export function heldBy(host: Host) {
  const { launcher, registry, plane, spawner } = host;
  return {
    running: launcher.running(),
    slots: registry.slots.total,
    reserved: plane.reserved,
    live: plane.live,
    starting: spawner.starting,
  };
}

export const nothingHeld = { running: 0, slots: 0, reserved: 0, live: 0, starting: 0 };

/** The code of the SfsdError with which a promise rejects. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  return thrown instanceof SfsdError ? thrown.code : `no SfsdError: ${String(thrown)}`;
}

export async function reasonOfFailure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'it succeeded',
    (error: unknown) => (error instanceof SfsdError ? `${error.code} ${error.message}` : String(error)),
  );
}

export function openFds(): number {
  return readdirSync('/proc/self/fd').length;
}

/** State letter and parent of a process, or undefined when it is gone. */
export function processState(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: state ?? '', parent: Number(parent) };
  } catch {
    return undefined;
  }
}

/** Waits until a fact holds; a fact that never holds ends the test by its own bound. */
export async function eventually(fact: () => boolean, withinMs = 3000): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (!fact()) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}
