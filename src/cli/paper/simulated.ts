/**
 * The paper's experiments on a simulated host: each is one workload, run under CFS and under SFS, or under SFS with one part changed.
 * A run is simulated once and serves every figure that shows it.
 */
import type { InvocationKey } from '../../contracts/invocation.js';
import type { Decision, DecisionLog } from '../../contracts/scheduler.js';
import { type Instant, toMs } from '../../contracts/time.js';
import { type FleetRun, simulate } from '../../sim/fleet.js';
import { SeriesBuilder } from '../../trace/replay/series.js';
import type { Workload } from '../../trace/workload/workload.js';
import { compileWorkload } from '../replay/workload-source.js';
import { simulatedSamples } from '../simulate/figures.js';
import { fleetOptions, type SimulateFlags } from '../simulate/plan.js';
import { type Evidence, type Observed, observedOf, type Pair } from './evidence.js';
import {
  loadSpiky,
  loadsBlocking,
  loadsPlain,
  loadsSliceExact,
  loadsSwitches,
  type PaperSize,
  seed,
  sigma,
  sleepShare,
  slicesFixedMs,
} from './size.js';
import { withSpikes } from './spikes.js';

export interface SimulatedOptions {
  readonly cores: number;
  readonly size: PaperSize;
  /** Told before each run. */
  readonly step: (text: string) => void;
}

/** The paper's O. */
const overloadFactor = 3;

/** As `sfsd simulate --durations table --sigma 0.5` has them. */
function baseFlags(cores: number, count: number): SimulateFlags {
  return {
    durations: 'table',
    gaps: 'poisson',
    load: 1,
    count,
    sigma,
    seed,
    cores,
    mix: 'burn',
    sleepShare: 0,
    policy: ['cfs', 'sfs'],
    hosts: 1,
    front: 'random',
    fair: 'fluid',
    fairSlice: 2.8,
    switchCost: 5,
    quantum: 100,
    ioAware: true,
    bypass: true,
    launchCost: 0,
    pickupDelay: 0,
    lateness: 0,
    lag: 0,
    seeds: 1,
  };
}

export async function simulateHost(options: SimulatedOptions): Promise<Evidence> {
  const { cores, size } = options;
  const base = baseFlags(cores, size.requests);
  const plain = new Map<number, Pair>();
  for (const load of loadsPlain) plain.set(load, await pairOf({ ...base, load }, options));
  const blocking = new Map<number, Pair>();
  for (const load of loadsBlocking) blocking.set(load, await pairOf({ ...base, load, sleepShare }, options));
  const sliceExact = new Map<number, Pair>();
  for (const load of loadsSliceExact) {
    const flags = { ...base, load, count: size.requestsSliceExact, fair: 'eevdf' as const };
    sliceExact.set(load, await pairOf(flags, options));
  }
  const switches = new Map<number, readonly number[]>();
  for (const load of loadsSwitches) {
    const flags = { ...base, load, sleepShare, count: size.requestsSliceExact, fair: 'eevdf' as const };
    switches.set(load, await switchRatiosOf(flags, options));
  }
  return {
    cores,
    plain,
    blocking,
    sliceExact,
    fixed: await fixedSlices(base, options),
    spiky: await spikyPair(base, options),
    switches,
    daemon: new Map(),
  };
}

async function pairOf(flags: SimulateFlags, options: SimulatedOptions): Promise<Pair> {
  const workload = await workloadOf(flags);
  const label = labelOf(flags);
  return {
    cfs: observe(workload, flags, { policy: 'cfs', options, label }),
    sfs: observe(workload, flags, { policy: 'sfs', options, label, timed: flags.load === 1 }),
  };
}

/** Durations have their exact shares: figures of two loads then differ by the load alone. */
function workloadOf(flags: SimulateFlags): Promise<Workload> {
  return compileWorkload(flags, { stratified: true });
}

async function fixedSlices(
  base: SimulateFlags,
  options: SimulatedOptions,
): Promise<ReadonlyMap<number, Observed>> {
  const workload = await workloadOf(base);
  return new Map(
    slicesFixedMs.map((slice) => [
      slice,
      observe(workload, { ...base, slice }, { policy: 'sfs', options, label: `, S fixed at ${slice} ms` }),
    ]),
  );
}

async function spikyPair(base: SimulateFlags, options: SimulatedOptions): Promise<Evidence['spiky']> {
  const flags: SimulateFlags = { ...base, load: loadSpiky };
  const workload = withSpikes(await workloadOf(flags));
  return {
    bypassOn: observe(workload, flags, { policy: 'sfs', options, label: ', spikes, bypass on', timed: true }),
    bypassOff: observe(
      workload,
      { ...flags, bypass: false },
      { policy: 'sfs', options, label: ', spikes, bypass off', timed: true },
    ),
  };
}

async function switchRatiosOf(flags: SimulateFlags, options: SimulatedOptions): Promise<readonly number[]> {
  const workload = await workloadOf(flags);
  const label = labelOf(flags);
  const cfs = run(workload, flags, { policy: 'cfs', options, label });
  const sfs = run(workload, flags, { policy: 'sfs', options, label });
  return workload.requests.map(
    (_request, index) => ((cfs.switches[index] ?? 0) + 1) / ((sfs.switches[index] ?? 0) + 1),
  );
}

function labelOf({ fair, sleepShare: blocking }: SimulateFlags): string {
  return `${blocking > 0 ? ', blocking' : ''}${fair === 'eevdf' ? ', slice by slice' : ''}`;
}

interface RunOf {
  readonly policy: 'cfs' | 'sfs';
  readonly options: SimulatedOptions;
  readonly label: string;
  /** Its S and pick-ups are shown over time; a row for each is kept. */
  readonly timed?: boolean;
  readonly log?: DecisionLog;
}

function run(
  { requests, header }: Workload,
  flags: SimulateFlags,
  { policy, options, label, log }: RunOf,
): FleetRun {
  options.step(
    `simulating ${options.cores} cores, load ${header.loadTarget}, ${policy}${label}: ${requests.length} requests`,
  );
  const host = fleetOptions(flags, { seed: flags.seed, liveMax: requests.length });
  return simulate(requests, { ...host, policy, ...(log === undefined ? {} : { log }) });
}

function observe(workload: Workload, flags: SimulateFlags, of: RunOf): Observed {
  const factor = flags.bypass ? overloadFactor : Number.POSITIVE_INFINITY;
  const series = new SeriesBuilder(of.policy, { start: 0 as Instant, overloadFactor: factor });
  const done = run(workload, flags, of.timed === true ? { ...of, log: logInto(series) } : of);
  return observedOf(simulatedSamples(workload.requests, done), {
    shortBelowMs: toMs(workload.header.shortBelow),
    series: series.rows(),
    counters: done.counters[0] ?? null,
  });
}

/** Only what the series is made of is kept. */
function logInto(series: SeriesBuilder): DecisionLog {
  return {
    record: (kind, at, key: InvocationKey, worker, cpuTime, value, extra) => {
      if (kind !== 'sliced' && kind !== 'arrived' && kind !== 'promoted' && kind !== 'bypassed') return;
      const decision: Decision = { kind, at, key, worker, cpuTime, value, extra };
      series.add(String(key), [decision]);
    },
  };
}
