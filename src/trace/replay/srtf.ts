/**
 * Shortest remaining time first on c cores, computed: of all live requests those that need the least CPU time to their ends run. Nobody
 * can schedule so, for it knows every end beforehand; on one core no policy has a lower mean.
 *
 *   at an arrival   a core is free: it runs; else it preempts whoever would end last, if that has more left than it needs
 *   at an end       the first that waits runs
 *   turnaround      from the arrival to the end of its CPU time, and what IDEAL has beside CPU time: its sleeps and its launch
 *
 * All that run do so at one speed, so they stay in the order of their ends, and what waits in the order of what it has left. Sleeps take no
 * core and are taken to follow the CPU time: alone on the host a request has its IDEAL turnaround.
 */
import type { Sample } from './metrics.js';

interface Job {
  readonly sample: Sample;
  readonly arrivalMs: number;
  /** By which it is in its order: while it runs, when it will end; while it waits, what it has left. */
  rank: number;
}

/** The same samples with the turnaround that they would have. @param arrivals milliseconds, by id. */
export function srtfSamples(
  samples: readonly Sample[],
  { arrivals, cores }: { readonly arrivals: ReadonlyMap<string, number>; readonly cores: number },
): readonly Sample[] {
  const coming = samples
    .map((sample): Job => ({ sample, arrivalMs: arrivals.get(sample.id) ?? 0, rank: sample.demandMs }))
    .sort((left, right) => left.arrivalMs - right.arrivalMs);
  const run = new ShortestFirst(cores);
  for (const job of coming) {
    run.advance(job.arrivalMs);
    run.arrive(job);
  }
  run.advance(Number.POSITIVE_INFINITY);
  return samples.map((sample) => ({ ...sample, turnaroundMs: run.turnarounds.get(sample.id) ?? 0 }));
}

class ShortestFirst {
  readonly turnarounds = new Map<string, number>();
  readonly #cores: number;
  /** Both with the lowest rank last: it leaves first. */
  readonly #running: Job[] = [];
  readonly #waiting: Job[] = [];

  constructor(cores: number) {
    this.#cores = cores;
  }

  arrive(job: Job): void {
    const now = job.arrivalMs;
    const [last] = this.#running;
    if (last === undefined || this.#running.length < this.#cores) this.#start(job, now);
    else if (last.rank - now <= job.rank) insert(this.#waiting, job);
    else {
      this.#running.shift();
      last.rank -= now;
      insert(this.#waiting, last);
      this.#start(job, now);
    }
  }

  /** All that ends by then. */
  advance(now: number): void {
    for (let job = this.#running.at(-1); job !== undefined && job.rank <= now; job = this.#running.at(-1)) {
      this.#running.pop();
      const { id, idealMs, demandMs } = job.sample;
      this.turnarounds.set(id, job.rank - job.arrivalMs + Math.max(0, idealMs - demandMs));
      const next = this.#waiting.pop();
      if (next !== undefined) this.#start(next, job.rank);
    }
  }

  #start(job: Job, now: number): void {
    job.rank += now;
    insert(this.#running, job);
  }
}

/** Keeps the highest rank first; of equal ones the newcomer leaves last. */
function insert(jobs: Job[], job: Job): void {
  let low = 0;
  let high = jobs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((jobs[middle]?.rank ?? 0) > job.rank) low = middle + 1;
    else high = middle;
  }
  jobs.splice(low, 0, job);
}
