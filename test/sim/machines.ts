/** Small simulated machines and hosts for tests. Times in milliseconds here, as in the examples that the tests work out by hand. */

import type { SfsParameters } from '../../src/contracts/scheduler.js';
import { fromMs, instant, noTime } from '../../src/contracts/time.js';
import type { FairRule } from '../../src/sim/fair-rule.js';
import { noFaults } from '../../src/sim/faults.js';
import type { FleetOptions } from '../../src/sim/fleet.js';
import { Machine, type MachineClasses } from '../../src/sim/machine.js';
import { type SimulatedRequest, Task } from '../../src/sim/task.js';
import { RandomStream } from '../../src/trace/workload/random.js';

export const fluid: FairRule = { kind: 'fluid' };
export const eevdf: Extract<FairRule, { kind: 'eevdf' }> = {
  kind: 'eevdf',
  slice: fromMs(4),
  switchCost: noTime,
  balanceInterval: fromMs(4),
};

/** What the daemon has by default, for `workers` workers. */
export function parametersFor(workers: number, given: Partial<SfsParameters> = {}): SfsParameters {
  return {
    workers,
    window: 100,
    sliceInitial: fromMs(20),
    sliceMin: fromMs(2),
    sliceMax: fromMs(1000),
    overloadFactor: 3,
    pollInterval: fromMs(4),
    ioAware: true,
    budgetShare: 1 - 7 / 90,
    budgetWindow: fromMs(90),
    gapMax: fromMs(10_000),
    arrivalAfter: fromMs(1),
    liveMax: 100_000,
    blockedPerPollMax: 256,
    ...given,
  };
}

export function fleetFor(
  cores: number,
  given: Partial<FleetOptions> & Pick<FleetOptions, 'policy'>,
): FleetOptions {
  const random = new RandomStream(1, 'test');
  const draw = (): number => random.uniform();
  return {
    cores,
    hosts: 1,
    front: 'random',
    fair: fluid,
    quantum: fromMs(100),
    parameters: parametersFor(cores),
    pickupDelay: noTime,
    tickLateness: noTime,
    observationLag: noTime,
    faults: noFaults,
    checked: false,
    draw,
    drawHost: draw,
    ...given,
  };
}

export function request(
  arrivalMs: number,
  demandMs: number,
  ...sleeps: readonly { readonly atMs: number; readonly lengthMs: number }[]
): SimulatedRequest {
  return {
    functionName: 'f',
    arrival: fromMs(arrivalMs),
    demand: fromMs(demandMs),
    sleeps: sleeps.map(({ atMs, lengthMs }) => ({ at: fromMs(atMs), length: fromMs(lengthMs) })),
  };
}

/** A machine whose tasks are placed by hand. */
export class Bench {
  readonly machine: Machine;
  #tasks = 0;

  constructor(classes: MachineClasses) {
    this.machine = new Machine(classes);
  }

  start(demandMs: number, standing: Task['standing'] = 'fair'): Task {
    const task = new Task(this.#tasks, request(0, demandMs), instant(this.machine.time));
    this.#tasks += 1;
    this.machine.start(task);
    this.machine.place(task, standing);
    return task;
  }

  runTo(ms: number): void {
    const { machine } = this;
    for (let next = machine.nextChange(); next <= ms * 1000; next = machine.nextChange())
      machine.advanceTo(next);
    machine.advanceTo(ms * 1000);
  }

  cpuMs(task: Task): number {
    this.machine.settle(task);
    return task.cpu / 1000;
  }
}
