/**
 * Independent hosts behind one front: requests in the order of arrival, each to the host that the front chooses, until all have ended.
 *
 *   random         any host, each as likely as the next
 *   round-robin    one after the other
 *   least-loaded   the host with the fewest live requests; ties take turns
 */
import { assert } from '../contracts/errors.js';
import type { SchedulerCounters } from '../contracts/scheduler.js';
import type { Draw } from './faults.js';
import { Host, type HostOptions } from './host.js';
import type { SimulatedRequest, Task } from './task.js';

export type FrontName = 'random' | 'round-robin' | 'least-loaded';
export const frontNames: readonly FrontName[] = ['random', 'round-robin', 'least-loaded'];

export interface FleetOptions extends HostOptions {
  readonly hosts: number;
  readonly front: FrontName;
  /** For the random front; another stream than the faults'. */
  readonly drawHost: Draw;
  /** Called after every `progressEvery` arrivals and once at the end, with how many have arrived. */
  readonly onProgress?: (arrived: number) => void;
}

export interface FleetRun {
  /** By request: when it ended, microseconds from the run's start. */
  readonly endedAt: Float64Array;
  /** By request: CPU time that it was given. */
  readonly cpuTime: Float64Array;
  /**
   * By request: times that it left a core, its end included. Only the slice-exact fair class has turns; under the fluid one nothing
   * is switched.
   */
  readonly switches: Float64Array;
  /** By request: 1 when a fault ended it. */
  readonly killed: Uint8Array;
  /** Of each host; empty for policies without counters. */
  readonly counters: readonly Readonly<SchedulerCounters>[];
}

const progressEvery = 4096;

/** @param requests in the order of arrival. */
export function simulate(requests: readonly SimulatedRequest[], options: FleetOptions): FleetRun {
  const run = {
    endedAt: new Float64Array(requests.length).fill(Number.NaN),
    cpuTime: new Float64Array(requests.length),
    switches: new Float64Array(requests.length),
    killed: new Uint8Array(requests.length),
  };
  const onEnd = (task: Task): void => {
    assert(Number.isNaN(run.endedAt[task.index]), 'a request ends once');
    run.endedAt[task.index] = task.endedAt;
    run.cpuTime[task.index] = task.cpu;
    run.switches[task.index] = task.turns;
    run.killed[task.index] = task.killed ? 1 : 0;
  };
  const hosts = Array.from({ length: options.hosts }, () => new Host(options, onEnd));
  const choose = chooserOf(options, hosts);
  requests.forEach((request, index) => {
    const host = choose(request);
    host.advanceTo(request.arrival);
    host.start(index, request);
    if (index % progressEvery === progressEvery - 1) options.onProgress?.(index + 1);
  });
  for (const host of hosts) host.drain();
  options.onProgress?.(requests.length);
  return {
    ...run,
    counters: hosts.flatMap(({ counters }) => (counters === undefined ? [] : [counters])),
  };
}

function chooserOf(
  { front, drawHost }: FleetOptions,
  hosts: readonly Host[],
): (request: SimulatedRequest) => Host {
  const at = (number: number): Host => {
    const host = hosts[number];
    assert(host !== undefined, 'the front chooses one of its hosts');
    return host;
  };
  let turn = -1;
  const next = (): Host => {
    turn = (turn + 1) % hosts.length;
    return at(turn);
  };
  if (front === 'round-robin' || hosts.length === 1) return next;
  if (front === 'random') return () => at(Math.floor(drawHost() * hosts.length));
  return (request) => {
    // What a front sees of its hosts is how many requests have not been answered.
    for (const host of hosts) host.advanceTo(request.arrival);
    let best = next();
    for (let step = 1; step < hosts.length; step += 1) {
      const host = at((turn + step) % hosts.length);
      if (host.live < best.live) best = host;
    }
    return best;
  };
}
