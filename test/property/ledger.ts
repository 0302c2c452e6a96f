/**
 * Where each invocation is, told from the decision log alone: plain arrays and maps. A decision that does not follow from the
 * one before it, or a pick-up out of order, is a failed assertion.
 */
import { assert } from '../../src/contracts/errors.js';
import { type Decision, lifeStates } from '../../src/contracts/scheduler.js';

export type Place = 'queued' | 'filter' | 'blocked' | 'fair' | 'ended';

export class Ledger {
  readonly queue: number[] = [];
  readonly places = new Map<number, Place>();
  /** Keys that never enter the queue: policy cfs. */
  readonly #fairFromStart: ReadonlySet<number>;
  /** Workers that step down; -1: the whole pool. */
  readonly #paused = new Set<number>();
  #at = 0;

  constructor(fairFromStart: ReadonlySet<number>) {
    this.#fairFromStart = fairFromStart;
  }

  isPaused(worker: number): boolean {
    return this.#paused.has(-1) || this.#paused.has(worker);
  }

  get paused(): boolean {
    return this.#paused.size > 0;
  }

  keysIn(place: Place): number[] {
    return [...this.places].filter((entry) => entry[1] === place).map((entry) => entry[0]);
  }

  take(decision: Decision): void {
    const { key, kind } = decision;
    const place = this.places.get(key);
    const say = `${kind} of ${key} at ${decision.at}, which is ${place}`;
    assert(decision.at >= this.#at, `time goes forward: ${say}`);
    this.#at = decision.at;
    switch (kind) {
      case 'arrived':
        assert(place === undefined, say);
        if (this.#fairFromStart.has(key)) this.places.set(key, 'fair');
        else {
          assert(decision.extra === this.queue.length, `the queue length is recorded: ${say}`);
          this.places.set(key, 'queued');
          this.queue.push(key);
        }
        break;
      case 'promoted':
        this.#fromHead(key, say);
        this.places.set(key, 'filter');
        break;
      case 'bypassed':
        assert(decision.value >= decision.extra, say);
        this.#fromHead(key, say);
        this.places.set(key, 'fair');
        break;
      case 'denied':
        if (place === 'queued') this.#fromHead(key, say);
        else assert(place === 'filter', say);
        this.places.set(key, 'fair');
        break;
      case 'blocked':
        if (place === 'queued') this.#fromHead(key, say);
        else assert(place === 'filter', say);
        this.places.set(key, 'blocked');
        break;
      case 'woken':
        assert(place === 'blocked' && decision.value > 0, say);
        this.places.set(key, 'queued');
        this.queue.push(key);
        break;
      case 'demoted':
        assert(place === 'filter' || place === 'blocked', say);
        this.places.set(key, 'fair');
        break;
      case 'ended':
        assert(place !== undefined && place !== 'ended', say);
        assert(lifeStates[decision.extra] === place, `its last state is recorded: ${say}`);
        if (place === 'queued') this.queue.splice(this.queue.indexOf(key), 1);
        this.places.set(key, 'ended');
        break;
      case 'paused':
        assert(!this.#paused.has(decision.worker), say);
        this.#paused.add(decision.worker);
        break;
      case 'resumed':
        assert(this.#paused.has(decision.worker), say);
        this.#paused.delete(decision.worker);
        break;
      case 'sliced':
        break;
    }
  }

  /** Workers went away: of these keys, in the order of workers, those still held are at the head of the queue again. */
  putBack(keys: readonly number[]): void {
    const back = keys.filter((key) => this.places.get(key) === 'filter');
    for (const key of back) this.places.set(key, 'queued');
    this.queue.unshift(...back);
  }

  #fromHead(key: number, say: string): void {
    assert(this.queue[0] === key, `the head of the queue is first: ${say}, the head is ${this.queue[0]}`);
    this.queue.shift();
  }
}
