/**
 * What has been acquired, as a stack: released in reverse order, each once, and a release that fails does not keep the rest
 * from being released.
 */
import type { Logger } from 'pino';
import { reasonOf } from '../contracts/errors.js';

export class Releases {
  readonly #log: Logger;
  readonly #stack: { readonly name: string; readonly release: () => Promise<void> }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  push(name: string, release: () => Promise<void>): void {
    this.#stack.push({ name, release });
  }

  async run(): Promise<void> {
    for (let last = this.#stack.pop(); last !== undefined; last = this.#stack.pop()) {
      try {
        await last.release();
      } catch (thrown) {
        this.#log.error({ event: 'release_failed', what: last.name, reason: reasonOf(thrown) });
      }
    }
  }
}
