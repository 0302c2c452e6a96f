/**
 * Registrations as a load generator sends them: lists leave when they are due, answers are counted when they come.
 */
import type { SfsdClient } from '../../src/cli/client.js';
import type { RegistrationBody, StatusBody } from '../../src/contracts/http.js';
import { sleep } from './load.js';
import { atMost, type Figure } from './measure.js';

/** How often a list leaves. A platform that batches for longer adds that to its functions' delay. */
export const listEveryMs = 4;
/** Everything has ended by then, or is lost. */
const settleLimitMs = 5000;
const settlePollMs = 50;

/** What the generator saw. */
export interface Sent {
  readonly requested: number;
  readonly accepted: number;
  /** Codes of refusals, each once. */
  readonly refusals: readonly string[];
  readonly lagMs: readonly number[];
  readonly answerMs: readonly number[];
}

/** Counts what is sent and what comes back, without waiting for it in between. */
export class Ledger {
  readonly #client: SfsdClient;
  readonly #underWay: Promise<void>[] = [];
  readonly #lagMs: number[] = [];
  readonly #answerMs: number[] = [];
  readonly #refusals = new Set<string>();
  #requested = 0;
  #accepted = 0;

  constructor(client: SfsdClient) {
    this.#client = client;
  }

  send(list: readonly RegistrationBody[], { lagMs }: { readonly lagMs: number }): void {
    this.#requested += list.length;
    this.#lagMs.push(lagMs);
    this.#underWay.push(this.#one(list));
  }

  async close(): Promise<Sent> {
    await Promise.all(this.#underWay);
    return {
      requested: this.#requested,
      accepted: this.#accepted,
      refusals: [...this.#refusals],
      lagMs: this.#lagMs,
      answerMs: this.#answerMs,
    };
  }

  async #one(list: readonly RegistrationBody[]): Promise<void> {
    const start = performance.now();
    try {
      for (const entry of await this.#client.register(list)) {
        if ('code' in entry) this.#refusals.add(entry.code);
        else this.#accepted += 1;
      }
    } catch (thrown) {
      this.#refusals.add((thrown as { code?: string }).code ?? String(thrown));
    }
    this.#answerMs.push(performance.now() - start);
  }
}

/** Waits until nothing is live any more. */
export async function settled(client: SfsdClient): Promise<StatusBody> {
  const limit = Date.now() + settleLimitMs;
  for (;;) {
    const status = await client.status();
    if (status.live === 0 || Date.now() > limit) return status;
    await sleep(settlePollMs);
  }
}

export function lostFigure(
  name: string,
  { value, note }: { readonly value: number; readonly note: string },
): Figure {
  return { line: 5, name, value, unit: 'registrations', bound: atMost(0), across: 'worst', note };
}

export function refusalText({ refusals }: Sent): string {
  return refusals.length === 0 ? '' : `; refused: ${refusals.join(', ')}`;
}
