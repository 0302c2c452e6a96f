/**
 * What a workload is generated from, checked as a whole: all faults are named at once.
 */
import { SfsdError } from '../../contracts/errors.js';
import { FaultList } from '../formats/fault-list.js';
import { requestsMax } from '../formats/json-lines.js';
import { type WithinMinute, withinMinuteKinds } from './minutes.js';
import { burnOnly, type Mix } from './mix.js';
import { applications, type GapKind, gapKinds } from './workload.js';

export type DurationKind = 'table' | 'lognormal' | 'azure2019';

export const durationKinds: readonly DurationKind[] = ['table', 'lognormal', 'azure2019'];

export interface GeneratorOptions {
  readonly requests: number;
  /** Integer from 0; everything random follows from it. */
  readonly seed: number;
  readonly durations: DurationKind;
  readonly gaps: GapKind;
  /** Sum of demands / (span x cores). */
  readonly load: number;
  readonly cores: number;
  /** load: stretch time until the load is met. trace: keep the trace's own time, x `timeScale`; gaps `trace` only. */
  readonly pace: 'load' | 'trace';
  readonly timeScale: number;
  /** Exact shares instead of drawn ones. */
  readonly stratified: boolean;
  /** Factor on every duration; 1 when neither it nor `meanMs` is given, but azure2019 then has `meanMs` 185. */
  readonly durationScale: number | undefined;
  /** Chooses the factor so that the mean demand is this. */
  readonly meanMs: number | undefined;
  /** Durations above are clipped to it before the scale; Infinity: not. */
  readonly clipMs: number;
  /** Each duration is multiplied by a log-normal factor with mean 1 and this sigma, drawn for each request; 0: not. */
  readonly sigma: number;
  readonly mix: Mix;
  /** Share of the requests that sleep once, after a uniform part of their demand; `burn` only. */
  readonly sleepShare: number;
  readonly sleepMinMs: number;
  readonly sleepMaxMs: number;
  /** Gaps inside a minute, for gaps `trace`. */
  readonly within: WithinMinute;
  readonly shift: boolean;
  /** Azure sample: the largest share of the requests that one function may have. */
  readonly functionShareMax: number;
  /** Azure sample: the most invoked functions that get a request each; as many as there are requests at most. Table: functions, at least. */
  readonly functionsMin: number;
}

/** The default mean of an Azure sample: 400 requests take 37 s at full load on two cores. */
const azureMeanMs = 185;
/** The published tail reaches hours; a request beyond this would be the whole run. */
const clipMsDefault = 10_000;

export const generatorDefaults: GeneratorOptions = {
  requests: 400,
  seed: 1,
  durations: 'table',
  gaps: 'poisson',
  load: 1,
  cores: 2,
  pace: 'load',
  timeScale: 1,
  stratified: false,
  durationScale: undefined,
  meanMs: undefined,
  clipMs: clipMsDefault,
  sigma: 0,
  mix: burnOnly,
  sleepShare: 0,
  sleepMinMs: 10,
  sleepMaxMs: 100,
  within: 'exponential',
  shift: true,
  functionShareMax: 0.1,
  functionsMin: 14,
};

/** Throws SFSD_ERR_WORKLOAD_INVALID that names every fault. */
export function generatorOptionsOf(given: Partial<GeneratorOptions>): GeneratorOptions {
  const options: GeneratorOptions = { ...generatorDefaults, ...given };
  const faults = new FaultList();
  const need = (holds: boolean, fault: string): void => {
    if (!holds) faults.add(undefined, fault);
  };
  const within = (value: number, min: number, max: number): boolean => value >= min && value <= max;
  const { requests, seed, load, cores, durationScale, meanMs, clipMs } = options;
  need(Number.isInteger(requests) && within(requests, 2, requestsMax), `requests is not 2 to ${requestsMax}`);
  need(Number.isSafeInteger(seed) && seed >= 0, 'seed is not an integer from 0 to 2^53 - 1');
  need(durationKinds.includes(options.durations), `durations is none of ${durationKinds.join(', ')}`);
  need(gapKinds.includes(options.gaps), `gaps is none of ${gapKinds.join(', ')}`);
  need(within(load, 0.01, 100), 'load is not 0.01 to 100');
  need(Number.isInteger(cores) && within(cores, 1, 4096), 'cores is not an integer from 1 to 4096');
  need(durationScale === undefined || within(durationScale, 1e-6, 1e6), 'duration scale is not 1e-6 to 1e6');
  need(meanMs === undefined || within(meanMs, 1, 1e7), 'mean is not 1 to 1e7 ms');
  need(durationScale === undefined || meanMs === undefined, 'duration scale and mean exclude each other');
  need(options.pace === 'load' || options.gaps === 'trace', 'only gaps of a trace have its pace');
  need(within(options.timeScale, 1e-6, 1e6), 'time scale is not 1e-6 to 1e6');
  need(clipMs >= 1, 'clip is below 1 ms');
  need(within(options.sigma, 0, 3), 'sigma is not 0 to 3');
  const weights = Object.entries(options.mix);
  for (const [application, weight] of weights) {
    need(
      applications.some((known) => known === application) && Number.isFinite(weight) && weight >= 0,
      `mix: ${application} ${weight} is no application with a weight of at least 0`,
    );
  }
  need(
    weights.some(([, weight]) => weight > 0),
    'mix names no application',
  );
  need(within(options.sleepShare, 0, 1), 'sleep share is not 0 to 1');
  need(options.sleepMinMs > 0 && options.sleepMaxMs >= options.sleepMinMs, 'sleep range is not ascending');
  need(withinMinuteKinds.includes(options.within), `within is none of ${withinMinuteKinds.join(', ')}`);
  need(within(options.functionShareMax, 1e-6, 1), 'function share is not above 0 and at most 1');
  need(
    Number.isInteger(options.functionsMin) && options.functionsMin >= 1,
    'functions is no positive integer',
  );
  if (faults.count > 0) throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', { reason: faults.text() });
  const azure = options.durations === 'azure2019' && durationScale === undefined && meanMs === undefined;
  return azure ? { ...options, meanMs: azureMeanMs } : options;
}
