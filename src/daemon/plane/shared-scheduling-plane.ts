/**
 * The scheduling plane seen from the control plane: places are counted here, submissions leave by one ring, decisions come
 * back by the other.
 *
 *   reserve(n) ─▶ register ─▶ [submission ring] ─▶ scheduling thread ─▶ [decision ring] ─▶ drain ─▶ registry
 *      places: reserved + live <= liveMax, and the ring always has room for the end of everything that is live
 *
 * The decision ring is drained at each tick while anything is live, and at once before any question is answered.
 */
import { SfsdError } from '../../contracts/errors.js';
import type { EndReason, Invocation, InvocationKey, PolicyName } from '../../contracts/invocation.js';
import type { PermissionMode } from '../../contracts/modes.js';
import type { Decision } from '../../contracts/scheduler.js';
import type {
  CpuStatus,
  Explanation,
  NewInvocation,
  Reservation,
  SchedulingPlane,
  SchedulingStatus,
  WorkerStatus,
} from '../../contracts/scheduling-plane.js';
import { type Clock, duration, type Instant, type Tick } from '../../contracts/time.js';
import { DecisionReader } from './decision-ring.js';
import { InvocationRegistry } from './invocation-registry.js';
import { PlaneState } from './plane-state.js';
import { SubmissionWriter } from './submission-ring.js';

/**
 * Decisions taken out of the ring for each place reserved: a life has three or four, so a flood of registrations pays as it goes. All of
 * a tenth of a second at once, at 20,000 registrations a second, held the next list up for 20 ms.
 */
const decisionsPerPlace = 6;
/** Taken at a tick at once: 2 ms of work. */
const decisionsPerTurn = 1024;
/** A submission with the longest names takes under 512 bytes; with 256 tids or a 4 KiB path the ring's spare room bears it. */
const bytesPerPlace = 512;

/** One a millisecond. */
const stopAttemptsMax = 1000;

/** A live invocation has ended: the decision that says so. */
export type OnEnded = (invocation: Invocation, decision: Decision) => void;

export interface PlaneOptions {
  readonly clock: Clock;
  /** The decision ring is emptied at this pace while anything is live. A result that is answered empties it first. */
  readonly tick: Tick;
  readonly rings: { readonly submissions: SharedArrayBuffer; readonly decisions: SharedArrayBuffer };
  readonly state: SharedArrayBuffer;
  readonly defaultPolicy: PolicyName;
  readonly policies: readonly PolicyName[];
  readonly mode: { readonly name: PermissionMode; readonly reason?: string };
  readonly liveMax: number;
  readonly finishedMax: number;
  readonly budgetShare: number;
  readonly onEnded?: OnEnded;
  /** Wakes the scheduling thread. */
  readonly ring: () => void;
  readonly cpu: () => Pick<CpuStatus, 'cores' | 'elapsed' | 'control' | 'spawner'>;
}

export class SharedSchedulingPlane implements SchedulingPlane {
  readonly defaultPolicy: PolicyName;
  readonly policies: readonly PolicyName[];
  readonly #options: PlaneOptions;
  readonly #writer: SubmissionWriter;
  readonly #reader: DecisionReader;
  readonly #state: PlaneState;
  readonly #registry: InvocationRegistry;
  /** Ends that found the ring full: at most one for each live invocation. */
  readonly #endsWaiting = new Map<InvocationKey, EndReason>();
  /** When each worker's current invocation was promoted, by key. */
  readonly #promotedAt = new Map<InvocationKey, Instant>();
  #reserved = 0;
  #lostSeen = 0;
  #stopping = false;
  #leaveTick: (() => void) | undefined;

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.defaultPolicy = options.defaultPolicy;
    this.policies = options.policies;
    this.#writer = new SubmissionWriter(options.rings.submissions);
    this.#reader = new DecisionReader(options.rings.decisions);
    this.#state = new PlaneState(options.state);
    this.#registry = new InvocationRegistry({ finishedMax: options.finishedMax });
  }

  now(): Instant {
    return this.#options.clock.now();
  }

  /** From now on `reserve` answers SFSD_ERR_STOPPING. */
  refuseNewWork(): void {
    this.#stopping = true;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  reserve(count: number): Reservation {
    if (this.#stopping) throw new SfsdError('SFSD_ERR_STOPPING');
    this.#drain(count * decisionsPerPlace);
    if (!this.#hasRoom(count)) this.#drain();
    if (!this.#hasRoom(count)) throw new SfsdError('SFSD_ERR_QUEUE_FULL', { limit: this.#options.liveMax });
    this.#reserved += count;
    return new Places(count, (given) => {
      this.#reserved -= given;
    });
  }

  register(fresh: NewInvocation, reservation: Reservation): InvocationKey {
    const places = reservation as Places;
    const invocation = this.#registry.add(fresh);
    const answer = this.#writer.submit('submit', invocation);
    if (answer === 'full') {
      this.#registry.remove(invocation.key);
      throw new SfsdError('SFSD_ERR_QUEUE_FULL', { limit: this.#options.liveMax });
    }
    places.useOne();
    if (answer === 'ring') this.#ringSoon();
    this.#keepDraining();
    return invocation.key;
  }

  find(source: string, id: string): InvocationKey | undefined {
    return this.#registry.find(source, id);
  }

  end(key: InvocationKey, reason: EndReason): void {
    if (!this.#registry.isLive(key)) return;
    this.#registry.endAsked(key);
    const answer = this.#writer.end(key, reason);
    if (answer === 'full') this.#endsWaiting.set(key, reason);
    if (answer === 'ring') this.#options.ring();
  }

  explain(key: InvocationKey): Explanation | undefined {
    this.#drain();
    return this.#registry.explain(key);
  }

  /** For the resource view, and for nothing that is asked often: it visits all. */
  liveInvocations(): readonly Invocation[] {
    this.#drain();
    return this.#registry.liveInvocations();
  }

  status(): SchedulingStatus {
    this.#drain();
    const { mode, budgetShare, liveMax } = this.#options;
    const state = this.#state;
    return {
      mode: mode.name,
      ...(mode.reason === undefined ? {} : { modeReason: mode.reason }),
      targets: state.targets(),
      defaultPolicy: this.defaultPolicy,
      slice: duration(state.get('slice')),
      workers: this.#workers(),
      queueLength: state.get('queueLength'),
      live: this.#registry.liveCount,
      liveMax,
      blocked: state.get('blocked'),
      paused: state.get('paused') === 1,
      budgetUsed: state.get('budgetUsed'),
      budgetShare,
      counters: state.counters(),
      decisionsLost: this.#reader.lost,
      loop: state.lateness(),
      cpu: {
        ...this.#options.cpu(),
        polling: duration(state.get('polling')),
        scheduling: duration(state.get('scheduling')),
      },
    };
  }

  /** Tells the scheduling thread how many FILTER workers the host bears now. */
  setWorkers(count: number): void {
    if (this.#writer.setWorkers(count) === 'ring') this.#options.ring();
  }

  /** Asks the scheduling thread to demote everything and end. */
  stop(): void {
    this.#stopping = true;
    // A full ring empties within milliseconds: its reader outranks everything that could fill it.
    for (let attempt = 0; attempt < stopAttemptsMax && this.#writer.stop() === 'full'; attempt += 1) {
      this.#options.ring();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
    this.#options.ring();
    this.#stopDraining();
  }

  /** Once for all registrations of one list: a wake-up costs more than a registration. */
  #ringSoon(): void {
    queueMicrotask(() => this.#options.ring());
  }

  #hasRoom(count: number): boolean {
    const taken = this.#reserved + this.#registry.liveCount;
    return (
      taken + count <= this.#options.liveMax && this.#writer.free >= (this.#reserved + count) * bytesPerPlace
    );
  }

  #workers(): WorkerStatus[] {
    const count = this.#state.get('workerCount');
    return Array.from({ length: count }, (_, worker) => {
      const key = this.#state.worker(worker) as InvocationKey;
      const invocation = key === 0 ? undefined : this.#registry.invocation(key);
      if (invocation === undefined) return { worker };
      const { source, id, functionName, arrivedAt } = invocation;
      const rank = this.#state.rank(worker);
      return {
        worker,
        invocation: {
          source,
          id,
          functionName,
          since: this.#promotedAt.get(key) ?? arrivedAt,
          ...(rank === undefined ? {} : { rank }),
        },
      };
    });
  }

  #keepDraining(): void {
    this.#leaveTick ??= this.#options.tick.join(() => {
      this.#drainInTurns();
      if (this.#registry.liveCount === 0) this.#stopDraining();
    });
  }

  #stopDraining(): void {
    this.#leaveTick?.();
    this.#leaveTick = undefined;
  }

  #drainInTurns(): void {
    if (this.#drain(decisionsPerTurn) === decisionsPerTurn) setImmediate(() => this.#drainInTurns());
  }

  /** @returns how many decisions it has taken, at most `limit`. */
  #drain(limit = Number.POSITIVE_INFINITY): number {
    for (const [key, reason] of this.#endsWaiting) {
      if (this.#writer.end(key, reason) === 'full') break;
      this.#endsWaiting.delete(key);
      this.#options.ring();
    }
    const lost = this.#reader.lost;
    const overflowed = lost !== this.#lostSeen;
    this.#lostSeen = lost;
    let taken = 0;
    for (; taken < limit; taken += 1) {
      const decision = this.#reader.next();
      if (decision === undefined) break;
      if (decision.kind === 'promoted') this.#promotedAt.set(decision.key, decision.at);
      else if (decision.kind !== 'arrived') this.#promotedAt.delete(decision.key);
      const invocation = decision.kind === 'ended' ? this.#registry.invocation(decision.key) : undefined;
      const ended = this.#registry.apply(decision, { overflowed });
      if (ended && invocation !== undefined) this.#options.onEnded?.(invocation, decision);
    }
    return taken;
  }
}

/** The places of one reservation that are not used up yet. */
class Places implements Reservation {
  #left: number;
  readonly #giveBack: (count: number) => void;

  constructor(count: number, giveBack: (count: number) => void) {
    this.#left = count;
    this.#giveBack = giveBack;
  }

  useOne(): void {
    if (this.#left === 0)
      throw new SfsdError('SFSD_ERR_INTERNAL', { reason: 'a reservation was used beyond its places' });
    this.#left -= 1;
    this.#giveBack(1);
  }

  release(): void {
    this.#giveBack(this.#left);
    this.#left = 0;
  }
}
