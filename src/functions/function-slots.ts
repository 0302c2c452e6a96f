/**
 * How many instances of each function run: the concurrency bound. Counted by name, apart from the registry, so that instances of
 * a function that was deleted, or replaced, while they run are still counted until they end.
 */
import { assert, SfsdError } from '../contracts/errors.js';
import type { FunctionSpec } from '../contracts/function.js';

export class FunctionSlots {
  readonly #running = new Map<string, number>();
  #total = 0;

  /** Takes one slot. Throws SFSD_ERR_FUNCTION_BUSY. @returns gives it back; idempotent. */
  acquire(spec: FunctionSpec): () => void {
    const { name, concurrency } = spec;
    const running = this.running(name);
    if (running >= concurrency) throw new SfsdError('SFSD_ERR_FUNCTION_BUSY', { name, concurrency });
    this.#running.set(name, running + 1);
    this.#total++;
    let held = true;
    return () => {
      if (held) this.#release(name);
      held = false;
    };
  }

  running(name: string): number {
    return this.#running.get(name) ?? 0;
  }

  get total(): number {
    return this.#total;
  }

  #release(name: string): void {
    const running = this.running(name);
    assert(running > 0, 'a slot that is given back was taken');
    if (running === 1) this.#running.delete(name);
    else this.#running.set(name, running - 1);
    this.#total--;
  }
}
