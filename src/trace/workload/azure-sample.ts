/**
 * A bounded cut of an Azure 2019 trace: N of its invocations, for a run that ends within minutes on one host.
 *
 * 1. Each function gets a quota in proportion to its invocations, but at most `functionShareMax` of N: in the bundled sample one queue
 *    function has 79% of all invocations and would be the whole run. The cap grows by quarters when the trace has too few others.
 *    The `functionsMin` most invoked functions get at least one each.
 * 2. The quota picks invocations evenly along the function's own counts, so that its minutes keep their proportions.
 * 3. The picked counts give arrivals inside their minutes (minutes.ts); all functions are merged in the order of time.
 *
 * What load the arrivals make is not this file's matter: the generator stretches time afterwards.
 */
import type { AzureFunction, AzureTrace } from '../formats/azure2019.js';
import { durationAt } from '../formats/azure2019-durations.js';
import type { Draw } from './durations.js';
import { arrivalsOf, type MinuteOptions } from './minutes.js';
import type { RandomStream } from './random.js';
import { randomQuantiles, stratifiedQuantiles } from './stratified.js';

export interface SampleOptions extends MinuteOptions {
  readonly requests: number;
  readonly functionShareMax: number;
  readonly functionsMin: number;
  readonly stratified: boolean;
}

export interface SampledInvocation {
  /** us from the first minute's start, in trace time. */
  readonly at: number;
  readonly draw: Draw;
}

export interface Sample {
  /** In the order of `at`. */
  readonly invocations: readonly SampledInvocation[];
  readonly functions: number;
  /** The cap that was used, as a share of N. */
  readonly functionShare: number;
}

const capGrowth = 1.25;
const bisectionSteps = 100;

/** The trace has at least `requests` invocations: the caller checked. */
export function sampleAzure(trace: AzureTrace, options: SampleOptions, random: RandomStream): Sample {
  const functions = trace.functions
    .filter((one) => one.invocations > 0)
    .sort((left, right) => right.invocations - left.invocations || (left.key < right.key ? -1 : 1));
  const { quotas, cap } = quotasOf(functions, options);
  const invocations = functions.flatMap((one, index) =>
    invocationsOf(one, quotas[index] ?? 0, options, random),
  );
  invocations.sort((left, right) => left.at - right.at);
  return {
    invocations,
    functions: quotas.filter((quota) => quota > 0).length,
    functionShare: cap / options.requests,
  };
}

function invocationsOf(
  one: AzureFunction,
  quota: number,
  options: SampleOptions,
  random: RandomStream,
): readonly SampledInvocation[] {
  const arrivals = arrivalsOf(thinned(one, quota, random.uniform()), options, random);
  const quantiles = options.stratified ? stratifiedQuantiles(quota, random) : randomQuantiles(quota, random);
  const name = one.key.slice(one.key.lastIndexOf('/') + 1).slice(0, nameLength);
  return arrivals.map((at, index) => ({
    at,
    draw: { ms: durationAt(one.durations.percentiles, quantiles[index] ?? 0.5), name },
  }));
}

/** Of a function's hash; 40 bits do not collide among a day's functions but by a chance of 1 in 1,000. */
const nameLength = 10;

/** Keeps `quota` of the invocations, evenly spaced, the first by `phase` in [0, 1). */
export function thinned(one: AzureFunction, quota: number, phase: number): Uint32Array {
  const kept = new Uint32Array(one.counts.length);
  let before = 0;
  let taken = 0;
  for (let minute = 0; minute < kept.length; minute += 1) {
    before += one.counts[minute] ?? 0;
    const upTo = Math.floor((before * quota) / one.invocations + phase);
    kept[minute] = upTo - taken;
    taken = upTo;
  }
  return kept;
}

/** @param functions by descending invocations. */
export function quotasOf(
  functions: readonly AzureFunction[],
  { requests, functionShareMax, functionsMin }: SampleOptions,
): { readonly quotas: readonly number[]; readonly cap: number } {
  let cap = Math.max(1, Math.floor(requests * functionShareMax));
  const capacity = (): number => functions.reduce((all, one) => all + Math.min(cap, one.invocations), 0);
  while (capacity() < requests) cap = Math.ceil(cap * capGrowth);
  const floorOf = (index: number): number => (index < Math.min(functionsMin, requests) ? 1 : 0);
  const quotasAt = (share: number): readonly number[] =>
    functions.map((one, index) => {
      const most = Math.min(cap, one.invocations);
      return Math.min(most, Math.max(floorOf(index), one.invocations * share));
    });
  let low = 0;
  let high = 1;
  for (let step = 0; step < bisectionSteps; step += 1) {
    const middle = (low + high) / 2;
    if (quotasAt(middle).reduce((all, quota) => all + quota, 0) < requests) low = middle;
    else high = middle;
  }
  return { quotas: whole(quotasAt(high), functions, { requests, cap }), cap };
}

/** Rounds to integers that sum to `requests` and stay within each function's bound. */
function whole(
  exact: readonly number[],
  functions: readonly AzureFunction[],
  { requests, cap }: { readonly requests: number; readonly cap: number },
): readonly number[] {
  const quotas = exact.map((quota) => Math.floor(quota + 1e-9));
  const remainders = exact.map((quota, index) => quota - (quotas[index] ?? 0));
  let missing = requests - quotas.reduce((all, quota) => all + quota, 0);
  const order = remainders
    .map((remainder, index) => ({ remainder, index }))
    .sort((left, right) => right.remainder - left.remainder || left.index - right.index);
  while (missing > 0) {
    for (const { index } of order) {
      const most = Math.min(cap, functions[index]?.invocations ?? 0);
      if (missing === 0 || (quotas[index] ?? 0) >= most) continue;
      quotas[index] = (quotas[index] ?? 0) + 1;
      missing -= 1;
    }
  }
  for (let index = 0; missing < 0; index = (index + 1) % quotas.length) {
    if ((quotas[index] ?? 0) <= 1) continue;
    quotas[index] = (quotas[index] ?? 0) - 1;
    missing += 1;
  }
  return quotas;
}
