/**
 * One timer for all that the control plane looks at now and then: beside functions that fill the caches, a wake costs more than what is
 * done in it. It runs while anybody has joined.
 */
import type { Tick } from '../contracts/time.js';

export class SharedTick implements Tick {
  readonly #intervalMs: number;
  readonly #works = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  join(work: () => void): () => void {
    this.#works.add(work);
    this.#timer ??= setInterval(() => this.#tick(), this.#intervalMs).unref();
    return () => {
      this.#works.delete(work);
      if (this.#works.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #tick(): void {
    for (const work of this.#works) work();
  }
}
