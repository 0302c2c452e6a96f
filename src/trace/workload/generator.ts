/**
 * Makes a workload: FaaSBench's method (paper, section VII), seeded and exact.
 *
 * 1. Draw a duration for each request, vary it, clip it, scale it, and raise it to at least 1 ms: its demand.
 * 2. Draw the gaps (or take the arrivals of a trace's minutes), of any length.
 * 3. Stretch the arrivals so that the last comes at  span = sum of demands / (load x cores): the realised load is the target's,
 *    whatever was drawn. E[IAT] = E[D] / (load x cores) with the E[D] of the workload itself: a log-normal with sigma 2.36 has a
 *    sample mean that a hundred thousand requests would not settle. A trace at its own pace keeps its time, and its load is told.
 *
 * Pure: the same options and the same trace give the same workload, byte for byte.
 */
import { SfsdError } from '../../contracts/errors.js';
import { clampDuration, type Duration, duration, fromMs } from '../../contracts/time.js';
import { type Sample, sampleAzure } from './azure-sample.js';
import {
  type Draw,
  type DurationSource,
  type DurationTable,
  logNormalSource,
  tableSource,
} from './durations.js';
import { cvOf, drawGaps } from './gaps.js';
import type { GeneratorOptions } from './generator-options.js';
import { sampleList } from './list-sample.js';
import { applicationsFor } from './mix.js';
import { RandomStream } from './random.js';
import { randomQuantiles, stratifiedQuantiles } from './stratified.js';
import { isList, type Trace } from './window.js';
import {
  type Application,
  demandMin,
  type Sleep,
  shortBelowAt,
  type Workload,
  type WorkloadRequest,
} from './workload.js';

/** What the options need: the table for durations `table`, the trace for durations `azure2019` or gaps `trace`. */
export interface GeneratorInputs {
  readonly table?: DurationTable;
  readonly trace?: Trace;
  /** Where the trace came from, for the header. */
  readonly traceName?: string;
}

/** @param options from `generatorOptionsOf`. Throws SFSD_ERR_WORKLOAD_INVALID when the inputs do not suffice. */
export function compileWorkload(options: GeneratorOptions, inputs: GeneratorInputs): Workload {
  const sample = sampleFor(options, inputs);
  const draws = varied(drawsFor(options, inputs, sample), options);
  const clipped = draws.map((draw) => Math.min(draw.ms, options.clipMs));
  const durationScale = scaleFor(clipped, options);
  const demands = clipped.map((ms) =>
    clampDuration(fromMs(ms * durationScale), { min: demandMin, max: duration(Number.MAX_SAFE_INTEGER) }),
  );
  const demandTotal = demands.reduce((all, demand) => all + demand, 0);
  const positions = positionsFor(options, sample);
  const span = spanFor(options, { positions, demandTotal });
  const arrivals = stretched(positions, span);
  const loadRealised = demandTotal / (span * options.cores);
  const programs = applicationsFor(options.requests, options, new RandomStream(options.seed, 'mix'));
  const requests = requestsFrom({ draws, demands, arrivals, programs }, options);
  const gaps = arrivals.slice(1).map((arrival, index) => arrival - (arrivals[index] ?? 0));
  return {
    header: {
      format: 'sfsd-workload',
      version: 1,
      requests: options.requests,
      seed: options.seed,
      source: sourceText(options, inputs, {
        sample,
        durationScale,
        span,
        ownSpan: lengthOf(positions),
        clips: draws.some((draw) => draw.ms > options.clipMs),
      }),
      gaps: options.gaps,
      durationScale,
      cores: options.cores,
      loadTarget: options.pace === 'load' ? options.load : loadRealised,
      loadRealised,
      demandMean: duration(demandTotal / options.requests),
      gapCv: cvOf(gaps),
      shortBelow: shortBelowAt(durationScale),
      ...(inputs.trace !== undefined && sample !== undefined ? { validation: inputs.trace.report } : {}),
    },
    requests,
  };
}

function sampleFor(options: GeneratorOptions, { trace }: GeneratorInputs): Sample | undefined {
  if (options.durations !== 'azure2019' && options.gaps !== 'trace') return undefined;
  if (trace === undefined) return refuse('durations azure2019 and gaps trace need the files of a trace');
  const { invocations } = trace.report;
  if (invocations < options.requests) {
    return refuse(
      `the trace has ${invocations} invocations with durations, ${options.requests} were asked for`,
    );
  }
  const random = new RandomStream(options.seed, 'sample');
  return isList(trace) ? sampleList(trace, options, random) : sampleAzure(trace, options, random);
}

/** In the order of arrival. */
function drawsFor(
  options: GeneratorOptions,
  inputs: GeneratorInputs,
  sample: Sample | undefined,
): readonly Draw[] {
  const random = new RandomStream(options.seed, 'durations');
  if (options.durations === 'azure2019') {
    const draws = (sample?.invocations ?? []).map((invocation) => invocation.draw);
    if (options.gaps !== 'trace') random.shuffle(draws);
    return draws;
  }
  const source = sourceFor(options, inputs);
  const quantiles = options.stratified
    ? stratifiedQuantiles(options.requests, random)
    : randomQuantiles(options.requests, random);
  return quantiles.map((quantile) => source.at(quantile));
}

/**
 * No two runs of a function take equally long: exp(sigma z - sigma^2 / 2) has mean 1, so the mean demand stays. A stream of its own:
 * the durations below it are those of the same seed without variation.
 */
function varied(draws: readonly Draw[], { seed, sigma }: GeneratorOptions): readonly Draw[] {
  if (sigma === 0) return draws;
  const random = new RandomStream(seed, 'variation');
  return draws.map((draw) => ({ ...draw, ms: draw.ms * Math.exp(sigma * random.normal() - sigma ** 2 / 2) }));
}

function sourceFor(options: GeneratorOptions, { table }: GeneratorInputs): DurationSource {
  if (options.durations === 'lognormal') return logNormalSource();
  return table === undefined
    ? refuse('durations table needs a table')
    : tableSource(table, options.functionsMin);
}

function scaleFor(clipped: readonly number[], { durationScale, meanMs }: GeneratorOptions): number {
  if (meanMs === undefined) return durationScale ?? 1;
  const mean = clipped.reduce((all, ms) => all + ms, 0) / clipped.length;
  return mean > 0
    ? meanMs / mean
    : refuse('all durations of the trace are 0, so no scale gives the mean asked for');
}

/** Arrival positions in any unit, ascending. */
function positionsFor(options: GeneratorOptions, sample: Sample | undefined): readonly number[] {
  if (options.gaps === 'trace') return (sample?.invocations ?? []).map((invocation) => invocation.at);
  const gaps = drawGaps(options.gaps, options.requests - 1, new RandomStream(options.seed, 'gaps'));
  let position = 0;
  return [0, ...Array.from(gaps, (gap) => (position += gap))];
}

function spanFor(
  { pace, load, cores, timeScale }: GeneratorOptions,
  { positions, demandTotal }: { readonly positions: readonly number[]; readonly demandTotal: number },
): number {
  const own = lengthOf(positions) * timeScale;
  return Math.max(1, Math.round(pace === 'trace' ? own : demandTotal / (load * cores)));
}

function lengthOf(positions: readonly number[]): number {
  return (positions.at(-1) ?? 0) - (positions[0] ?? 0);
}

/** First arrival at 0, last at `span`; when all fall on one instant they stay evenly spaced, as nothing else is known. */
function stretched(positions: readonly number[], span: number): readonly Duration[] {
  const first = positions[0] ?? 0;
  const length = lengthOf(positions);
  const last = positions.length - 1;
  return positions.map((position, index) =>
    duration(length > 0 ? (span * (position - first)) / length : (span * index) / last),
  );
}

interface Parts {
  readonly draws: readonly Draw[];
  readonly demands: readonly Duration[];
  readonly arrivals: readonly Duration[];
  readonly programs: readonly Application[];
}

function requestsFrom(
  { draws, demands, arrivals, programs }: Parts,
  options: GeneratorOptions,
): WorkloadRequest[] {
  const random = new RandomStream(options.seed, 'sleeps');
  const digits = String(options.requests - 1).length;
  return draws.map((draw, index) => {
    const application = programs[index] ?? 'burn';
    const demand = demands[index] ?? demandMin;
    return {
      id: String(index).padStart(digits, '0'),
      functionName: `${application}-${draw.name}`,
      application,
      arrival: arrivals[index] ?? duration(0),
      demand,
      sleeps: sleepsFor(demand, application, { options, random }),
    };
  });
}

function sleepsFor(
  demand: Duration,
  application: Application,
  { options, random }: { readonly options: GeneratorOptions; readonly random: RandomStream },
): readonly Sleep[] {
  const { sleepShare, sleepMinMs, sleepMaxMs } = options;
  if (sleepShare === 0) return [];
  const [chance, place, length] = [random.uniform(), random.uniform(), random.uniform()];
  if (application !== 'burn' || chance >= sleepShare) return [];
  const at = duration(Math.floor(place * demand));
  return [{ at, length: fromMs(sleepMinMs + length * (sleepMaxMs - sleepMinMs)) }];
}

function sourceText(
  options: GeneratorOptions,
  { trace, traceName = 'trace' }: GeneratorInputs,
  made: {
    readonly sample: Sample | undefined;
    readonly durationScale: number;
    readonly span: number;
    /** us, before any scale. */
    readonly ownSpan: number;
    readonly clips: boolean;
  },
): string {
  const { durations, gaps, requests, clipMs, stratified } = options;
  const format = trace !== undefined && isList(trace) ? trace.format : 'azure2019';
  const parts = [durations === 'azure2019' ? `${format}: ${traceName}` : durations];
  const listed = durations === 'azure2019' && format !== 'azure2019';
  if (stratified && !listed) parts.push('stratified');
  if (options.sigma > 0) parts.push(`varied with sigma ${options.sigma}`);
  const { sample } = made;
  if (sample !== undefined && trace !== undefined) {
    const all = trace.report.invocations;
    const share = Number((100 * sample.functionShare).toFixed(1));
    const from = durations === 'azure2019' ? '' : ` of ${traceName}`;
    parts.push(
      `${requests} of ${all} invocations of ${sample.functions} of ${trace.report.functions} functions${from}`,
      `at most ${share}% from one function`,
    );
    if (gaps === 'trace') {
      const own = made.ownSpan;
      const how = made.span === own ? 'in' : made.span < own ? 'compressed to' : 'stretched to';
      parts.push(`${trace.minutes} minutes ${how} ${(made.span / 1e6).toFixed(1)} s`);
    }
  }
  if (made.clips) parts.push(`durations clipped at ${clipMs} ms`);
  if (made.durationScale !== 1) parts.push(`durations x ${Number(made.durationScale.toPrecision(4))}`);
  return parts.join(', ');
}

function refuse(reason: string): never {
  throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', { reason });
}
