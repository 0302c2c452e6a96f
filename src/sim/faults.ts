/**
 * What goes wrong in a simulated host, drawn from one stream of random numbers, so that a seed repeats it exactly:
 *
 *   exits     a task ends in the middle of a call about it: promote, pause, demote and observe answer 'gone'
 *   denials   a promotion is refused (EPERM)
 *   storms    all sleeping tasks wake at once
 *   lateness  the scheduling plane is called later than it asked to be: slice ends, polls and the budget's limits come late
 */
import { type Duration, duration, noTime } from '../contracts/time.js';

export interface FaultRule {
  /** Share of the calls about a task in the middle of which it ends. */
  readonly exitShare: number;
  readonly denialShare: number;
  /** Share of the plane's turns before which all sleepers wake. */
  readonly stormShare: number;
  /** Share of the plane's timers that come late, by a uniform time up to `latenessMax`. */
  readonly lateShare: number;
  readonly latenessMax: Duration;
}

export const noFaults: FaultRule = {
  exitShare: 0,
  denialShare: 0,
  stormShare: 0,
  lateShare: 0,
  latenessMax: noTime,
};

/** Uniform in [0, 1). */
export type Draw = () => number;

export class Faults {
  readonly rule: FaultRule;
  readonly #draw: Draw;

  constructor(rule: FaultRule, draw: Draw) {
    this.rule = rule;
    this.#draw = draw;
  }

  exits(): boolean {
    return this.#happens(this.rule.exitShare);
  }

  denies(): boolean {
    return this.#happens(this.rule.denialShare);
  }

  storms(): boolean {
    return this.#happens(this.rule.stormShare);
  }

  lateness(): Duration {
    if (!this.#happens(this.rule.lateShare)) return noTime;
    return duration(this.#draw() * this.rule.latenessMax);
  }

  /** A fault that is off draws nothing: the others then fall as they did without it. */
  #happens(share: number): boolean {
    return share > 0 && this.#draw() < share;
  }
}
