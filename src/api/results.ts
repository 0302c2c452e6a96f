/**
 * Results of asynchronous runs, kept until newer ones push them out. Two bounds: their number, and the bytes of their output.
 *
 *   oldest [ r1 | r2 | ... | rn ] newest        a Map keeps insertion order: the first key is the oldest
 *
 * The newest is kept whatever its bytes, so memory is at most `bytesMax` plus one result. Nothing is kept on disk:
 * the store knows of those in flight only.
 */
import type { DecisionBody } from '../contracts/http.js';
import type { InvocationKey } from '../contracts/invocation.js';
import type { FinishedRun } from './bodies.js';
import { invocationName } from './runs.js';

/** Bytes of stdout and stderr kept, all results together. */
const resultsBytesMax = 64 * 1024 * 1024;

export interface KeptResult {
  readonly run: FinishedRun;
  /** Absent: it is lost, and the plane never knew it. */
  readonly key?: InvocationKey;
  /** As far as they were known when the run ended; the plane may know more, as long as it remembers the invocation. */
  readonly decisions: readonly DecisionBody[];
}

export class Results {
  readonly #kept = new Map<string, KeptResult>();
  readonly #countMax: number;
  readonly #bytesMax: number;
  #bytes = 0;
  #dropped = 0;

  constructor(bounds: { readonly countMax: number; readonly bytesMax?: number }) {
    this.#countMax = bounds.countMax;
    this.#bytesMax = bounds.bytesMax ?? resultsBytesMax;
  }

  put(result: KeptResult): void {
    const name = invocationName(result.run.source, result.run.id);
    this.#remove(name);
    this.#kept.set(name, result);
    this.#bytes += bytesOf(result);
    for (const oldest of this.#kept.keys()) {
      const within = this.#kept.size <= this.#countMax && this.#bytes <= this.#bytesMax;
      const newestAlone = this.#kept.size === 1 && this.#countMax > 0;
      if (within || newestAlone) return;
      this.#remove(oldest);
      this.#dropped += 1;
    }
  }

  get(source: string, id: string): KeptResult | undefined {
    return this.#kept.get(invocationName(source, id));
  }

  get count(): number {
    return this.#kept.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many were pushed out. */
  get dropped(): number {
    return this.#dropped;
  }

  #remove(name: string): void {
    const result = this.#kept.get(name);
    if (result === undefined) return;
    this.#kept.delete(name);
    this.#bytes -= bytesOf(result);
  }
}

function bytesOf({ run }: KeptResult): number {
  return run.outcome.stdout.byteLength + run.outcome.stderr.byteLength;
}
