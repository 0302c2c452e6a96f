/**
 * The door of every policy: takes hold of a submission's tasks, opens its record, and counts arrivals, a busy period's only once
 * it has run for `arrivalAfter`.
 */
import type { Submission } from '../contracts/invocation.js';
import type { Kernel } from '../contracts/kernel.js';
import type { Admission, SfsParameters } from '../contracts/scheduler.js';
import { after, type Duration, type Instant, instant } from '../contracts/time.js';
import type { Lifecycle, PolicyPorts } from './lifecycle.js';
import { identityOf, type Life } from './lives.js';

/** process: an arrival at once. busyPeriod: on a group that has had others before. */
export type Entry = 'process' | 'busyPeriod';

export class Admissions {
  readonly #kernel: Kernel;
  readonly #lifecycle: Lifecycle;
  readonly #arrivalAfter: Duration;
  readonly #onArrival: (at: Instant, now: Instant) => void;
  #closed = false;

  /** @param onArrival told of each arrival when it counts. */
  constructor(
    { kernel }: PolicyPorts,
    { lifecycle, parameters }: { readonly lifecycle: Lifecycle; readonly parameters: SfsParameters },
    onArrival: (at: Instant, now: Instant) => void,
  ) {
    this.#kernel = kernel;
    this.#lifecycle = lifecycle;
    this.#arrivalAfter = parameters.arrivalAfter;
    this.#onArrival = onArrival;
  }

  /** Refuses everything from now on. */
  close(): void {
    this.#closed = true;
  }

  /** An open record that is nowhere yet, neither counted nor recorded as arrived; or why there is none. */
  take(submission: Submission, entry: Entry, now: Instant): Life | Exclude<Admission, 'ok'> {
    const { lives } = this.#lifecycle;
    if (lives.find(submission.key) !== undefined) return 'duplicate';
    if (this.#closed || lives.full) return 'full';
    this.countDue(now);
    const identity = identityOf(submission.group);
    const attached = this.#attach(submission, { identity, entry }, now);
    if (attached !== 'ok') return attached;
    const life = lives.open(submission, identity, instant(Math.min(submission.arrivedAt, now)));
    life.attached = true;
    return life;
  }

  count(life: Life, entry: Entry, now: Instant): void {
    if (entry === 'process') {
      this.#arrived(life.waitsSince, now);
      return;
    }
    life.countsAt = after(now, this.#arrivalAfter);
    this.#lifecycle.uncounted.enqueue(life.slot);
  }

  /** Counts the busy periods that have run for arrivalAfter by now, at the time when each had. */
  countDue(now: Instant): void {
    const { uncounted, lives } = this.#lifecycle;
    while (uncounted.length > 0) {
      const life = lives.at(uncounted.first);
      if (life.countsAt > now) return;
      uncounted.remove(life.slot);
      this.#arrived(life.countsAt, now);
    }
  }

  #arrived(at: Instant, now: Instant): void {
    this.#lifecycle.counters.arrivals += 1;
    this.#onArrival(at, now);
  }

  /** A group that another live invocation names is rebound: that one ends here, and its attachment goes over. */
  #attach(
    { group, key }: Submission,
    { identity, entry }: { readonly identity: string; readonly entry: Entry },
    now: Instant,
  ): ReturnType<Kernel['attach']> {
    const former = this.#lifecycle.lives.ownerOf(identity);
    const rebound = former?.attached === true;
    const reason = entry === 'busyPeriod' ? 'completed' : 'cancelled';
    if (former !== undefined) this.#lifecycle.end(former, reason, now, 'keepAttached');
    const attached = this.#kernel.attach(group, key);
    if (attached !== 'ok' && rebound) this.#kernel.release(group);
    return attached;
  }
}
