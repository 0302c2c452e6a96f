/**
 * What one policy did to a workload, as figures. Pure functions of the records.
 *
 *   turnaround   end - intended arrival
 *   IDEAL        turnaround alone on an idle host: demand + sleeps (computed, the paper's infinite resources)
 *   slowdown     turnaround / IDEAL of the same request
 *   RTE          CPU time needed alone / turnaround (paper section 4.1). Above 1: the calibration is wrong, counted and shown
 *   short, long  IDEAL below, or from, the workload's shortBelow
 *   load         CPU time used by what was answered / (cores x time over which the load was issued)
 *
 * Only requests that completed have a turnaround; the others are counted by their fate, never left out in silence.
 */

import { type Path, paths, type RequestRecord } from './record.js';
import type { DaemonCpu, ReplayRun } from './replay.js';
import { type Distribution, distributionOf, shareOf, total } from './statistics.js';

export interface Groups {
  readonly all: Distribution | null;
  readonly short: Distribution | null;
  readonly long: Distribution | null;
}

export interface RteSummary {
  readonly distribution: Distribution | null;
  /** Share of requests that hardly waited. */
  readonly atLeast095: number | null;
  /** Share of requests that waited four times as long as they ran, or longer. */
  readonly below02: number | null;
  /** Requests that finished faster than their demand: bad calibration. */
  readonly aboveOne: number;
}

export interface SwitchSummary {
  readonly voluntaryMean: number;
  readonly involuntaryMean: number;
  /** Voluntary + involuntary of each invocation. */
  readonly perInvocation: Distribution;
}

export interface CountSummary {
  readonly requested: number;
  readonly issued: number;
  readonly completed: number;
  readonly failed: number;
  readonly refusedByDaemon: number;
  readonly refusedByGenerator: number;
  readonly lost: number;
}

/** Shares of the whole host (all cores) over the run. */
export interface DaemonShares {
  readonly polling: number;
  readonly scheduling: number;
  readonly control: number;
  readonly spawner: number;
  readonly total: number;
}

export interface SchedulingSummary {
  /** Requests by path. */
  readonly paths: Readonly<Record<Path, number>>;
  readonly demotions: number;
  readonly blocks: number;
  readonly bypasses: number;
  /** At the first pick-up. */
  readonly queueDelayMs: Distribution | null;
  /** S at the first pick-up. */
  readonly sliceMs: Distribution | null;
  /** Factor by which the expected CPU time was off, of a policy that expects one; absent: of an edition that had none. */
  readonly predictionError?: Distribution | null;
}

export type Part = keyof Groups;

/** One finished request, for sums over any policy, computed ones too. */
export interface Sample {
  readonly id: string;
  readonly turnaroundMs: number;
  readonly idealMs: number;
  readonly demandMs: number;
}

/** Requests that completed, in the order of the records. */
export function samplesOf(records: readonly RequestRecord[]): readonly Sample[] {
  return records.flatMap(({ fate, id, turnaroundMs, idealMs, demandMs }) =>
    fate === 'completed' && turnaroundMs !== null ? [{ id, turnaroundMs, idealMs, demandMs }] : [],
  );
}

/** The same requests as if each were alone on the host. */
export function idealSamples(samples: readonly Sample[]): readonly Sample[] {
  return samples.map((sample) => ({ ...sample, turnaroundMs: sample.idealMs }));
}

export function partOf<Item extends { readonly idealMs: number }>(
  items: readonly Item[],
  part: Part,
  shortBelowMs: number,
): readonly Item[] {
  if (part === 'all') return items;
  return items.filter((item) => item.idealMs < shortBelowMs === (part === 'short'));
}

export function groupsOf(
  samples: readonly Sample[],
  shortBelowMs: number,
  value: (sample: Sample) => number,
): Groups {
  const of = (part: Part) => distributionOf(partOf(samples, part, shortBelowMs).map(value));
  return { all: of('all'), short: of('short'), long: of('long') };
}

export function turnaroundOf(sample: Sample): number {
  return sample.turnaroundMs;
}

export function slowdownOf(sample: Sample): number {
  return sample.turnaroundMs / sample.idealMs;
}

export function rteOf(sample: Sample): number {
  return sample.demandMs / sample.turnaroundMs;
}

const rteGood = 0.95;
const rteBad = 0.2;

export function rteSummary(samples: readonly Sample[]): RteSummary {
  const values = samples.map(rteOf);
  return {
    distribution: distributionOf(values),
    atLeast095: shareOf(values, (value) => value >= rteGood),
    below02: shareOf(values, (value) => value < rteBad),
    aboveOne: values.filter((value) => value > 1).length,
  };
}

/**
 * Share of what the fair scheduler costs over IDEAL that SFS takes away: (CFS - SFS) / (CFS - IDEAL), of means. 1: all of it;
 * 0: none; below 0: SFS made it worse. null when there is no excess to remove.
 */
export function excessRemoved(means: {
  readonly ideal: number;
  readonly cfs: number;
  readonly sfs: number;
}): number | null {
  const excess = means.cfs - means.ideal;
  return excess > 0 ? (means.cfs - means.sfs) / excess : null;
}

export function switchesOf(record: RequestRecord): number | null {
  const { voluntarySwitches, involuntarySwitches } = record;
  return voluntarySwitches === null || involuntarySwitches === null
    ? null
    : voluntarySwitches + involuntarySwitches;
}

export function switchSummary(records: readonly RequestRecord[]): SwitchSummary | null {
  const known = records.filter((record) => switchesOf(record) !== null);
  const perInvocation = distributionOf(known.map((record) => switchesOf(record) ?? 0));
  if (perInvocation === null) return null;
  return {
    voluntaryMean: total(known.map((record) => record.voluntarySwitches ?? 0)) / known.length,
    involuntaryMean: total(known.map((record) => record.involuntarySwitches ?? 0)) / known.length,
    perInvocation,
  };
}

export function countSummary(run: Pick<ReplayRun, 'records' | 'issued'>): CountSummary {
  const count = (holds: (record: RequestRecord) => boolean) => run.records.filter(holds).length;
  return {
    requested: run.records.length,
    issued: run.issued,
    completed: count((record) => record.fate === 'completed'),
    failed: count((record) => record.fate === 'failed'),
    refusedByDaemon: count((record) => record.refusedBy === 'daemon'),
    refusedByGenerator: count((record) => record.refusedBy === 'generator'),
    lost: count((record) => record.fate === 'lost'),
  };
}

export function schedulingSummary(records: readonly RequestRecord[]): SchedulingSummary {
  const present = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
  const byPath = Object.fromEntries(
    paths.map((path) => [path, records.filter((record) => record.path === path).length]),
  ) as Record<Path, number>;
  return {
    paths: byPath,
    demotions: total(records.map((record) => record.demotions)),
    blocks: total(records.map((record) => record.blocks)),
    bypasses: records.filter((record) => record.bypassed).length,
    queueDelayMs: distributionOf(present(records.map((record) => record.queueDelayMs))),
    sliceMs: distributionOf(present(records.map((record) => record.sliceMs))),
    predictionError: distributionOf(present(records.map(predictionErrorOf))),
  };
}

/** By which factor the expected CPU time was off, either way: 1 is exact. */
function predictionErrorOf({ predictedMs, cpuMs }: RequestRecord): number | null {
  if (predictedMs === null || cpuMs === null || predictedMs <= 0 || cpuMs <= 0) return null;
  return Math.max(predictedMs / cpuMs, cpuMs / predictedMs);
}

/** null when nothing was issued over any length of time. */
export function achievedLoad(run: Pick<ReplayRun, 'records' | 'workload'>): number | null {
  const sent = run.records.filter((record) => record.refusedBy !== 'generator');
  const times = sent.map((record) => record.arrivalMs + record.lagMs);
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined || last <= first) return null;
  // n requests have n - 1 gaps between them; the load was on for n.
  const issuedForMs = ((last - first) * times.length) / (times.length - 1);
  return total(sent.map((record) => record.cpuMs ?? 0)) / (issuedForMs * run.workload.cores);
}

/** CPU time used / CPU time asked for, of what completed: 1 when the calibration is right. null when nothing completed. */
export function cpuOverDemand(records: readonly RequestRecord[]): number | null {
  const done = records.filter((record) => record.fate === 'completed');
  const demand = total(done.map((record) => record.demandMs));
  return demand > 0 ? total(done.map((record) => record.cpuMs ?? 0)) / demand : null;
}

/** null when no time passed between the two readings, or the daemon restarted between them. */
export function daemonShares(before: DaemonCpu, after: DaemonCpu): DaemonShares | null {
  const hostMs = (after.elapsedMs - before.elapsedMs) * after.cores;
  if (hostMs <= 0) return null;
  const polling = after.pollingMs - before.pollingMs;
  const scheduling = after.schedulingMs - before.schedulingMs;
  const control = after.controlMs - before.controlMs;
  const spawner = after.spawnerMs - before.spawnerMs;
  return {
    polling: polling / hostMs,
    scheduling: scheduling / hostMs,
    control: control / hostMs,
    spawner: spawner / hostMs,
    total: (polling + scheduling + control + spawner) / hostMs,
  };
}
