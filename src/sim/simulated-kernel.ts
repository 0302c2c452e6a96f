/**
 * The kernel's port over the simulated machine. What the policy sees of CPU time may lag, as the kernel's accounts do: they move at
 * scheduler ticks while a task runs real-time, and are exact once its policy has changed or it has stopped.
 */
import { assert } from '../contracts/errors.js';
import type { InvocationKey } from '../contracts/invocation.js';
import type { Kernel, Observation } from '../contracts/kernel.js';
import type { TaskGroup } from '../contracts/task-group.js';
import { type Duration, duration, noTime } from '../contracts/time.js';
import type { Faults } from './faults.js';
import type { Machine } from './machine.js';
import { type Task, taskOf } from './task.js';
import { timeEpsilon } from './task-class.js';

export class SimulatedKernel implements Kernel {
  readonly observationLagMax: Duration;
  readonly #machine: Machine;
  readonly #faults: Faults;
  readonly #observation: Observation = { state: 'runnable', cpuTime: noTime, runnableMax: 1 };

  /** @param observationLag length of a scheduler tick; 0: readings are exact. */
  constructor(machine: Machine, faults: Faults, observationLag: Duration) {
    this.#machine = machine;
    this.#faults = faults;
    this.observationLagMax = observationLag;
  }

  attach(group: TaskGroup, _key: InvocationKey): 'ok' | 'gone' {
    return simulated(group).state === 'ended' ? 'gone' : 'ok';
  }

  promote(group: TaskGroup): 'ok' | 'gone' | 'denied' {
    const task = this.#called(group);
    if (task.state === 'ended') return 'gone';
    if (this.#faults.denies()) return 'denied';
    this.#machine.place(task, 'promoted');
    return 'ok';
  }

  pause(group: TaskGroup): 'ok' | 'gone' {
    const task = this.#called(group);
    if (task.state === 'ended') return 'gone';
    if (task.standing !== 'paused') this.#machine.place(task, 'paused');
    return 'ok';
  }

  demote(group: TaskGroup): 'ok' | 'gone' {
    const task = this.#called(group);
    if (task.state === 'ended') return 'gone';
    this.#machine.place(task, 'fair');
    return 'ok';
  }

  observe(group: TaskGroup): Readonly<Observation> {
    const task = this.#called(group);
    this.#machine.settle(task);
    const seen = this.#observation;
    seen.state = task.state === 'ended' ? 'gone' : task.state === 'asleep' ? 'blocked' : 'runnable';
    seen.cpuTime = duration(Math.floor(this.#visibleCpu(task) + timeEpsilon));
    return seen;
  }

  overhead(): Duration {
    return noTime;
  }

  release(group: TaskGroup): void {
    const task = simulated(group);
    if (task.state !== 'ended') this.#machine.place(task, 'fair');
  }

  /** A task that is called about may end just then. */
  #called(group: TaskGroup): Task {
    const task = simulated(group);
    if (task.state !== 'ended' && this.#faults.exits()) this.#machine.kill(task);
    return task;
  }

  /** A promoted task runs on a whole core, so since the last tick it has used as much as has passed, or it was promoted since. */
  #visibleCpu(task: Task): number {
    if (this.observationLagMax === 0 || task.state !== 'runnable' || task.standing !== 'promoted')
      return task.cpu;
    if (task.queued) return task.cpu;
    return Math.max(task.chargedFrom, task.cpu - (this.#machine.time % this.observationLagMax));
  }
}

function simulated(group: TaskGroup): Task {
  const task = taskOf(group);
  assert(task !== undefined, 'the policy names tasks of this machine');
  return task;
}
