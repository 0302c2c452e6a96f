/**
 * Drives a policy on the model kernel as the daemon's scheduling plane does: submissions, exits and cancellations as they
 * happen, `tick` whenever it asked to be called or something has happened.
 */
import { assert } from '../../src/contracts/errors.js';
import { type InvocationKey, invocationKey, type PolicyName } from '../../src/contracts/invocation.js';
import type { SfsParameters } from '../../src/contracts/scheduler.js';
import type { TaskGroup } from '../../src/contracts/task-group.js';
import { type Duration, type Instant, instant, noTime } from '../../src/contracts/time.js';
import { createScheduler, type Policy } from '../../src/scheduler/policies.js';
import { DecisionRecorder, paperParameters } from './decisions.js';
import { ModelKernel, type ModelOptions, type ModelProgram } from './model-kernel.js';

export interface SubmitOptions {
  readonly policy?: PolicyName;
  readonly arrivedAt?: Instant;
  readonly sliceMax?: Duration;
  /** Default: `f`. */
  readonly functionName?: string;
  readonly weight?: number;
  readonly expected?: Duration;
  readonly entry?: 'submit' | 'begin';
  /** Default: the next one. */
  readonly key?: number;
}

export interface Entered {
  readonly key: InvocationKey;
  readonly outcome: ReturnType<Policy['submit']>;
}

export class Driver {
  readonly kernel: ModelKernel;
  readonly log = new DecisionRecorder();
  readonly scheduler: Policy;
  /** Called after each tick. */
  onStep: () => void = () => {};
  /** How late the next tick comes. */
  lateness: () => Duration = () => noTime;
  readonly #groups = new Map<InvocationKey, TaskGroup>();
  #keys = 0;
  #due: Instant | undefined;

  constructor(
    parameters: Partial<SfsParameters> = {},
    model: Partial<ModelOptions> = {},
    policyDefault: PolicyName = 'sfs',
  ) {
    const whole = { ...paperParameters, ...parameters };
    this.kernel = new ModelKernel({ cores: whole.workers, ...model });
    const ports = { clock: this.kernel.clock, kernel: this.kernel, log: this.log };
    this.scheduler = createScheduler(policyDefault, ports, whole);
  }

  get now(): Instant {
    return this.kernel.clock.now();
  }

  /** Starts a process, submits it and ticks. */
  start(program: ModelProgram, options: SubmitOptions = {}): InvocationKey {
    return this.enter(this.kernel.spawn(program), options).key;
  }

  /** Submits a group and ticks. */
  enter(group: TaskGroup, options: SubmitOptions = {}): Entered {
    this.#keys += 1;
    const key = invocationKey(options.key ?? this.#keys);
    const outcome = this.scheduler[options.entry ?? 'submit']({
      key,
      functionName: options.functionName ?? 'f',
      group,
      arrivedAt: options.arrivedAt ?? this.now,
      ...(options.policy === undefined ? {} : { policy: options.policy }),
      ...(options.sliceMax === undefined ? {} : { sliceMax: options.sliceMax }),
      ...(options.weight === undefined ? {} : { weight: options.weight }),
      ...(options.expected === undefined ? {} : { expected: options.expected }),
    });
    if (outcome === 'ok') this.#groups.set(key, group);
    this.tick();
    return { key, outcome };
  }

  /** The group last submitted under this key. */
  group(key: InvocationKey): TaskGroup {
    const group = this.#groups.get(key);
    assert(group !== undefined, `${key} was submitted`);
    return group;
  }

  tick(): void {
    const due = this.scheduler.tick();
    assert(due === undefined || due > this.now, 'a tick leaves nothing that is due');
    this.#due = due === undefined ? undefined : instant(due + this.lateness());
    this.onStep();
  }

  /** Lets time pass up to `target`, doing all that is due on the way. */
  runUntil(target: Instant): void {
    while (this.now < target) {
      const due = this.#due;
      this.kernel.advanceTo(due === undefined || due > target ? target : due);
      const exits = this.kernel.takeExits();
      for (const key of exits) this.scheduler.end(key, 'exited');
      if (exits.length > 0 || (due !== undefined && this.now >= due)) this.tick();
    }
  }

  runFor(ms: number): void {
    this.runUntil(instant(this.now + ms * 1000));
  }
}

/** One thread that needs this much CPU time, in milliseconds. */
export function burn(ms: number): ModelProgram {
  return { tasks: [{ demand: ms * 1000 }] };
}

/** One thread: CPU time, a sleep, CPU time; in milliseconds. */
export function burnSleepBurn(first: number, sleep: number, second: number): ModelProgram {
  return {
    tasks: [{ demand: (first + second) * 1000, sleeps: [{ atCpu: first * 1000, length: sleep * 1000 }] }],
  };
}
