/**
 * Which private daemon runs which policy. CFS and SFS share one: a request names its policy. Gittins has its own, whose scheduler it is. FIFO and RR are SFS with a slice that never
 * ends, each on a daemon of its own, so that launches, cgroups, budget and generator are the same under all of them.
 *
 *   fifo   c workers, no bypass: to completion, in the order of arrival
 *   rr     a worker for everybody, asleep or not, SCHED_RR: turns of the kernel's quantum (sched_rr_timeslice_ms)
 *
 * The FILTER budget holds for them as well, so that no policy can take a host from its owner.
 */
import type { ReplayPolicy } from '../../contracts/replay.js';

export interface DaemonGroup {
  /** In the order in which they run. */
  readonly policies: readonly ReplayPolicy[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The most that the configuration takes; no request of a replay is longer. */
const endlessSliceMs = 60_000;
/** Live invocations that RR serves at once; further ones wait. */
const roundRobinWorkers = 512;
/** Of that many: a look at each costs some microseconds. */
const roundRobinPollMs = 50;

const toCompletion = { 'scheduler.sliceFixedMs': endlessSliceMs, 'scheduler.overloadFactor': 0 };
const ownSettings: Readonly<Record<'fifo' | 'rr' | 'gittins', Readonly<Record<string, unknown>>>> = {
  gittins: { 'scheduler.policy': 'gittins' },
  // Whatever is ablated: a reference stays what it is.
  fifo: { ...toCompletion, 'scheduler.ioAware': true },
  rr: {
    ...toCompletion,
    'priorities.roundRobin': true,
    'scheduler.workers': roundRobinWorkers,
    'scheduler.pollMs': roundRobinPollMs,
    // Who sleeps keeps its place among them: between two such polls it would wake under the fair scheduler.
    'scheduler.ioAware': false,
  },
};

/** @param settings of all of them. */
export function daemonGroups(
  policies: readonly ReplayPolicy[],
  settings: Readonly<Record<string, unknown>>,
): readonly DaemonGroup[] {
  const shared = policies.filter((policy) => policy === 'cfs' || policy === 'sfs');
  const own = policies.flatMap((policy) =>
    policy === 'fifo' || policy === 'rr' || policy === 'gittins'
      ? [{ policies: [policy], settings: { ...settings, ...ownSettings[policy] } }]
      : [],
  );
  return shared.length === 0 ? own : [{ policies: shared, settings }, ...own];
}
