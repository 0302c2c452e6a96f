/**
 * The policies by name: the seam through which another policy enters. A policy is a `Scheduler` that can be told how many CPUs
 * it has, built from the same ports; daemon/ and the simulators know no more of it.
 */
import type { PolicyName } from '../contracts/invocation.js';
import type { Scheduler, SfsParameters } from '../contracts/scheduler.js';
import { GittinsScheduler } from './gittins/gittins.js';
import type { PolicyPorts } from './lifecycle.js';
import { SfsScheduler } from './sfs.js';

export interface Policy extends Scheduler {
  /** A hotplug or cpuset change: at least 1. `tick` soon afterwards. */
  setWorkers(count: number): void;
  /** Somebody else has demoted everything: what is held goes back to the head of the queue. `tick` soon afterwards. */
  takeBack(): void;
}

type BuildPolicy = (ports: PolicyPorts, parameters: SfsParameters) => Policy;

/**
 * Each invocation may name its own policy, so `cfs` is the same object with another default: invocations that name none are
 * recorded and left to the fair scheduler, those that ask for `sfs` get it.
 */
const builders: Readonly<Record<PolicyName, BuildPolicy>> = {
  sfs: (ports, parameters) => new SfsScheduler(ports, parameters, 'sfs'),
  cfs: (ports, parameters) => new SfsScheduler(ports, parameters, 'cfs'),
  gittins: (ports, parameters) => new GittinsScheduler(ports, parameters),
};

export function createScheduler(name: PolicyName, ports: PolicyPorts, parameters: SfsParameters): Policy {
  return builders[name](ports, parameters);
}
