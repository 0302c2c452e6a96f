/**
 * Launches registered functions: the implementation of `Launch`.
 *
 *   1  a slot of the function               FunctionSlots
 *   2  a place in the scheduling plane      SchedulingPlane.reserve
 *   3  a cgroup                             InstanceCgroups
 *   4  pipes, then the spawner
 *   5  started: register with the plane (before the exit can be read), resolve
 *   6  exited: end with the plane; outputs drained: give back 3 and 1, then tell the outcome
 *
 * Each step that fails gives back all before it, in reverse order, and rejects with a coded error. Nothing here blocks, and
 * nothing forks.
 */
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { SfsdError } from '../contracts/errors.js';
import type { FunctionSpec, Launch, Launched, LaunchOutcome, LaunchRequest } from '../contracts/function.js';
import type { InvocationKey } from '../contracts/invocation.js';
import type { Reservation, SchedulingPlane } from '../contracts/scheduling-plane.js';
import { type Clock, fromMs, type Instant } from '../contracts/time.js';
import type { InstanceCgroup } from '../linux/instance-cgroup.js';
import type { InstanceCgroups } from '../linux/instance-cgroups.js';
import type { Libc } from '../linux/libc.js';
import { Channels } from './channels.js';
import type { FunctionSlots } from './function-slots.js';
import { Instance } from './instance.js';
import { HeadOutput, TailOutput } from './output.js';
import type { OutputWatch } from './output-watch.js';
import type { Spawner } from './spawner.js';
import type { ResourceLimit, SpawnRequest, StartedReply } from './spawner-protocol.js';

const stderrMaxBytes = 64 * 1024;
const readBufferBytes = 64 * 1024;
const defaultPath = '/usr/local/bin:/usr/bin:/bin';
const resourceOpenFiles = 7;
/** What Linux gives a process by default: the daemon's own, much higher, limit makes programs that close "all" files slow. */
const programLimits: readonly ResourceLimit[] = [{ resource: resourceOpenFiles, soft: 1024, hard: 4096 }];

export interface LaunchLimits {
  readonly killGraceMs: number;
  /** No function may ask for more. */
  readonly outputMaxBytes: number;
  readonly bodyMaxBytes: number;
}

export interface LauncherOptions {
  readonly libc: Libc;
  readonly clock: Clock;
  readonly spawner: Spawner;
  readonly cgroups: InstanceCgroups;
  readonly plane: SchedulingPlane;
  readonly slots: FunctionSlots;
  readonly outputs: OutputWatch;
  readonly limits: LaunchLimits;
}

interface Identity {
  readonly source: string;
  readonly id: string;
  readonly arrivedAt: Instant;
}

export class Launcher {
  readonly #options: LauncherOptions;
  readonly #instances = new Set<Instance>();
  readonly #readBuffer = Buffer.alloc(readBufferBytes);
  readonly #idPrefix = randomBytes(6).toString('hex');
  #nextId = 1;
  #stopping = false;
  #whenIdle: (() => void) | undefined;

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  readonly launch: Launch = (spec, request) =>
    new Promise((resolve, reject) => this.#begin(spec, request, { resolve, reject }));

  /** Instances that are starting, running or draining. */
  running(): number {
    return this.#instances.size;
  }

  /**
   * Takes no more launches and ends all instances as 'cancelled': SIGTERM now, SIGKILL after the grace, but at half of the
   * deadline at the latest. Resolves when none is left, or at the deadline.
   */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    if (this.#instances.size === 0) return;
    const graceMs = Math.min(this.#options.limits.killGraceMs, deadlineMs / 2);
    for (const instance of this.#instances) instance.end('cancelled', graceMs);
    const killing = setTimeout(() => {
      for (const instance of this.#instances) instance.endNow();
    }, graceMs);
    let deadline: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
      deadline = setTimeout(resolve, deadlineMs);
    });
    clearTimeout(deadline);
    clearTimeout(killing);
  }

  #begin(spec: FunctionSpec, request: LaunchRequest, answer: Answer): void {
    const { limits, plane, slots, cgroups, clock } = this.#options;
    const releases: (() => void)[] = [];
    const giveBack = () => {
      for (let release = releases.pop(); release !== undefined; release = releases.pop()) release();
    };
    try {
      const identity: Identity = {
        source: request.source ?? 'function',
        id: request.id ?? `${this.#idPrefix}-${this.#nextId++}`,
        arrivedAt: request.arrivedAt ?? clock.now(),
      };
      this.#check(spec, request, identity);
      releases.push(slots.acquire(spec));
      const reservation = plane.reserve(1);
      const unused = () => reservation.release();
      releases.push(unused);
      const cgroup = cgroups.acquire(spec.name, {
        ...(spec.memoryMaxBytes === undefined ? {} : { memoryMaxBytes: spec.memoryMaxBytes }),
        ...(spec.pidsMax === undefined ? {} : { pidsMax: spec.pidsMax }),
      });
      releases.push(() => cgroup.release());
      let key: InvocationKey | undefined;
      let tell: ((outcome: LaunchOutcome) => void) | undefined;
      const ended = (finish: () => void) => {
        this.#instances.delete(instance);
        giveBack();
        finish();
        if (this.#instances.size === 0) this.#whenIdle?.();
      };
      const instance: Instance = new Instance({
        spec,
        clock,
        cgroup,
        spawner: this.#options.spawner,
        arrivedAt: identity.arrivedAt,
        killGraceMs: limits.killGraceMs,
        signal: request.signal,
        stdout: new HeadOutput(Math.min(spec.outputMaxBytes, limits.outputMaxBytes)),
        stderr: new TailOutput(stderrMaxBytes),
        onStarted: (reply) => {
          key = this.#register(spec, request, { identity, reply, reservation });
          releases.splice(releases.indexOf(unused), 1);
          const outcome = new Promise<LaunchOutcome>((resolve) => {
            tell = resolve;
          });
          answer.resolve(launchedOf(instance, { identity, reply, key, outcome }));
        },
        onOverdue: answer.reject,
        onFailed: (error) => ended(() => answer.reject(error)),
        onExited: () => {
          if (key !== undefined) plane.end(key, 'exited');
        },
        onFinished: (outcome) => ended(() => tell?.(outcome)),
      });
      this.#spawn({ spec, request, instance, cgroup, releases });
      this.#instances.add(instance);
    } catch (thrown) {
      giveBack();
      answer.reject(thrown);
    }
  }

  #check(spec: FunctionSpec, request: LaunchRequest, { source, id }: Identity): void {
    const { limits, plane } = this.#options;
    if (this.#stopping) throw new SfsdError('SFSD_ERR_STOPPING');
    if (request.body.length > limits.bodyMaxBytes) {
      throw new SfsdError('SFSD_ERR_BODY_TOO_LARGE', { limit: limits.bodyMaxBytes });
    }
    if (request.signal?.aborted === true) {
      const reason = 'the request was cancelled before its start';
      throw new SfsdError('SFSD_ERR_LAUNCH_FAILED', { name: spec.name, reason });
    }
    // `register` has the last word; this spares the start of a program that it would refuse.
    const known = request.id === undefined ? undefined : plane.find(source, id);
    if (known !== undefined && (plane.explain(known)?.state ?? 'ended') !== 'ended') {
      throw new SfsdError('SFSD_ERR_INVOCATION_DUPLICATE', { source, id });
    }
  }

  #spawn(parts: SpawnParts): void {
    const { spec, request, instance, cgroup, releases } = parts;
    const { libc, spawner } = this.#options;
    const channels = new Channels({
      libc,
      body: request.body,
      ...instance.outputs,
      watch: this.#options.outputs,
      readBuffer: this.#readBuffer,
      onClosed: instance.channelsClosed,
    });
    releases.push(() => channels.destroy());
    const message: SpawnRequest = {
      arguments: [spec.command, ...spec.args],
      environment: environmentOf(spec),
      workingDirectory: spec.workingDirectory,
      birthplace: cgroup.birthplace,
      cgroupProcsFiles: cgroup.procsFiles,
      limits: programLimits,
      memoryLimited: spec.memoryMaxBytes !== undefined,
      credentials: request.credentials,
      nice: 0,
    };
    instance.begin(channels, spawner.spawn(message, channels.programFds, instance));
  }

  #register(spec: FunctionSpec, request: LaunchRequest, start: Start): InvocationKey {
    const { identity, reply, reservation } = start;
    // A start time of 0 says that /proc hides the child from the spawner: then the plane refuses it, and it runs as it is.
    const policy = request.policy ?? spec.policy;
    return this.#options.plane.register(
      {
        ...identity,
        ownerUid: request.credentials.uid,
        functionName: spec.name,
        group: { kind: 'process', pid: reply.pid, startTime: reply.startTime },
        ...(policy === undefined ? {} : { policy }),
        ...(spec.sliceMaxMs === undefined ? {} : { sliceMax: fromMs(spec.sliceMaxMs) }),
        ...(spec.weight === undefined ? {} : { weight: spec.weight }),
        ...(request.expected === undefined ? {} : { expected: request.expected }),
      },
      reservation,
    );
  }
}

interface Answer {
  readonly resolve: (launched: Launched) => void;
  readonly reject: (error: unknown) => void;
}

interface SpawnParts {
  readonly spec: FunctionSpec;
  readonly request: LaunchRequest;
  readonly instance: Instance;
  readonly cgroup: InstanceCgroup;
  readonly releases: (() => void)[];
}

interface Start {
  readonly identity: Identity;
  readonly reply: StartedReply;
  readonly reservation: Reservation;
}

interface LaunchedParts {
  readonly identity: Identity;
  readonly reply: StartedReply;
  readonly key: InvocationKey;
  readonly outcome: Promise<LaunchOutcome>;
}

function launchedOf(instance: Instance, { identity, reply, key, outcome }: LaunchedParts): Launched {
  return {
    key,
    source: identity.source,
    id: identity.id,
    pid: reply.pid,
    startTime: reply.startTime,
    outcome,
    cancel: () => instance.end('cancelled'),
  };
}

function environmentOf(spec: FunctionSpec): string[] {
  const environment = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`);
  if (!Object.hasOwn(spec.env, 'PATH')) environment.push(`PATH=${defaultPath}`);
  return environment;
}
