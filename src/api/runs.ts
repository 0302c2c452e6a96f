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
  /** Whom it runs as. */
  readonly ownerUid: number;
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
    const cancellation = new Cancellation();
    const run = { ...options, signal: cancellation, cancel: () => cancellation.cancel() };
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

/** What a launch needs of an AbortController, which costs as much as a whole registration. */
class Cancellation implements CancelSignal {
  #aborted = false;
  readonly #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index >= 0) this.#listeners.splice(index, 1);
  }

  cancel(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

/** A source holds no space, so the pair is told apart. */
export function invocationName(source: string, id: string): string {
  return `${source} ${id}`;
}
