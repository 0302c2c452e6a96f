/**
 * Closed loops of `burn`: each sends the next request when its last was answered, so that FILTER always has work and the host is never
 * more than so many functions behind.
 */
import type { SfsdClient } from '../../src/cli/client.js';
import type { ResultBody } from '../../src/contracts/http.js';
import { burnPath } from './bounded-child.js';

const functionName = 'bench-burn';
const failureCheckMs = 100;

export interface LoadOptions {
  readonly client: SfsdClient;
  readonly loops: number;
  /** CPU time of the next function. */
  readonly nextMs: () => number;
  readonly onResult?: (result: ResultBody) => void;
}

export class ClosedLoops {
  readonly #options: LoadOptions;
  readonly #loops: Promise<void>[] = [];
  #stopped = false;
  #failure: unknown;
  cpuMs = 0;
  answered = 0;

  private constructor(options: LoadOptions) {
    this.#options = options;
  }

  static async start(options: LoadOptions): Promise<ClosedLoops> {
    await options.client.putFunction(functionName, { command: burnPath, args: ['--stdin'] });
    const load = new ClosedLoops(options);
    for (let index = 0; index < options.loops; index += 1) load.#loops.push(load.#loop());
    return load;
  }

  /** Goes on for so long, or until something goes wrong. */
  async runFor(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (!this.#stopped && performance.now() < until) {
      await sleep(Math.min(failureCheckMs, until - performance.now()));
    }
  }

  /** Resolves once what was under way is answered. Throws what went wrong meanwhile. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #loop(): Promise<void> {
    const { client, nextMs, onResult } = this.#options;
    try {
      while (!this.#stopped) {
        const result = await client.invokeDetailed(functionName, {
          body: Buffer.from(`${nextMs().toFixed(3)}\n`),
        });
        if (result.exit !== 'exited 0') throw new Error(`burn ended with ${result.exit}`);
        this.cpuMs += result.cpuMs;
        this.answered += 1;
        onResult?.(result);
      }
    } catch (thrown) {
      this.#failure ??= thrown;
      this.#stopped = true;
    }
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
