/**
 * Carries what is believed of CPU times over a restart: the control plane learns from the same ends as the scheduling thread, and writes
 * what has changed to the store every minute and at the stop. After a crash the last minute is unknown, which costs a little precision.
 *
 *   scheduling thread ──ended──▶ decisions ──▶ here ──every minute──▶ store ──at the next start──▶ both
 *
 * Rejected: asking the thread for its tables, which would be a second way out of it and work at real-time priority.
 */
import type { Logger } from 'pino';
import { reasonOf } from '../../contracts/errors.js';
import type { Invocation } from '../../contracts/invocation.js';
import { type Decision, endReasons, lifeStates } from '../../contracts/scheduler.js';
import type { BeliefRow, Store } from '../../contracts/store.js';
import { bucketCount } from '../../scheduler/gittins/duration-buckets.js';
import { DurationHistory } from '../../scheduler/gittins/duration-history.js';

const keepEveryMs = 60_000;
/** Of one write: what a minute of a large host changes. */
const rowsMax = 4096;

/** Of buckets that this version has; others are of another version, and are learned anew. */
export function historyOf(rows: readonly BeliefRow[]): DurationHistory {
  const history = new DurationHistory();
  for (const { name, weights } of rows) if (weights.length === bucketCount) history.restore(name, weights);
  return history;
}

export class BeliefKeeper {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #history: DurationHistory;
  readonly #changed = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
    this.#history = historyOf(store.storedBeliefs);
    this.#timer = setInterval(() => void this.#keep(), keepEveryMs).unref();
  }

  /** As the scheduling thread: of one that nobody looked at while it lived nothing is known. */
  ended({ functionName }: Invocation, { value, extra, cpuTime }: Decision): void {
    const isKnown = cpuTime > 0 || lifeStates[extra] === 'filter';
    if (endReasons[value] === 'cancelled' || !isKnown) return;
    this.#history.learn(functionName, cpuTime);
    for (const name of this.#history.namesOf(functionName)) this.#changed.add(name);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#changed.size > 0) await this.#keep();
  }

  async #keep(): Promise<void> {
    const names = [...this.#changed].slice(0, rowsMax);
    const rows = names.flatMap((name) => {
      this.#changed.delete(name);
      const weights = this.#history.find(name)?.weights;
      return weights === undefined ? [] : [{ name, weights: Float32Array.from(weights) }];
    });
    if (rows.length === 0) return;
    try {
      await this.#store.beliefs.keep(rows);
    } catch (thrown) {
      // The store has told of it, and what is believed goes on in memory.
      this.#log.debug({ event: 'beliefs_not_kept', reason: reasonOf(thrown) });
    }
  }
}
