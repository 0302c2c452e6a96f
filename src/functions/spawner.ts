/**
 * The daemon's side of the spawner: starts the C program, sends launches and signals, hands its replies to whoever launched.
 *
 *   spawn(request, fds, listener) ─▶ socket (fds as SCM_RIGHTS) ─▶ native spawner
 *   listener.started │ failed │ exited ◀─ reply stream ◀──────────┘
 *   listener.lost    ◀─ its death: its functions die with it, and a new one starts
 *
 * Node's child_process runs at most once for each life of the spawner (spawner-process.ts), never for a launch: it blocks until the
 * program it starts has been executed.
 *
 * A new spawner starts at once when the old one had lived for `stableMs`; otherwise after a delay that doubles up to
 * `restartDelayMaxMs`. In between launches are refused with SFSD_ERR_SPAWNER_LOST.
 */
import { Buffer } from 'node:buffer';
import { assert, SfsdError } from '../contracts/errors.js';
import type { ProgramFds } from './channels.js';
import { beginSpawner, type SpawnerBirth, type SpawnerProcess } from './spawner-process.js';
import {
  childrenMax,
  decodeReply,
  type ExitedReply,
  encodeKill,
  encodeLaunch,
  type FailedReply,
  protocolVersion,
  type Reply,
  replyBytes,
  requestBytesMax,
  type SpawnRequest,
  type StartedReply,
} from './spawner-protocol.js';

export interface SpawnListener {
  started(reply: StartedReply): void;
  failed(reply: FailedReply): void;
  exited(reply: ExitedReply): void;
  /** The spawner died: what it had started is being killed by the kernel. */
  lost(): void;
}

/** `priority`: SCHED_FIFO, 0: SCHED_OTHER. `sessionNice`: what all functions yield to other sessions where autogroup is on, 0 to 19. */
export interface SpawnerOptions extends SpawnerBirth {
  /** Told of each death and each restart, for the log. */
  readonly report?: (event: SpawnerEvent) => void;
  /** Told at the start of each spawner and each program: what newborn programs have used so far at its priority. */
  readonly account?: (spawnerPid: number, birthsUs: number) => void;
}

export type SpawnerEvent =
  | {
      readonly event: 'spawner_lost';
      readonly pid: number;
      readonly reason: string;
      readonly instances: number;
    }
  | { readonly event: 'spawner_started'; readonly spawnerPid: number };

/** Launches sent and not yet answered; beyond it a launch is refused. */
const startingMax = 1024;
/** Messages that wait for room in the socket: every launch that may start, and two signals for each child that may live. */
const outgoingMax = startingMax + 2 * childrenMax;
const outgoingRetryMs = 1;
const readyMaxMs = 10_000;
/** The program gives itself 2 s to end what it started; then it is killed, and waited for this much longer. */
const endMaxMs = 2_500;
const killedEndMaxMs = 1_000;
const stableMs = 10_000;
const restartDelayMinMs = 100;
const restartDelayMaxMs = 5_000;
const tryAgain = -11;
const brokenPipe = -32;
const connectionReset = -104;

interface Outgoing {
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly fds: readonly number[];
}

/** One life of the C program. */
interface Life {
  readonly process: SpawnerProcess;
  readonly bornAtMs: number;
  ready: boolean;
  rest: Buffer;
}

export class Spawner {
  readonly #options: SpawnerOptions;
  readonly #message = Buffer.alloc(requestBytesMax);
  readonly #listeners = new Map<number, SpawnListener>();
  #life: Life | undefined;
  #nextId = 1;
  #starting = 0;
  #birthsUs = 0;
  #outgoing: Outgoing[] = [];
  #retry: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  #restartDelayMs = 0;
  #closing = false;
  #whenReady: (() => void) | undefined;
  #whenEnded: (() => void) | undefined;

  private constructor(options: SpawnerOptions) {
    this.#options = options;
  }

  /** Resolves once the program answers. Throws SFSD_ERR_KERNEL when it cannot be started. */
  static async start(options: SpawnerOptions): Promise<Spawner> {
    const spawner = new Spawner(options);
    const ready = new Promise<boolean>((resolve) => {
      spawner.#whenReady = () => resolve(true);
      spawner.#whenEnded = () => resolve(false);
      setTimeout(resolve, readyMaxMs, false).unref();
    });
    spawner.#begin();
    if (await ready) return spawner;
    await spawner.close();
    throw new SfsdError('SFSD_ERR_KERNEL', {
      call: options.socketPath ?? options.programPath,
      reason:
        'the spawner ended, or did not answer in time; its own words are on standard error, or in the log of its unit',
    });
  }

  /** For accounting; undefined while none runs. */
  get pid(): number | undefined {
    return this.#life?.process.pid;
  }

  /** Launches that are not yet answered with started or failed. */
  get starting(): number {
    return this.#starting;
  }

  /**
   * Asks for a launch. Takes the descriptors (standard input, output and error of the program; the first may be left out) in every
   * case, and closes them. Throws SFSD_ERR_SPAWNER_LOST, SFSD_ERR_QUEUE_FULL, SFSD_ERR_LAUNCH_FAILED; otherwise the listener hears the rest.
   * @returns a number for `kill`.
   */
  spawn(request: SpawnRequest, fds: ProgramFds, listener: SpawnListener): number {
    const id = this.#nextId++;
    try {
      const life = this.#life;
      if (life === undefined || this.#closing) throw new SfsdError('SFSD_ERR_SPAWNER_LOST');
      if (this.#starting >= startingMax) throw new SfsdError('SFSD_ERR_QUEUE_FULL', { limit: startingMax });
      const length = encodeLaunch(this.#message, id, request);
      if (length === undefined) {
        const reason = `its arguments and environment exceed ${requestBytesMax} bytes`;
        throw new SfsdError('SFSD_ERR_LAUNCH_FAILED', { name: request.arguments[0] ?? '', reason });
      }
      this.#send(life, length, fds);
    } catch (thrown) {
      this.#closeAll(fds);
      throw thrown;
    }
    this.#listeners.set(id, listener);
    this.#starting++;
    return id;
  }

  /** Signals the process group of a launch; ignored once it has ended. */
  kill(id: number, signalNumber: number): void {
    const life = this.#life;
    if (life === undefined || !this.#listeners.has(id)) return;
    try {
      this.#send(life, encodeKill(this.#message, id, signalNumber), []);
    } catch (thrown) {
      // Its death ends what it runs; the listener hears of that.
      if (!(thrown instanceof SfsdError && thrown.code === 'SFSD_ERR_SPAWNER_LOST')) throw thrown;
    }
  }

  /** Ends the spawner and with it everything it started; bounded, whatever state it is in. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    const life = this.#life;
    if (life === undefined) return;
    const ended = new Promise<void>((resolve) => {
      this.#whenEnded = resolve;
    });
    this.#options.libc.close(life.process.socket);
    const killing = setTimeout(() => life.process.kill(), endMaxMs);
    let deadline: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      deadline = setTimeout(resolve, endMaxMs + killedEndMaxMs);
    });
    await Promise.race([ended, late]);
    clearTimeout(killing);
    clearTimeout(deadline);
  }

  #begin(): void {
    const life: Life = {
      process: beginSpawner(this.#options, {
        replied: (chunk) => this.#receive(life, chunk),
        ended: (reason) => this.#died(life, reason),
      }),
      bornAtMs: performance.now(),
      ready: false,
      rest: Buffer.alloc(0),
    };
    this.#life = life;
  }

  #send(life: Life, length: number, fds: readonly number[]): void {
    const { libc } = this.#options;
    const result =
      this.#outgoing.length > 0
        ? tryAgain
        : libc.sendWithFds(life.process.socket, this.#message, length, fds);
    if (result >= 0) {
      this.#closeAll(fds);
      return;
    }
    if (result === brokenPipe || result === connectionReset) throw new SfsdError('SFSD_ERR_SPAWNER_LOST');
    if (result !== tryAgain) {
      throw new SfsdError('SFSD_ERR_KERNEL', { call: 'sendmsg to the spawner', reason: `errno ${-result}` });
    }
    assert(this.#outgoing.length < outgoingMax, 'launches and signals are bounded before they get here');
    this.#outgoing.push({ bytes: Uint8Array.from(this.#message.subarray(0, length)), length, fds });
    this.#retryLater();
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#flush();
    }, outgoingRetryMs);
  }

  #flush(): void {
    const life = this.#life;
    while (life !== undefined) {
      const [first] = this.#outgoing;
      if (first === undefined) return;
      const result = this.#options.libc.sendWithFds(
        life.process.socket,
        first.bytes,
        first.length,
        first.fds,
      );
      if (result === tryAgain) {
        this.#retryLater();
        return;
      }
      this.#outgoing.shift();
      this.#closeAll(first.fds);
    }
  }

  #receive(life: Life, chunk: Buffer): void {
    const bytes = life.rest.length === 0 ? chunk : Buffer.concat([life.rest, chunk]);
    let at = 0;
    for (; at + replyBytes <= bytes.length; at += replyBytes) this.#dispatch(life, decodeReply(bytes, at));
    life.rest = Buffer.from(bytes.subarray(at));
    if (this.#outgoing.length > 0) this.#flush();
  }

  #dispatch(life: Life, reply: Reply): void {
    if (reply.kind === 'ready') {
      assert(reply.version === protocolVersion, 'the spawner speaks our version of the protocol');
      life.ready = true;
      life.process.introduced(reply.pid);
      this.#options.report?.({ event: 'spawner_started', spawnerPid: life.process.pid });
      this.#options.account?.(life.process.pid, this.#birthsUs);
      this.#whenReady?.();
      return;
    }
    const listener = this.#listeners.get(reply.id);
    assert(listener !== undefined, 'the spawner answers launches that we asked for');
    if (reply.kind !== 'exited') this.#starting--;
    if (reply.kind !== 'started') this.#listeners.delete(reply.id);
    if (reply.kind === 'started') {
      this.#birthsUs += reply.realtimeUs;
      this.#options.account?.(life.process.pid, this.#birthsUs);
      listener.started(reply);
    } else if (reply.kind === 'failed') listener.failed(reply);
    else listener.exited(reply);
  }

  #died(life: Life, reason: string): void {
    if (this.#life !== life) return;
    this.#life = undefined;
    if (!this.#closing) this.#options.libc.close(life.process.socket);
    clearTimeout(this.#retry);
    this.#retry = undefined;
    for (const message of this.#outgoing) this.#closeAll(message.fds);
    this.#outgoing = [];
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    this.#starting = 0;
    const first = this.#whenReady !== undefined && !life.ready && this.#restartDelayMs === 0;
    if (!this.#closing) {
      this.#options.report?.({
        event: 'spawner_lost',
        pid: life.process.pid,
        reason,
        instances: listeners.length,
      });
      if (!first) this.#beginAgain(life);
    }
    for (const listener of listeners) listener.lost();
    this.#whenEnded?.();
  }

  #beginAgain(life: Life): void {
    const stable = performance.now() - life.bornAtMs >= stableMs;
    this.#beginAfter(stable ? 0 : this.#restartDelayMs);
  }

  #beginAfter(delayMs: number): void {
    this.#restartDelayMs = Math.min(Math.max(restartDelayMinMs, 2 * delayMs), restartDelayMaxMs);
    clearTimeout(this.#restart);
    if (delayMs > 0) {
      this.#restart = setTimeout(() => this.#beginOrWait(), delayMs);
    } else {
      this.#beginOrWait();
    }
  }

  #beginOrWait(): void {
    if (this.#life !== undefined || this.#closing) return;
    try {
      this.#begin();
    } catch {
      // Descriptors may have run out, and may come back.
      this.#beginAfter(this.#restartDelayMs);
    }
  }

  #closeAll(fds: readonly number[]): void {
    for (const fd of fds) this.#options.libc.close(fd);
  }
}
