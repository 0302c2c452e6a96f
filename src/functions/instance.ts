/**
 * One run of a function, from the request to the spawner until nothing of it is left.
 *
 *   starting ──started──▶ running ──exited──▶ draining ──outputs ended, or drainMaxMs──▶ finished
 *       └──failed──▶ (never ran)   └──lost───────▲
 *
 *   The function's timeout counts from the request to the spawner, and again from the start. When the program is not in place by
 *   then, the child is killed and the launch fails.
 *
 *   end(timeout | cancelled): SIGTERM to the process group, after the grace SIGKILL to the group and the cgroup
 *
 * The spawner kills the process group when the leader exits; what left the group (a daemonised grandchild) is found in the cgroup
 * and killed by us. Outputs may stay open in a dying grandchild's hands, which is why draining has a bound.
 */
import { constants } from 'node:os';
import { SfsdError } from '../contracts/errors.js';
import type { CancelSignal, ExitStatus, FunctionSpec, LaunchOutcome } from '../contracts/function.js';
import { type Clock, type Instant, instant } from '../contracts/time.js';
import type { InstanceCgroup } from '../linux/instance-cgroup.js';
import type { Channels } from './channels.js';
import type { HeadOutput, TailOutput } from './output.js';
import type { Spawner, SpawnListener } from './spawner.js';
import {
  type ExitedReply,
  type FailedReply,
  type StartedReply,
  stageOfDirectory,
  stageOfExec,
  stages,
} from './spawner-protocol.js';

/** How long outputs may stay open after the exit, once all that could hold them has been killed. */
const drainMaxMs = 250;
/** How long a program may take to be in place when its function has no timeout. */
const startMaxMs = 30_000;

/** Of a wait status: the signal that ended the process. */
const signalMask = 0x7f;

export type EndKind = 'timeout' | 'cancelled';

export interface InstanceParts {
  readonly spec: FunctionSpec;
  readonly clock: Clock;
  readonly spawner: Spawner;
  readonly cgroup: InstanceCgroup;
  readonly arrivedAt: Instant;
  readonly killGraceMs: number;
  readonly signal: CancelSignal | undefined;
  readonly stdout: HeadOutput;
  readonly stderr: TailOutput;
  /** Called at once, before any later reply is read. What it throws ends the instance and becomes its failure. */
  readonly onStarted: (reply: StartedReply) => void;
  /** Its start took too long and its child cannot be killed now: whoever asked is told; `onFailed` comes when it is dead. */
  readonly onOverdue: (error: unknown) => void;
  /** It never ran, or was refused after its start; nothing of it is left. */
  readonly onFailed: (error: unknown) => void;
  readonly onExited: () => void;
  readonly onFinished: (outcome: LaunchOutcome) => void;
}

export class Instance implements SpawnListener {
  readonly #parts: InstanceParts;
  readonly #abort = () => this.end('cancelled');
  #channels: Channels | undefined;
  #spawnId = 0;
  #startedAt: Instant | undefined;
  #exited: ExitedReply | undefined;
  #endedAt: Instant | undefined;
  #ending: EndKind | undefined;
  #refusal: { readonly error: unknown } | undefined;
  #timeout: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #drain: NodeJS.Timeout | undefined;
  #finished = false;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
  }

  get outputs(): { readonly stdout: HeadOutput; readonly stderr: TailOutput } {
    return { stdout: this.#parts.stdout, stderr: this.#parts.stderr };
  }

  /** The request has gone to the spawner as number `spawnId`. */
  begin(channels: Channels, spawnId: number): void {
    this.#channels = channels;
    this.#spawnId = spawnId;
    this.#parts.signal?.addEventListener('abort', this.#abort, { once: true });
    this.#timeout = setTimeout(() => this.#timedOut(), this.#parts.spec.timeoutMs || startMaxMs);
  }

  /** SIGTERM now, SIGKILL after the grace. The first call decides what the outcome says. */
  end(kind: EndKind, graceMs = this.#parts.killGraceMs): void {
    if (this.#endedAt !== undefined || this.#finished) return;
    if (this.#ending !== undefined) return;
    this.#ending = kind;
    if (graceMs <= 0) {
      this.#kill();
      return;
    }
    this.#parts.spawner.kill(this.#spawnId, constants.signals.SIGTERM);
    this.#grace = setTimeout(() => this.#kill(), graceMs);
  }

  /** For stop: whatever grace is still running is over. */
  endNow(): void {
    if (this.#endedAt !== undefined || this.#finished) return;
    this.#ending ??= 'cancelled';
    clearTimeout(this.#grace);
    this.#kill();
  }

  started(reply: StartedReply): void {
    this.#startedAt = instant(reply.atUs);
    if (this.#refusal !== undefined) {
      this.#kill();
      return;
    }
    if (this.#parts.spec.timeoutMs > 0) this.#timeout?.refresh();
    else clearTimeout(this.#timeout);
    try {
      this.#parts.onStarted(reply);
    } catch (error) {
      this.#refusal = { error };
      this.#kill();
    }
  }

  failed(reply: FailedReply): void {
    const error = this.#refusal?.error ?? this.#failure(failureReason(this.#parts.spec, reply));
    this.#finish(() => this.#parts.onFailed(error));
  }

  exited(reply: ExitedReply): void {
    this.#exited = reply;
    if ((reply.status & signalMask) === constants.signals.SIGKILL) this.#parts.cgroup.retire();
    this.#over(instant(reply.atUs));
  }

  lost(): void {
    if (this.#startedAt === undefined) {
      this.#onGroup((cgroup) => cgroup.kill());
      this.#finish(() => this.#parts.onFailed(new SfsdError('SFSD_ERR_SPAWNER_LOST')));
    } else {
      this.#over(this.#parts.clock.now());
    }
  }

  /** For Channels: both outputs have ended. */
  readonly channelsClosed = (): void => {
    if (this.#endedAt !== undefined) this.#finishRun();
  };

  #timedOut(): void {
    if (this.#startedAt !== undefined) {
      this.end('timeout');
      return;
    }
    const error = this.#failure('the program was not in place in time');
    this.#refusal = { error };
    this.#kill();
    clearTimeout(this.#grace);
    this.#grace = setTimeout(() => this.#parts.onOverdue(error), this.#parts.killGraceMs);
  }

  #failure(reason: string): SfsdError {
    return new SfsdError('SFSD_ERR_LAUNCH_FAILED', { name: this.#parts.spec.name, reason });
  }

  #over(endedAt: Instant): void {
    this.#endedAt = endedAt;
    clearTimeout(this.#timeout);
    clearTimeout(this.#grace);
    if (this.#refusal === undefined) this.#parts.onExited();
    this.#onGroup((cgroup) => cgroup.killLeftovers());
    this.#channels?.drain();
    if (this.#channels?.closed === false) this.#drain = setTimeout(() => this.#finishRun(), drainMaxMs);
    else this.#finishRun();
  }

  #finishRun(): void {
    const refusal = this.#refusal;
    if (refusal === undefined) this.#finish(() => this.#parts.onFinished(this.#outcome()));
    else this.#finish(() => this.#parts.onFailed(refusal.error));
  }

  #finish(tell: () => void): void {
    if (this.#finished) return;
    this.#finished = true;
    for (const timer of [this.#timeout, this.#grace, this.#drain]) clearTimeout(timer);
    this.#parts.signal?.removeEventListener('abort', this.#abort);
    this.#channels?.destroy();
    tell();
  }

  #kill(): void {
    this.#parts.spawner.kill(this.#spawnId, constants.signals.SIGKILL);
    // Before its start only the spawner knows the child: the cgroup may not hold it yet.
    if (this.#startedAt !== undefined) this.#onGroup((cgroup) => cgroup.kill());
  }

  #onGroup(act: (cgroup: InstanceCgroup) => void): void {
    try {
      act(this.#parts.cgroup);
    } catch {
      // Someone removed the group: then nobody is in it.
    }
  }

  #outcome(): LaunchOutcome {
    const { stdout, stderr, arrivedAt } = this.#parts;
    const exited = this.#exited;
    return {
      exit: this.#exit(),
      stdout: stdout.bytes,
      stderr: stderr.bytes,
      truncated: stdout.truncated,
      arrivedAt,
      startedAt: this.#startedAt ?? arrivedAt,
      endedAt: this.#endedAt ?? this.#parts.clock.now(),
      cpuMs: (exited?.cpuUs ?? 0) / 1000,
      voluntarySwitches: exited?.voluntarySwitches ?? 0,
      involuntarySwitches: exited?.involuntarySwitches ?? 0,
      rssMaxBytes: exited?.rssMaxBytes ?? 0,
    };
  }

  #exit(): ExitStatus {
    if (this.#exited === undefined) return { kind: 'lost' };
    if (this.#ending !== undefined) return { kind: this.#ending };
    return exitStatusOf(this.#exited.status);
  }
}

/** The wait status of wait(2): exit code in the second byte, or the signal in the low seven bits. */
export function exitStatusOf(waitStatus: number): ExitStatus {
  const signal = waitStatus & signalMask;
  if (signal === 0) return { kind: 'exited', code: (waitStatus >> 8) & 0xff };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { kind: 'signalled', signal: name ?? `SIG${signal}` };
}

function failureReason(spec: FunctionSpec, { stage, errorNumber }: FailedReply): string {
  const step = stages[stage] ?? `stage ${stage}`;
  const subject =
    stage === stageOfExec
      ? ` ${spec.command}`
      : stage === stageOfDirectory
        ? ` ${spec.workingDirectory}`
        : '';
  const known = Object.entries(constants.errno).find(([, number]) => number === errorNumber)?.[0];
  const error = errorNumber > 0 ? (known ?? `errno ${errorNumber}`) : 'it ended before that';
  return `${step}${subject}: ${error}`;
}
