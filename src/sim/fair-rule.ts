/** Which model of the fair scheduler a machine has. */
import type { Duration } from '../contracts/time.js';
import { EevdfFair } from './eevdf-fair.js';
import { FluidFair } from './fluid-fair.js';
import type { LowerClass } from './task-class.js';

export type FairRule =
  | { readonly kind: 'fluid' }
  | {
      readonly kind: 'eevdf';
      /** What a task asks for at a time; it is preempted at its end only. */
      readonly slice: Duration;
      /** Of a core's time, whenever it takes up another task. */
      readonly switchCost: Duration;
      /** Between two looks for an uneven spread over the cores. */
      readonly balanceInterval: Duration;
    };

export function fairClassOf(rule: FairRule, cores: number): LowerClass {
  return rule.kind === 'fluid' ? new FluidFair(cores) : new EevdfFair(rule, cores);
}
