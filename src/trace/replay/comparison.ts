/**
 * summary.json: every policy of one comparison side by side, over the requests that completed under all of them (paired by id), with
 * what makes the figures doubtful named under `warnings`.
 *
 * Schema `sfsd-replay-summary`, version 2: 1 had no policies but CFS and SFS. Times in milliseconds, shares from 0 to 1, null where a figure
 * cannot be had. A field may be added within a version; one that changes its meaning or goes raises it.
 */
import { assert } from '../../contracts/errors.js';
import { type ReplayPolicy, replayPolicies } from '../../contracts/replay.js';
import { toMs } from '../../contracts/time.js';
import type { ValidationReport } from '../formats/report.js';
import type { WorkloadHeader } from '../workload/workload.js';
import {
  achievedLoad,
  type CountSummary,
  countSummary,
  cpuOverDemand,
  type DaemonShares,
  daemonShares,
  excessRemoved,
  type Groups,
  groupsOf,
  idealSamples,
  type Part,
  partOf,
  type RteSummary,
  rteSummary,
  type Sample,
  type SchedulingSummary,
  type SwitchSummary,
  samplesOf,
  schedulingSummary,
  slowdownOf,
  switchesOf,
  switchSummary,
  turnaroundOf,
} from './metrics.js';
import type { RequestRecord } from './record.js';
import type { ReplayRun, RunSettings } from './replay.js';
import { srtfSamples } from './srtf.js';
import {
  type Distribution,
  distributionOf,
  quantile,
  type RatioInterval,
  ratioOfMeans,
  shareOf,
} from './statistics.js';
import { warningsOf } from './warnings.js';

export const summaryFormat = 'sfsd-replay-summary';
export const summaryVersion = 2;

/** Computed from the demands that were measured; the others ran. */
export type ComputedPolicy = 'ideal' | 'srtf';
export type ReportedPolicy = ComputedPolicy | ReplayPolicy;
export const reportedPolicies: readonly ReportedPolicy[] = ['ideal', 'srtf', ...replayPolicies];

/** Figures of any policy, the computed one too. */
export interface TimesSummary {
  readonly turnaroundMs: Groups;
  readonly slowdown: Groups;
  readonly rte: RteSummary;
}

/** Figures that only a real run has. Over all of its requests, paired or not. */
export interface RunSummary extends TimesSummary {
  readonly counts: CountSummary;
  readonly switches: SwitchSummary | null;
  readonly scheduling: SchedulingSummary;
  readonly lagMs: Distribution | null;
  readonly loadAchieved: number | null;
  readonly cpuOverDemand: number | null;
  readonly daemonCpu: DaemonShares | null;
  /** CPU time of the load generator as a share of the host. */
  readonly generatorCpu: number | null;
  readonly elapsedMs: number;
  readonly overloadFactor: number | null;
  /** What its daemon was configured with, beside the defaults; null: a daemon that ran already. */
  readonly settings: RunSettings | null;
}

export interface Comparison {
  /** (CFS - SFS) / (CFS - IDEAL) of mean turnarounds. */
  readonly excessRemoved: Readonly<Record<Part, number | null>>;
  /** SFS mean / IDEAL mean. */
  readonly sfsOverIdeal: Readonly<Record<Part, RatioInterval | null>>;
  /** SFS mean / CFS mean, 95% interval over paired ids. */
  readonly sfsOverCfs: Readonly<Record<Part, RatioInterval | null>>;
  /** (CFS + 1) / (SFS + 1) context switches of each id. */
  readonly switchesNormalised: {
    readonly p10: number;
    readonly median: number;
    readonly p90: number;
    /** Share of ids that CFS switched more often. */
    readonly aboveOne: number;
    readonly atLeastTen: number;
  } | null;
}

export interface HostFacts {
  readonly kernel: string;
  readonly cpuModel: string;
  /** Online, not those of the workload. */
  readonly cores: number;
  readonly memoryBytes: number;
  readonly node: string;
  readonly sfsd: string;
  /** SCHED_RR's; null: not recorded. */
  readonly roundRobinQuantumMs: number | null;
}

export interface SummaryContext {
  readonly host: HostFacts;
  /** What to type to run this comparison again. */
  readonly command: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** The workload's header, with units in its names. */
export interface WorkloadFacts extends Omit<WorkloadHeader, 'demandMean' | 'shortBelow' | 'validation'> {
  readonly demandMeanMs: number;
  /** Requests with an ideal turnaround below are short, from it on long. */
  readonly shortBelowMs: number;
  /** null: not compiled from a trace. */
  readonly validation: ValidationReport | null;
}

export interface Summary extends SummaryContext {
  readonly format: typeof summaryFormat;
  readonly version: typeof summaryVersion;
  readonly workload: WorkloadFacts;
  readonly spanMs: number;
  /** Requests that completed under every policy; all turnarounds and ratios are over these. */
  readonly paired: number;
  readonly ideal: TimesSummary;
  /** The clairvoyant's, see srtf.ts; null: of a version that had none. */
  readonly srtf: TimesSummary | null;
  readonly fifo: RunSummary | null;
  readonly rr: RunSummary | null;
  readonly cfs: RunSummary | null;
  readonly sfs: RunSummary | null;
  readonly gittins: RunSummary | null;
  /** null unless both policies ran. */
  readonly comparison: Comparison | null;
  readonly warnings: readonly string[];
}

/** @param runs one for each policy, at least one, all of the same workload. */
export function compare(runs: readonly ReplayRun[], context: SummaryContext): Summary {
  const [first] = runs;
  assert(first !== undefined, 'a comparison has at least one run');
  for (const policy of replayPolicies) {
    assert(runs.filter((run) => run.policy === policy).length <= 1, `at most one run of ${policy}`);
  }
  const shortBelowMs = toMs(first.workload.shortBelow);
  const paired = pairedIds(runs);
  const samples = new Map(
    runs.map((run) => [run.policy, samplesOf(run.records).filter((sample) => paired.has(sample.id))]),
  );
  const ideal = idealSamples(samples.get(first.policy) ?? []);
  const summaryOf = (policy: ReplayPolicy) => {
    const run = runs.find((candidate) => candidate.policy === policy);
    return run === undefined ? null : runSummary(run, samples.get(policy) ?? [], shortBelowMs);
  };
  const arrivals = new Map(first.records.map(({ id, arrivalMs }) => [id, arrivalMs]));
  const srtf = srtfSamples(ideal, { arrivals, cores: first.workload.cores });
  const [fifo, rr, cfs] = [summaryOf('fifo'), summaryOf('rr'), summaryOf('cfs')];
  const [sfs, gittins] = [summaryOf('sfs'), summaryOf('gittins')];
  return {
    format: summaryFormat,
    version: summaryVersion,
    ...context,
    workload: factsOf(first.workload),
    spanMs: first.spanMs,
    paired: paired.size,
    ideal: timesSummary(ideal, shortBelowMs),
    srtf: timesSummary(srtf, shortBelowMs),
    fifo,
    rr,
    cfs,
    sfs,
    gittins,
    comparison: cfs === null || sfs === null ? null : comparisonOf({ runs, samples, ideal, shortBelowMs }),
    warnings: warningsOf({
      runs: { FIFO: fifo, RR: rr, CFS: cfs, SFS: sfs, Gittins: gittins },
      workload: first.workload,
      paired: paired.size,
    }),
  };
}

function factsOf({ demandMean, shortBelow, validation, ...rest }: WorkloadHeader): WorkloadFacts {
  return {
    ...rest,
    demandMeanMs: toMs(demandMean),
    shortBelowMs: toMs(shortBelow),
    validation: validation ?? null,
  };
}

function pairedIds(runs: readonly ReplayRun[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const run of runs) {
    for (const { id } of samplesOf(run.records)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return new Set([...counts].filter(([, count]) => count === runs.length).map(([id]) => id));
}

function timesSummary(samples: readonly Sample[], shortBelowMs: number): TimesSummary {
  return {
    turnaroundMs: groupsOf(samples, shortBelowMs, turnaroundOf),
    slowdown: groupsOf(samples, shortBelowMs, slowdownOf),
    rte: rteSummary(samples),
  };
}

function runSummary(run: ReplayRun, samples: readonly Sample[], shortBelowMs: number): RunSummary {
  const { daemonCpu, generatorCpuMs } = run;
  const hostMs = run.elapsedMs * run.workload.cores;
  return {
    ...timesSummary(samples, shortBelowMs),
    counts: countSummary(run),
    switches: switchSummary(run.records),
    scheduling: schedulingSummary(run.records),
    lagMs: distributionOf(run.records.map((record) => record.lagMs)),
    loadAchieved: achievedLoad(run),
    cpuOverDemand: cpuOverDemand(run.records),
    daemonCpu: daemonCpu === undefined ? null : daemonShares(daemonCpu.before, daemonCpu.after),
    generatorCpu: generatorCpuMs === undefined || hostMs <= 0 ? null : generatorCpuMs / hostMs,
    elapsedMs: run.elapsedMs,
    overloadFactor: Number.isFinite(run.overloadFactor) ? run.overloadFactor : null,
    settings: run.settings ?? null,
  };
}

interface Sides {
  readonly runs: readonly ReplayRun[];
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  readonly ideal: readonly Sample[];
  readonly shortBelowMs: number;
}

function comparisonOf({ runs, samples, ideal, shortBelowMs }: Sides): Comparison {
  const sfs = samples.get('sfs') ?? [];
  const cfs = samples.get('cfs') ?? [];
  const byPart = <Value>(value: (part: Part) => Value): Record<Part, Value> => ({
    all: value('all'),
    short: value('short'),
    long: value('long'),
  });
  const against = (reference: readonly Sample[], part: Part) =>
    ratioOfMeans(pairs(partOf(sfs, part, shortBelowMs), reference), { seed: bootstrapSeed });
  const meanIn = (of: readonly Sample[], part: Part) =>
    groupsOf(of, shortBelowMs, turnaroundOf)[part]?.mean ?? null;
  return {
    excessRemoved: byPart((part) => {
      const means = { ideal: meanIn(ideal, part), cfs: meanIn(cfs, part), sfs: meanIn(sfs, part) };
      if (means.ideal === null || means.cfs === null || means.sfs === null) return null;
      return excessRemoved({ ideal: means.ideal, cfs: means.cfs, sfs: means.sfs });
    }),
    sfsOverIdeal: byPart((part) => against(ideal, part)),
    sfsOverCfs: byPart((part) => against(cfs, part)),
    switchesNormalised: normalisedSwitches(recordsOf(runs, 'cfs'), recordsOf(runs, 'sfs')),
  };
}

/** Fixed: the interval of one run folder must come out the same each time it is computed. */
const bootstrapSeed = 1;

function pairs(numerators: readonly Sample[], denominators: readonly Sample[]) {
  const byId = new Map(denominators.map((sample) => [sample.id, sample.turnaroundMs]));
  return numerators.map((sample) => ({
    numerator: sample.turnaroundMs,
    denominator: byId.get(sample.id) ?? 0,
  }));
}

function recordsOf(runs: readonly ReplayRun[], policy: 'cfs' | 'sfs'): readonly RequestRecord[] {
  return runs.find((run) => run.policy === policy)?.records ?? [];
}

/** Per id, (CFS + 1) / (SFS + 1), so that an invocation without any switch counts too. */
export function switchRatios(
  cfs: readonly RequestRecord[],
  sfs: readonly RequestRecord[],
): readonly number[] {
  const byId = new Map(cfs.map((record) => [record.id, switchesOf(record)]));
  return sfs.flatMap((record) => {
    const under = { cfs: byId.get(record.id) ?? null, sfs: switchesOf(record) };
    return under.cfs === null || under.sfs === null ? [] : [(under.cfs + 1) / (under.sfs + 1)];
  });
}

function normalisedSwitches(cfs: readonly RequestRecord[], sfs: readonly RequestRecord[]) {
  const ratios = switchRatios(cfs, sfs);
  const at = (q: number) => quantile(ratios, q) ?? 0;
  if (ratios.length === 0) return null;
  return {
    p10: at(0.1),
    median: at(0.5),
    p90: at(0.9),
    aboveOne: shareOf(ratios, (ratio) => ratio > 1) ?? 0,
    atLeastTen: shareOf(ratios, (ratio) => ratio >= 10) ?? 0,
  };
}
