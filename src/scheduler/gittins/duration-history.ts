/**
 * What is known of functions' CPU times, so that a run of one can be ranked.
 *
 *   host ◀── every run            ┐
 *   application ◀── its runs      ├─ each a weight for each bucket; a new run takes 1/N off all that is there (N = 100)
 *   function ◀── its runs         ┘
 *
 *   belief of a function = its own weights + priorWeight x (application's, normalised)
 *   application's        = its own weights + priorWeight x (host's, normalised)
 *   host's               = its own weights + priorWeight x (builtIn: every bucket alike, which is log-uniform)
 *
 * So a function that was never seen is ranked as one of its application, and of an application never seen as one of the host; with
 * every run its own history counts for more. No bucket ever has weight 0: a run that outlives all that were seen still has a rank.
 *
 * Bounded: `functionsMax` functions and applications, 1.2 KiB each; who has not run for longest is forgotten first.
 */
import type { Duration } from '../../contracts/time.js';
import { bucketCount, bucketMiddle, bucketOf } from './duration-buckets.js';
import { computeRanks } from './rank-table.js';

/** N: the last hundred runs say most; older ones fade. */
const memory = 100;
/** Runs that the prior counts for. */
const priorWeight = 0.3;
/** Below this many runs of its own the prior says much, so that its changes are followed too. */
const priorFollowed = 8;
/** Of what is known: less that is new changes no rank by much. */
const learnedShare = 1 / 16;
const beliefsMax = 16_384;

/** Reused: ranks are computed one belief at a time. */
const mixed = new Float64Array(bucketCount);

export class DurationBelief {
  readonly #prior: DurationBelief | undefined;
  readonly #weights = new Float64Array(bucketCount);
  readonly #ranks = new Float64Array(bucketCount);
  #total = 0;
  #mean = 0;
  /** Runs learned of since the ranks were computed; Infinity: they never were. */
  #learned = Number.POSITIVE_INFINITY;

  constructor(prior?: DurationBelief) {
    this.#prior = prior;
  }

  /** A run has ended; the priors learn of it too. */
  learn(cpuTime: Duration): void {
    const kept = 1 - 1 / memory;
    for (let bucket = 0; bucket < bucketCount; bucket += 1)
      this.#weights[bucket] = (this.#weights[bucket] ?? 0) * kept;
    const bucket = bucketOf(cpuTime);
    this.#weights[bucket] = (this.#weights[bucket] ?? 0) + 1;
    this.#total = this.#total * kept + 1;
    this.#learned += 1;
    this.#prior?.learn(cpuTime);
  }

  /**
   * Brings the ranks up to date: when a run begins, so that they stand still for most of it, and not before what has been learned makes
   * a difference.
   */
  refresh(): void {
    if (this.#total >= priorFollowed && this.#learned < this.#total * learnedShare) return;
    mixed.fill(0);
    this.#mixInto(mixed, 1);
    computeRanks(mixed, this.#ranks);
    this.#mean = 0;
    for (let bucket = 0; bucket < bucketCount; bucket += 1)
      this.#mean += (mixed[bucket] ?? 0) * bucketMiddle(bucket);
    this.#learned = 0;
  }

  /** Of a run that has used so much: microseconds, lower is better. As of the last `refresh`. */
  rankAt(bucket: number): number {
    return this.#ranks[bucket] ?? 0;
  }

  /** CPU time that a run is expected to use. Microseconds, as of the last `refresh`. */
  get mean(): number {
    return this.#mean;
  }

  /** Its own, without the priors: what `restore` takes. */
  get weights(): Readonly<Float64Array> {
    return this.#weights;
  }

  /** @param weights of an earlier daemon's belief, in as many buckets. */
  restore(weights: ArrayLike<number>): void {
    this.#weights.set(weights);
    this.#total = this.#weights.reduce((total, weight) => total + weight, 0);
    this.#learned = Number.POSITIVE_INFINITY;
  }

  /** Adds the belief, `share` in all. */
  #mixInto(target: Float64Array, share: number): void {
    const scale = share / (this.#total + priorWeight);
    for (let bucket = 0; bucket < bucketCount; bucket += 1)
      target[bucket] = (target[bucket] ?? 0) + scale * (this.#weights[bucket] ?? 0);
    const rest = scale * priorWeight;
    if (this.#prior !== undefined) this.#prior.#mixInto(target, rest);
    else
      for (let bucket = 0; bucket < bucketCount; bucket += 1)
        target[bucket] = (target[bucket] ?? 0) + rest / bucketCount;
  }
}

/** Whose belief it is: `host`, `application NAME` or `function NAME`. */
export type BeliefName = string;

export class DurationHistory {
  readonly #host = new DurationBelief();
  /** By name, who ran last at the end. */
  readonly #applications = new Map<string, DurationBelief>();
  readonly #functions = new Map<string, DurationBelief>();

  /** Of the function; its ranks are up to date. */
  beliefOf(functionName: string): DurationBelief {
    const belief = this.#function(functionName);
    belief.refresh();
    return belief;
  }

  /** A run of the function has ended. */
  learn(functionName: string, cpuTime: Duration): void {
    this.#function(functionName).learn(cpuTime);
  }

  /** Those that a run of the function teaches. */
  namesOf(functionName: string): readonly BeliefName[] {
    const application = applicationOf(functionName);
    return [
      `function ${functionName}`,
      ...(application === undefined ? [] : [`application ${application}`]),
      'host',
    ];
  }

  /** undefined: it has been forgotten. */
  find(name: BeliefName): DurationBelief | undefined {
    const [kind, rest] = split(name);
    if (kind === 'host') return this.#host;
    return (kind === 'application' ? this.#applications : this.#functions).get(rest);
  }

  /** Before the first run. */
  restore(name: BeliefName, weights: ArrayLike<number>): void {
    const [kind, rest] = split(name);
    const belief =
      kind === 'host' ? this.#host : kind === 'application' ? this.#application(rest) : this.#function(rest);
    belief.restore(weights);
  }

  #function(name: string): DurationBelief {
    const application = applicationOf(name);
    return touched(
      this.#functions,
      name,
      () => new DurationBelief(application === undefined ? this.#host : this.#application(application)),
    );
  }

  #application(name: string): DurationBelief {
    return touched(this.#applications, name, () => new DurationBelief(this.#host));
  }
}

/** OpenWhisk names `package/action`, OpenFaaS `function.namespace`. */
function applicationOf(functionName: string): string | undefined {
  const slash = functionName.lastIndexOf('/');
  if (slash >= 0) return functionName.slice(0, slash);
  const dot = functionName.lastIndexOf('.');
  return dot < 0 ? undefined : functionName.slice(dot + 1);
}

function split(name: BeliefName): readonly [kind: string, rest: string] {
  const space = name.indexOf(' ');
  return space < 0 ? [name, ''] : [name.slice(0, space), name.slice(space + 1)];
}

function touched(
  beliefs: Map<string, DurationBelief>,
  name: string,
  create: () => DurationBelief,
): DurationBelief {
  const known = beliefs.get(name);
  const belief = known ?? create();
  if (known !== undefined) beliefs.delete(name);
  beliefs.set(name, belief);
  if (beliefs.size > beliefsMax) beliefs.delete(beliefs.keys().next().value ?? name);
  return belief;
}
