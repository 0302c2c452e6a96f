/**
 * Which program a request runs. A comparison of schedulers uses `burn` alone, because its CPU demand is exact; the application mix is
 * that of the paper's OpenLambda workload (section VIII: fib, md and sa, 60/20/20 in FaaSBench), where the demand is calibrated.
 */
import type { RandomStream } from './random.js';
import { apportion } from './stratified.js';
import { type Application, applications } from './workload.js';

/** Weights; they need not sum to anything. */
export type Mix = Readonly<Partial<Record<Application, number>>>;

export const burnOnly: Mix = { burn: 1 };
export const applicationMix: Mix = { fib: 60, md: 20, sa: 20 };

/** One application a request: exact shares in random order when stratified, else drawn one by one. */
export function applicationsFor(
  count: number,
  { mix, stratified }: { readonly mix: Mix; readonly stratified: boolean },
  random: RandomStream,
): readonly Application[] {
  const weights = applications.map((application) => mix[application] ?? 0);
  if (!stratified) {
    const total = weights.reduce((all, weight) => all + weight, 0);
    return Array.from({ length: count }, () => applicationAt(weights, random.uniform() * total));
  }
  const list = apportion(count, weights).flatMap((share, index) =>
    Array.from({ length: share }, () => applications[index] ?? 'burn'),
  );
  random.shuffle(list);
  return list;
}

function applicationAt(weights: readonly number[], target: number): Application {
  let passed = 0;
  for (const [index, weight] of weights.entries()) {
    passed += weight;
    if (target < passed) return applications[index] ?? 'burn';
  }
  return 'burn';
}
