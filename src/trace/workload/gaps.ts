/**
 * Gaps between arrivals, with mean 1; the load sets their scale later.
 *
 *   poisson  exponential, CV 1
 *   bursty   log-normal, CV 2.33: what the gaps of the SFS evaluation's own request list have
 *   uniform  between 0 and twice the mean, CV 0.58
 *
 * Why log-normal: of the renewal processes with CV 2.33 it lies nearest to that list's distribution of gaps, in whole units with mean
 * 2.97. Shares of gaps up to 0, 1, 2, 5 and 20 units (the others rounded to units):
 *
 *   list                        0.27   0.56   0.70   0.86   0.985
 *   log-normal                  0.27   0.57   0.71   0.87   0.982
 *   balanced hyper-exponential  0.25   0.56   0.73   0.91   0.974
 *   gamma, shape 1 / CV^2       0.57   0.69   0.75   0.85   0.968
 *
 * A sample of a heavy tail misses its CV by far: of 400 gaps nine in ten samples have 1.6 to 3.1, and half of them less than 1.97. So
 * the sigma is fitted to the drawn normals until the sample's own CV is 2.33, and every seed is as bursty as the next.
 */
import type { RandomStream } from './random.js';
import type { GapKind } from './workload.js';

export const burstyCv = 2.33;

/** n values have a CV of at most sqrt(n - 1); below this many the distribution's own sigma is used unfitted. */
const fittedCountMin = 32;
const fitSteps = 60;
const sigmaMax = 8;

/** @returns `count` positive gaps with mean 1. */
export function drawGaps(
  kind: Exclude<GapKind, 'trace'>,
  count: number,
  random: RandomStream,
): Float64Array<ArrayBuffer> {
  const gaps = new Float64Array(count);
  if (kind === 'bursty') {
    for (let index = 0; index < count; index += 1) gaps[index] = random.normal();
    exponentiate(gaps, sigmaFor(gaps));
  } else {
    const draw = kind === 'poisson' ? () => random.exponential() : () => 2 * random.uniform();
    for (let index = 0; index < count; index += 1) gaps[index] = draw();
  }
  const mean = meanOf(gaps);
  return mean > 0 ? gaps.map((gap) => gap / mean) : gaps.fill(1);
}

/** Standard deviation / mean. */
export function cvOf(values: ArrayLike<number>): number {
  const mean = meanOf(values);
  if (mean === 0) return 0;
  let squares = 0;
  for (let index = 0; index < values.length; index += 1) squares += ((values[index] ?? 0) - mean) ** 2;
  return Math.sqrt(squares / values.length) / mean;
}

function meanOf(values: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < values.length; index += 1) total += values[index] ?? 0;
  return values.length === 0 ? 0 : total / values.length;
}

function exponentiate(normals: Float64Array, sigma: number): void {
  for (let index = 0; index < normals.length; index += 1)
    normals[index] = Math.exp(sigma * (normals[index] ?? 0));
}

/** The CV grows with sigma, so bisection finds the sigma of a sample. The distribution's own is sqrt(ln(1 + CV^2)) = 1.364. */
function sigmaFor(normals: Float64Array): number {
  if (normals.length < fittedCountMin) return Math.sqrt(Math.log(1 + burstyCv ** 2));
  let low = 0;
  let high = sigmaMax;
  const trial = new Float64Array(normals.length);
  for (let step = 0; step < fitSteps; step += 1) {
    const middle = (low + high) / 2;
    trial.set(normals);
    exponentiate(trial, middle);
    if (cvOf(trial) < burstyCv) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
