/**
 * A duration row of the Azure Functions 2019 trace: what a function's executions took, in milliseconds, without cold start.
 * The percentiles are of averages over 30 s, weighted by count; only Minimum and Maximum are true extremes (Shahrad et al.,
 * USENIX ATC 2020). The rules for rows that cannot be true are in validation.ts.
 */
import type { FindingList, Place, RuleCode } from './validation.js';

/** The ranks of the percentile columns, in percent. */
export const percentileRanks = [0, 1, 25, 50, 75, 99, 100] as const;

export interface Durations {
  /** All in ms; `percentiles` has one entry per rank, ascending and not negative. */
  readonly average: number;
  readonly count: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly percentiles: readonly number[];
}

export interface DurationOptions {
  /** What a duration that cannot be true is raised to, ms. */
  readonly minMs: number;
}

/** Undefined: the row is not used, and the finding says why. */
export function soundDurations(
  row: Durations,
  { findings, place, minMs }: DurationOptions & { readonly findings: FindingList; readonly place: Place },
): Durations | undefined {
  const refuse = (code: RuleCode, detail: string): undefined => {
    findings.add(code, place, detail);
    return undefined;
  };
  const { average, count, minimum, maximum, percentiles } = row;
  if (average < 0) return refuse('average-negative', `Average ${average}`);
  if (!isAscending(percentiles)) return refuse('percentiles-not-monotone', percentiles.join(' '));
  const useAverage = average > 0 || count === 0;
  if (useAverage && (average < minimum || average > maximum)) {
    return refuse('average-outside', `Average ${average} not in [${minimum}, ${maximum}]`);
  }
  const lowest = Math.min(minimum, maximum, ...percentiles);
  if (lowest < 0) findings.add('value-negative', place, `${lowest}, clamped to 0`);
  if ((percentiles[0] ?? 0) < minimum) {
    findings.add('percentile-below-minimum', place, `${percentiles[0]} below ${minimum}`);
  }
  if (minimum === 0) findings.add('minimum-zero', place, 'accepted');
  if (maximum === 0) findings.add('maximum-zero', place, `clamped to ${minMs} ms`);
  const sound = percentiles.map((value) => Math.max(0, value));
  return {
    average: useAverage ? average : averageFrom(sound, { findings, place, minMs }),
    count,
    minimum: Math.max(0, minimum),
    maximum: maximum <= 0 ? minMs : maximum,
    percentiles: sound,
  };
}

/** Average 0 with Count > 0 was rounded away: the mean over the percentile bands stands in for it. */
function averageFrom(
  percentiles: readonly number[],
  { findings, place, minMs }: DurationOptions & { readonly findings: FindingList; readonly place: Place },
): number {
  if ((percentiles.at(-1) ?? 0) <= 0) {
    findings.add('average-zero-no-percentile', place, `clamped to ${minMs} ms`);
    return minMs;
  }
  const mean = bandMean(percentiles);
  findings.add('average-zero', place, `${mean} ms from the percentiles`);
  return mean;
}

/** Mean of a duration drawn by `durationAt` with a uniform quantile. */
export function bandMean(percentiles: readonly number[]): number {
  let mean = 0;
  for (let band = 1; band < percentileRanks.length; band += 1) {
    const share = ((percentileRanks[band] ?? 0) - (percentileRanks[band - 1] ?? 0)) / 100;
    mean += (share * ((percentiles[band - 1] ?? 0) + (percentiles[band] ?? 0))) / 2;
  }
  return mean;
}

/** The duration at a quantile in [0, 1]: the quantile picks a percentile band, then a value inside it, linearly. ms. */
export function durationAt(percentiles: readonly number[], quantile: number): number {
  const rank = quantile * 100;
  let band = 1;
  while (band < percentileRanks.length - 1 && rank >= (percentileRanks[band] ?? 100)) band += 1;
  const low = percentileRanks[band - 1] ?? 0;
  const high = percentileRanks[band] ?? 100;
  const from = percentiles[band - 1] ?? 0;
  return from + ((rank - low) / (high - low)) * ((percentiles[band] ?? from) - from);
}

function isAscending(values: readonly number[]): boolean {
  return values.every((value, index) => index === 0 || value >= (values[index - 1] ?? value));
}
