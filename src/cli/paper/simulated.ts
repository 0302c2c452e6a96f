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
  loadBursty,
  loadsBlocking,
  loadsPlain,
  loadsSwitches,
  type PaperSize,
  seed,
  sigma,
  sleepShare,
  slicesFixedMs,
} from './size.js';

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
  for (const load of loadsBlocking)
    blocking.set(load, await pairOf({ ...base, load, sleepShare }, options));
  const switches = new Map<number, readonly number[]>();
  for (const load of loadsSwitches) {
    const flags = { ...base, load, sleepShare, count: size.requestsSliceExact, fair: 'eevdf' as const };
    switches.set(load, await switchRatiosOf(flags, options));
  }
  return {
    cores,
    plain,
    blocking,
    fixed: await fixedSlices(base, options),
    bursty: await burstyPair(base, options),
    switches,
    daemon: new Map(),
  };
}

async function pairOf(flags: SimulateFlags, options: SimulatedOptions): Promise<Pair> {
  const workload = await workloadOf(flags);
  return {
    cfs: observe(workload, flags, { policy: 'cfs', options, label: '' }),
    sfs: observe(workload, flags, { policy: 'sfs', options, label: '' }),
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

async function burstyPair(base: SimulateFlags, options: SimulatedOptions): Promise<Evidence['bursty']> {
  const flags: SimulateFlags = { ...base, gaps: 'bursty', load: loadBursty };
  const workload = await workloadOf(flags);
  return {
    bypassOn: observe(workload, flags, { policy: 'sfs', options, label: ', bypass on' }),
    bypassOff: observe(workload, { ...flags, bypass: false }, { policy: 'sfs', options, label: ', bypass off' }),
  };
}

async function switchRatiosOf(flags: SimulateFlags, options: SimulatedOptions): Promise<readonly number[]> {
  const workload = await workloadOf(flags);
  const label = ', slice by slice';
  const cfs = run(workload, flags, { policy: 'cfs', options, label });
  const sfs = run(workload, flags, { policy: 'sfs', options, label });
  return workload.requests.map((_request, index) => ((cfs.switches[index] ?? 0) + 1) / ((sfs.switches[index] ?? 0) + 1));
}

interface RunOf {
  readonly policy: 'cfs' | 'sfs';
  readonly options: SimulatedOptions;
  readonly label: string;
  readonly log?: DecisionLog;
}

function run({ requests, header }: Workload, flags: SimulateFlags, { policy, options, label, log }: RunOf): FleetRun {
  const blocking = flags.sleepShare > 0 ? ', blocking' : '';
  options.step(
    `simulating ${options.cores} cores, load ${header.loadTarget}, ${header.gaps} gaps${blocking}, ${policy}${label}: ${requests.length} requests`,
  );
  const host = fleetOptions(flags, { seed: flags.seed, liveMax: requests.length });
  return simulate(requests, { ...host, policy, ...(log === undefined ? {} : { log }) });
}

function observe(workload: Workload, flags: SimulateFlags, of: RunOf): Observed {
  const factor = flags.bypass ? overloadFactor : Number.POSITIVE_INFINITY;
  const series = new SeriesBuilder(of.policy, { start: 0 as Instant, overloadFactor: factor });
  const done = run(workload, flags, { ...of, log: logInto(series) });
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
