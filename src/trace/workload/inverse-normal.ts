/**
 * The quantile of the standard normal distribution: needed because stratified demands come from evenly spaced quantiles.
 * The starting value is Abramowitz and Stegun 26.2.23 (error below 4.5e-4); Newton steps with the error function's series and
 * continued fraction bring it to about 1e-12.
 */

const newtonSteps = 4;
const seriesMax = 200;

/** @param quantile in (0, 1). */
export function inverseNormal(quantile: number): number {
  if (quantile > 0.5) return -inverseNormal(1 - quantile);
  const t = Math.sqrt(-2 * Math.log(quantile));
  const above = 2.515517 + 0.802853 * t + 0.010328 * t * t;
  const below = 1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t;
  let z = above / below - t;
  for (let step = 0; step < newtonSteps; step += 1) z -= (normalBelow(z) - quantile) / density(z);
  return z;
}

function density(z: number): number {
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
}

/** P(Z < z) for z <= 0 (within rounding: a Newton step may overshoot 0 by a hair). */
export function normalBelow(z: number): number {
  if (z < -3) return tail(-z);
  let term = z;
  let total = z;
  for (let odd = 3; odd < seriesMax && Math.abs(term) > 1e-18; odd += 2) {
    term *= (z * z) / odd;
    total += term;
  }
  return 0.5 + density(z) * total;
}

/** P(Z > z) for z >= 3, by Laplace's continued fraction. */
function tail(z: number): number {
  let fraction = 0;
  for (let level = 60; level >= 1; level -= 1) fraction = level / (z + fraction);
  return density(z) / (z + fraction);
}
