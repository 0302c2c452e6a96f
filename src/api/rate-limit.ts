/**
 * A token bucket for each client: `requestsBurst` requests at once, `requestsPerSecond` on average. It is spent before a request
 * has any effect.
 *
 *   bucket   [ left: 0 .. burst ]   refilled by the time since the last request, when the next one comes
 *
 * The table is bounded; the oldest entry makes way, and its client starts anew with a full bucket: that takes more clients than
 * have uids on most hosts, and each gains one burst.
 */
import type { Instant } from '../contracts/time.js';

const bucketsMax = 4096;

export interface RateLimit {
  readonly requestsPerSecond: number;
  readonly requestsBurst: number;
}

export class Bucket {
  readonly #limit: RateLimit;
  #left: number;
  #at: number | undefined;

  constructor(limit: RateLimit) {
    this.#limit = limit;
    this.#left = limit.requestsBurst;
  }

  /** @returns 0, or in how many seconds there is room for a request. */
  take(now: Instant): number {
    const { requestsPerSecond, requestsBurst } = this.#limit;
    const refill = ((now - (this.#at ?? now)) * requestsPerSecond) / 1e6;
    this.#at = now;
    this.#left = Math.min(requestsBurst, this.#left + refill);
    if (this.#left < 1) return (1 - this.#left) / requestsPerSecond;
    this.#left -= 1;
    return 0;
  }
}

export class Buckets {
  readonly #limit: RateLimit;
  readonly #byClient = new Map<string, Bucket>();

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  of(client: string): Bucket {
    const known = this.#byClient.get(client);
    if (known !== undefined) return known;
    if (this.#byClient.size >= bucketsMax) {
      for (const oldest of this.#byClient.keys()) {
        this.#byClient.delete(oldest);
        break;
      }
    }
    const bucket = new Bucket(this.#limit);
    this.#byClient.set(client, bucket);
    return bucket;
  }

  get size(): number {
    return this.#byClient.size;
  }
}
