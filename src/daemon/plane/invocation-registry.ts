/**
 * Who is live, who has finished lately, and what was decided about each: the control plane's memory.
 *
 *   (source, id) ──▶ key ──▶ entry { invocation, state, decisions }
 *   live entries:      bounded by liveMax (the door counts places before any side effect)
 *   finished entries:  the last `finishedMax`, oldest forgotten first, so that `sfsd why` answers for a while
 */
import { SfsdError } from '../../contracts/errors.js';
import { type Invocation, type InvocationKey, invocationKey } from '../../contracts/invocation.js';
import type { Decision, DecisionKind, LifeState } from '../../contracts/scheduler.js';
import type { Explanation, NewInvocation } from '../../contracts/scheduling-plane.js';

/** A life that blocks and wakes forever must not grow without bound: the first and the last decisions are kept. */
const decisionsPerInvocationMax = 128;

interface Entry {
  readonly invocation: Invocation;
  state: LifeState | 'submitted' | 'ended';
  decisions: Decision[];
  incomplete: boolean;
  /** Its caller has ended it; the decision that says so is on its way. */
  endAsked: boolean;
}

const stateAfter: Readonly<Record<DecisionKind, LifeState | 'ended' | undefined>> = {
  arrived: 'queued',
  promoted: 'filter',
  demoted: 'fair',
  blocked: 'blocked',
  woken: 'queued',
  bypassed: 'fair',
  denied: 'fair',
  paused: undefined,
  resumed: undefined,
  sliced: undefined,
  ended: 'ended',
};

export class InvocationRegistry {
  readonly #finishedMax: number;
  readonly #entries = new Map<InvocationKey, Entry>();
  readonly #keys = new Map<string, InvocationKey>();
  /** Finished keys, oldest first; a Set keeps insertion order. */
  readonly #finished = new Set<InvocationKey>();
  #lastKey = 0;

  constructor(options: { readonly finishedMax: number }) {
    this.#finishedMax = options.finishedMax;
  }

  get liveCount(): number {
    return this.#entries.size - this.#finished.size;
  }

  /**
   * @throws SfsdError SFSD_ERR_INVOCATION_DUPLICATE while one of that name is live. One that has finished, or that its caller has
   * ended, gives its name away.
   */
  add(fresh: NewInvocation): Invocation {
    const name = nameOf(fresh.source, fresh.id);
    const known = this.#keys.get(name);
    if (known !== undefined && !this.#hasGivenNameAway(known)) {
      throw new SfsdError('SFSD_ERR_INVOCATION_DUPLICATE', { id: fresh.id, source: fresh.source });
    }
    // One that is still ending keeps its place, and is found by its key alone.
    if (known !== undefined && this.#finished.has(known)) this.#forget(known);
    this.#lastKey += 1;
    const invocation: Invocation = { ...fresh, key: invocationKey(this.#lastKey) };
    this.#entries.set(invocation.key, {
      invocation,
      state: 'submitted',
      decisions: [],
      incomplete: false,
      endAsked: false,
    });
    this.#keys.set(name, invocation.key);
    return invocation;
  }

  /** Takes back an `add` whose hand-over failed. */
  remove(key: InvocationKey): void {
    this.#forget(key);
  }

  find(source: string, id: string): InvocationKey | undefined {
    return this.#keys.get(nameOf(source, id));
  }

  /** Its caller has been told that it is over, so its name may be used again at once. */
  endAsked(key: InvocationKey): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.endAsked = true;
  }

  isLive(key: InvocationKey): boolean {
    return this.#entries.has(key) && !this.#finished.has(key);
  }

  invocation(key: InvocationKey): Invocation | undefined {
    return this.#entries.get(key)?.invocation;
  }

  liveInvocations(): Invocation[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.state !== 'ended')
      .map((entry) => entry.invocation);
  }

  /** Writes one decision into its entry. Returns true when it ended a live invocation. */
  apply(decision: Decision, context: { readonly overflowed: boolean }): boolean {
    const entry = this.#entries.get(decision.key);
    if (entry === undefined || entry.state === 'ended') return false;
    if (context.overflowed) entry.incomplete = true;
    if (entry.decisions.length >= decisionsPerInvocationMax) {
      entry.decisions.splice(decisionsPerInvocationMax / 2, 1);
      entry.incomplete = true;
    }
    entry.decisions.push(decision);
    entry.state = stateAfter[decision.kind] ?? entry.state;
    if (decision.kind !== 'ended') return false;
    this.#finish(decision.key);
    return true;
  }

  explain(key: InvocationKey): Explanation | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { invocation, state, decisions, incomplete } = entry;
    return { invocation, state, decisions: [...decisions], incomplete };
  }

  #hasGivenNameAway(key: InvocationKey): boolean {
    return this.#finished.has(key) || this.#entries.get(key)?.endAsked === true;
  }

  #finish(key: InvocationKey): void {
    this.#finished.add(key);
    if (this.#finished.size <= this.#finishedMax) return;
    const [oldest] = this.#finished;
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forget(key: InvocationKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#finished.delete(key);
    const name = nameOf(entry.invocation.source, entry.invocation.id);
    if (this.#keys.get(name) === key) this.#keys.delete(name);
  }
}

/** Neither part may hold a NUL (the API's patterns), so the pair is unambiguous. */
function nameOf(source: string, id: string): string {
  return `${source}\0${id}`;
}
