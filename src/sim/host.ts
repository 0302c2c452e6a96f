/**
 * One simulated host: a machine, and over it a policy of scheduler/ or a reference.
 *
 *   name    upper class          who is in it               policy object
 *   sfs     TurnQueue, FIFO      what SFS promotes          the daemon's own
 *   gittins TurnQueue, FIFO      what it promotes           the daemon's own
 *   cfs     (nobody)                                        none
 *   fifo    TurnQueue, FIFO      everybody                  none
 *   rr      TurnQueue, quantum   everybody                  none
 *   srtf    ShortestFirst        everybody                  none
 *
 * IDEAL, each request on a host of its own, is demand + sleeps: nothing is simulated for it.
 */
import { assert } from '../contracts/errors.js';
import type { DecisionLog, SchedulerCounters, SfsParameters } from '../contracts/scheduler.js';
import { type Clock, type Duration, instant } from '../contracts/time.js';
import { createScheduler, type Policy } from '../scheduler/policies.js';
import type { FairRule } from './fair-rule.js';
import { fairClassOf } from './fair-rule.js';
import { type Draw, type FaultRule, Faults } from './faults.js';
import { Invariants } from './invariants.js';
import { Machine } from './machine.js';
import { Plane } from './plane.js';
import { ShortestFirst } from './shortest-first.js';
import { SimulatedKernel } from './simulated-kernel.js';
import { type SimulatedRequest, Task } from './task.js';
import type { LowerClass, TaskClass } from './task-class.js';
import { TurnQueue } from './turn-queue.js';

export type SimulatedPolicy = 'cfs' | 'fifo' | 'rr' | 'srtf' | 'sfs' | 'gittins';
export const simulatedPolicies: readonly SimulatedPolicy[] = ['cfs', 'fifo', 'rr', 'srtf', 'sfs', 'gittins'];

export interface HostOptions {
  readonly policy: SimulatedPolicy;
  readonly cores: number;
  readonly fair: FairRule;
  /** Of RR. */
  readonly quantum: Duration;
  /** Of SFS. */
  readonly parameters: SfsParameters;
  readonly pickupDelay: Duration;
  readonly tickLateness: Duration;
  readonly observationLag: Duration;
  readonly faults: FaultRule;
  /** For the faults. */
  readonly draw: Draw;
  /** Checks the invariants after every step; the run takes several times as long. */
  readonly checked: boolean;
  readonly log?: DecisionLog;
}

const noLog: DecisionLog = { record: () => undefined };

export class Host {
  readonly #machine: Machine;
  readonly #everyoneOnTop: boolean;
  readonly #faults: Faults;
  readonly #onEnd: (task: Task) => void;
  readonly #scheduler: Policy | undefined;
  readonly #plane: Plane | undefined;
  readonly #invariants: Invariants | undefined;

  /** @param onEnd told of every task that has ended, killed ones included. */
  constructor(options: HostOptions, onEnd: (task: Task) => void) {
    const fair = fairClassOf(options.fair, options.cores);
    this.#machine = new Machine({ fair, upper: upperClassOf(options, fair) });
    const { policy } = options;
    const driven = policy === 'sfs' || policy === 'gittins';
    this.#everyoneOnTop = !driven && policy !== 'cfs';
    this.#faults = new Faults(options.faults, options.draw);
    this.#onEnd = onEnd;
    if (!driven) return;
    const clock: Clock = { now: () => instant(this.#machine.time) };
    this.#invariants = options.checked ? new Invariants(options) : undefined;
    const log = this.#invariants?.watch(options.log ?? noLog) ?? options.log ?? noLog;
    const kernel = new SimulatedKernel(this.#machine, this.#faults, options.observationLag);
    this.#scheduler = createScheduler(policy, { clock, kernel, log }, options.parameters);
    this.#plane = new Plane({
      scheduler: this.#scheduler,
      faults: this.#faults,
      pickupDelay: options.pickupDelay,
      tickLateness: options.tickLateness,
      onAdmission: (task, admission) => this.#invariants?.admitted(task, admission),
    });
  }

  /** Tasks that have not ended. */
  get live(): number {
    return this.#machine.live;
  }

  /** What the policy has done; undefined where there is none. */
  get counters(): Readonly<SchedulerCounters> | undefined {
    return this.#scheduler?.view.counters;
  }

  /** A request arrives: `advanceTo` its arrival first. */
  start(index: number, request: SimulatedRequest): void {
    const task = new Task(index, request, instant(request.arrival));
    if (this.#everyoneOnTop) task.standing = 'promoted';
    this.#machine.start(task);
    this.#invariants?.started(task);
    this.#plane?.submit(task);
  }

  /** Does all that is due up to `time`. */
  advanceTo(time: number): void {
    for (let next = this.#nextStep(); next <= time; next = this.#nextStep()) this.#step(next);
    this.#machine.advanceTo(time);
    this.#reportEnds();
  }

  /** Runs until all tasks have ended and the policy knows. */
  drain(): void {
    while (this.#machine.live > 0 || this.#plane !== undefined) {
      const next = this.#nextStep();
      if (next === Number.POSITIVE_INFINITY) break;
      this.#step(next);
    }
    assert(this.#machine.live === 0, 'no task is left behind');
    this.#invariants?.ended(this.#machine.time);
  }

  #nextStep(): number {
    return Math.min(this.#machine.nextChange(), this.#plane?.due ?? Number.POSITIVE_INFINITY);
  }

  #step(at: number): void {
    this.#machine.advanceTo(at);
    this.#reportEnds();
    const plane = this.#plane;
    if (plane !== undefined && plane.due <= at) {
      if (this.#faults.storms()) this.#machine.wakeAll();
      plane.turn();
      this.#reportEnds();
    }
    if (this.#scheduler !== undefined) this.#invariants?.check(this.#scheduler.view, at);
  }

  #reportEnds(): void {
    for (const task of this.#machine.takeEnded()) {
      this.#plane?.exit(task);
      this.#invariants?.exited(task);
      this.#onEnd(task);
    }
  }
}

function upperClassOf(options: HostOptions, fair: LowerClass): TaskClass {
  const { policy, cores, quantum } = options;
  if (policy === 'srtf') return new ShortestFirst(cores, fair);
  return new TurnQueue({ cores, quantum: policy === 'rr' ? quantum : Number.POSITIVE_INFINITY }, fair);
}
