/**
 * Function runs that this server started and that have not ended: so that DELETE can end one, also while it is starting.
 * Bounded by the plane's live invocations and the server's connections: each run holds a place in one or the other.
 */
import { SfsdError } from '../contracts/errors.js';
import type { CancelSignal } from '../contracts/function.js';
import type { Instant } from '../contracts/time.js';

export interface Run {
  readonly source: string;
  readonly id: string;
  readonly functionName: string;
  readonly arrivedAt: Instant;
  readonly enqueuedAt: Instant;
  readonly signal: CancelSignal;
  /** Ends the function; idempotent. */
  cancel(): void;
}

export class Runs {
  readonly #live = new Map<string, Run>();

  /** Throws SFSD_ERR_INVOCATION_DUPLICATE. Released by `close`. */
  open(options: Omit<Run, 'signal' | 'cancel'>): Run {
    const key = invocationName(options.source, options.id);
    if (this.#live.has(key)) {
      throw new SfsdError('SFSD_ERR_INVOCATION_DUPLICATE', { id: options.id, source: options.source });
    }
    const controller = new AbortController();
    const run = { ...options, signal: controller.signal, cancel: () => controller.abort() };
    this.#live.set(key, run);
    return run;
  }

  close(run: Run): void {
    this.#live.delete(invocationName(run.source, run.id));
  }

  get(source: string, id: string): Run | undefined {
    return this.#live.get(invocationName(source, id));
  }

  get count(): number {
    return this.#live.size;
  }
}

/** A source holds no space, so the pair is told apart. */
export function invocationName(source: string, id: string): string {
  return `${source} ${id}`;
}
