/**
 * Shortest remaining time first on c cores, computed: each request needs its IDEAL turnaround on one core, and whoever is nearest to its
 * end runs. Nobody can schedule so, for it knows every end beforehand; no policy has a lower mean on one core.
 *
 *   at each arrival and each end:   the c with the least left run until the next arrival or end
 */
import type { Sample } from './metrics.js';

interface Waiting {
  readonly sample: Sample;
  readonly arrivalMs: number;
  leftMs: number;
}

/** Times closer than this are one. */
const epsilonMs = 1e-6;

/** The same samples with the turnaround that they would have. @param arrivals milliseconds, by id. */
export function srtfSamples(
  samples: readonly Sample[],
  { arrivals, cores }: { readonly arrivals: ReadonlyMap<string, number>; readonly cores: number },
): readonly Sample[] {
  const coming = samples
    .map((sample): Waiting => ({ sample, arrivalMs: arrivals.get(sample.id) ?? 0, leftMs: sample.idealMs }))
    .sort((left, right) => right.arrivalMs - left.arrivalMs);
  const live: Waiting[] = [];
  const done = new Map<string, Sample>();
  let now = coming.at(-1)?.arrivalMs ?? 0;
  while (coming.length > 0 || live.length > 0) {
    live.sort((left, right) => left.leftMs - right.leftMs);
    const running = live.slice(0, cores);
    const nextEnd = now + (running[0]?.leftMs ?? Number.POSITIVE_INFINITY);
    const until = Math.min(nextEnd, coming.at(-1)?.arrivalMs ?? Number.POSITIVE_INFINITY);
    for (const one of running) one.leftMs -= until - now;
    now = until;
    while (live[0] !== undefined && live[0].leftMs <= epsilonMs) {
      const { sample, arrivalMs } = live[0];
      done.set(sample.id, { ...sample, turnaroundMs: now - arrivalMs });
      live.shift();
    }
    for (
      let next = coming.at(-1);
      next !== undefined && next.arrivalMs <= now + epsilonMs;
      next = coming.at(-1)
    ) {
      live.push(next);
      coming.pop();
    }
  }
  return samples.map((sample) => done.get(sample.id) ?? sample);
}
