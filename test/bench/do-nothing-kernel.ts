/**
 * A kernel adapter that touches no process, so that what is measured is the way of a registration through the daemon.
 *
 * A registration's start time is no start time here, but the instant (us) at which its request was sent; so the time to the
 * decision is known where the decision is made, without asking the daemon and disturbing it. Every group is gone when it is
 * promoted, which is the shortest life that passes through the queue and a worker.
 *
 * When the thread ends, counts and percentiles are written to the file named in this module's URL (`?result=PATH`).
 */
import { writeFileSync } from 'node:fs';
import type { InvocationKey } from '../../src/contracts/invocation.js';
import type { Observation } from '../../src/contracts/kernel.js';
import type { TaskGroup } from '../../src/contracts/task-group.js';
import { type Clock, type Duration, noTime } from '../../src/contracts/time.js';
import type { KernelContext, PlaneKernel } from '../../src/daemon/plane/thread-main.js';
import { distributionOf } from '../../src/trace/replay/statistics.js';

/** Processes from this number on are counted and not timed: those that came while the daemon's code was still being compiled. */
export const warmUpPidMin = 2_000_000;
/** Decisions kept; further ones are only counted. */
const samplesMax = 1_000_000;

/** Times in microseconds from the request. */
export interface DoNothingResult {
  /** All, warm-ups too. */
  readonly attached: number;
  readonly promoted: number;
  /** To being taken in by the policy. */
  readonly arrivedP99: number;
  /** To its pick-up by a FILTER worker. */
  readonly pickedUpP50: number;
  readonly pickedUpP99: number;
  readonly pickedUpMax: number;
}

class DoNothingKernel implements PlaneKernel {
  readonly observationLagMax = noTime;
  readonly #clock: Clock;
  readonly #resultPath: string | null;
  readonly #observation: Observation = { state: 'runnable', cpuTime: noTime, runnableMax: 1 };
  readonly #arrived = new Float64Array(samplesMax);
  readonly #pickedUp = new Float64Array(samplesMax);
  #attached = 0;
  #promoted = 0;
  #arrivedTimed = 0;
  #pickedUpTimed = 0;

  constructor(clock: Clock, resultPath: string | null) {
    this.#clock = clock;
    this.#resultPath = resultPath;
  }

  attach(group: TaskGroup): 'ok' {
    this.#attached += 1;
    const sentAt = sentAtOf(group);
    if (sentAt === undefined) return 'ok';
    this.#arrived[this.#arrivedTimed % samplesMax] = this.#clock.now() - sentAt;
    this.#arrivedTimed += 1;
    return 'ok';
  }

  promote(group: TaskGroup): 'gone' {
    this.#promoted += 1;
    const sentAt = sentAtOf(group);
    if (sentAt === undefined) return 'gone';
    this.#pickedUp[this.#pickedUpTimed % samplesMax] = this.#clock.now() - sentAt;
    this.#pickedUpTimed += 1;
    return 'gone';
  }

  pause(): 'ok' {
    return 'ok';
  }

  demote(): 'ok' {
    return 'ok';
  }

  observe(): Readonly<Observation> {
    return this.#observation;
  }

  overhead(): Duration {
    return noTime;
  }

  release(): void {}

  takeExit(): InvocationKey | undefined {
    return undefined;
  }

  close(): void {
    if (this.#resultPath !== null) writeFileSync(this.#resultPath, JSON.stringify(this.#result()));
  }

  #result(): DoNothingResult {
    const arrived = distributionOf(samplesOf(this.#arrived, this.#arrivedTimed));
    const pickedUp = distributionOf(samplesOf(this.#pickedUp, this.#pickedUpTimed));
    return {
      attached: this.#attached,
      promoted: this.#promoted,
      arrivedP99: arrived?.p99 ?? 0,
      pickedUpP50: pickedUp?.median ?? 0,
      pickedUpP99: pickedUp?.p99 ?? 0,
      pickedUpMax: pickedUp?.max ?? 0,
    };
  }
}

function sentAtOf(group: TaskGroup): number | undefined {
  return group.kind === 'cgroup' || group.pid >= warmUpPidMin ? undefined : Number(group.startTime);
}

function samplesOf(all: Float64Array, count: number): readonly number[] {
  return Array.from(all.subarray(0, Math.min(count, samplesMax)));
}

export function createKernel({ clock }: KernelContext): PlaneKernel {
  return new DoNothingKernel(clock, new URL(import.meta.url).searchParams.get('result'));
}
