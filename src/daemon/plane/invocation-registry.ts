/**
 * Who is live, who has finished lately, and what was decided about each: the control plane's memory.
 *
 *   (source, id) ──▶ key ──▶ entry { invocation, state, decisions }
 *   live entries:      bounded by liveMax (the door counts places before any side effect)
 *   finished entries:  the last `finishedMax`, oldest forgotten first, so that `sfsd why` answers for a while; of a flood, the first
 *                      `rememberedMax` of each 100 ms. Half a second of 20,000 a second is not worth remembering, and it is what
 *                      makes garbage collection slow: what is young and lives on is copied, 20 ms at a time.
 */
import { SfsdError } from '../../contracts/errors.js';
import { type Invocation, type InvocationKey, invocationKey } from '../../contracts/invocation.js';
import type { Decision, DecisionKind, LifeState } from '../../contracts/scheduler.js';
import type { Explanation, NewInvocation } from '../../contracts/scheduling-plane.js';
import { fromMs, type Instant } from '../../contracts/time.js';
import { DecisionHistory, EmptyChain } from './decision-history.js';
import { EntryIndex, type Indexed } from './entry-index.js';

/** Decisions that are kept for each invocation that is; a life has three or four. */
const decisionsPerEntry = 8;
const entriesMin = 1024;

const rememberedMax = 200;
const rememberedPer = fromMs(100);

/** A class, because all its fields then lie in the object itself. */
class Entry extends EmptyChain implements Indexed<Entry> {
  readonly invocation: Invocation;
  nextOfName: Entry | undefined = undefined;
  state: LifeState | 'submitted' | 'ended' = 'submitted';
  incomplete = false;
  /** Its caller has ended it; the decision that says so is on its way. */
  endAsked = false;

  constructor(invocation: Invocation) {
    super();
    this.invocation = invocation;
  }
}

const stateAfter: Readonly<Record<DecisionKind, LifeState | 'ended' | undefined>> = {
  arrived: 'queued',
  promoted: 'filter',
  demoted: 'fair',
  blocked: 'blocked',
  woken: 'queued',
  bypassed: 'fair',
  preempted: 'queued',
  denied: 'fair',
  paused: undefined,
  resumed: undefined,
  sliced: undefined,
  ended: 'ended',
};

export class InvocationRegistry {
  readonly #index = new EntryIndex<Entry>();
  readonly #history: DecisionHistory;
  /** The last finished ones, in a circle; some may be forgotten already. */
  readonly #finished: (Entry | undefined)[];
  #finishes = 0;
  /** Of the finishes, the first that may still be remembered. */
  #oldestFinish = 0;
  #finishedCount = 0;
  #lastKey = 0;
  /** The 100 ms that the last finished one fell into, and how many of it are remembered. */
  #period = 0;
  #remembered = 0;

  constructor(options: { readonly finishedMax: number }) {
    const { finishedMax } = options;
    this.#finished = new Array<Entry | undefined>(finishedMax).fill(undefined);
    this.#history = new DecisionHistory({
      recordsMax: Math.max(finishedMax, entriesMin) * decisionsPerEntry,
    });
  }

  get liveCount(): number {
    return this.#index.size - this.#finishedCount;
  }

  /**
   * @throws SfsdError SFSD_ERR_INVOCATION_DUPLICATE while one of that name is live. One that has finished, or that its caller has
   * ended, gives its name away.
   */
  add(fresh: NewInvocation): Invocation {
    const known = this.#index.find(fresh.source, fresh.id);
    if (known !== undefined && known.state !== 'ended' && !known.endAsked) {
      throw new SfsdError('SFSD_ERR_INVOCATION_DUPLICATE', { id: fresh.id, source: fresh.source });
    }
    // One that is still ending keeps its place, and is found by its key alone.
    if (known?.state === 'ended') this.#forget(known);
    this.#lastKey += 1;
    const invocation: Invocation = { ...fresh, key: invocationKey(this.#lastKey) };
    this.#index.add(new Entry(invocation));
    return invocation;
  }

  /** Takes back an `add` whose hand-over failed. */
  remove(key: InvocationKey): void {
    const entry = this.#index.get(key);
    if (entry !== undefined) this.#forget(entry);
  }

  find(source: string, id: string): InvocationKey | undefined {
    return this.#index.find(source, id)?.invocation.key;
  }

  /** Its caller has been told that it is over, so its name may be used again at once. */
  endAsked(key: InvocationKey): void {
    const entry = this.#index.get(key);
    if (entry !== undefined) entry.endAsked = true;
  }

  isLive(key: InvocationKey): boolean {
    const entry = this.#index.get(key);
    return entry !== undefined && entry.state !== 'ended';
  }

  invocation(key: InvocationKey): Invocation | undefined {
    return this.#index.get(key)?.invocation;
  }

  liveInvocations(): readonly Invocation[] {
    const live: Invocation[] = [];
    this.#index.visit(({ state, invocation }) => {
      if (state !== 'ended') live.push(invocation);
    });
    return live;
  }

  /** Writes one decision into its entry. Returns true when it ended a live invocation. */
  apply(decision: Decision, context: { readonly overflowed: boolean }): boolean {
    const entry = this.#index.get(decision.key);
    if (entry === undefined || entry.state === 'ended') return false;
    if (context.overflowed) entry.incomplete = true;
    if (this.#write(entry, decision) !== 'ok') entry.incomplete = true;
    entry.state = stateAfter[decision.kind] ?? entry.state;
    if (decision.kind !== 'ended') return false;
    this.#finishedCount += 1;
    if (this.#isWorthRemembering(decision.at)) this.#remember(entry);
    else this.#forget(entry);
    return true;
  }

  explain(key: InvocationKey): Explanation | undefined {
    const entry = this.#index.get(key);
    if (entry === undefined) return undefined;
    const { invocation, state, incomplete } = entry;
    return { invocation, state, decisions: this.#history.list(entry, key), incomplete };
  }

  /** What has finished longest ago makes room for what happens now. */
  #write(entry: Entry, decision: Decision): 'ok' | 'dropped' | 'full' {
    let answer = this.#history.append(entry, decision);
    while (answer === 'full' && this.#forgetOldest()) answer = this.#history.append(entry, decision);
    return answer;
  }

  #isWorthRemembering(at: Instant): boolean {
    const period = Math.floor(at / rememberedPer);
    if (period !== this.#period) this.#remembered = 0;
    this.#period = period;
    this.#remembered += 1;
    return this.#remembered <= rememberedMax;
  }

  #remember(entry: Entry): void {
    if (this.#finishes - this.#oldestFinish === this.#finished.length) this.#forgetOldest();
    this.#finished[this.#finishes % this.#finished.length] = entry;
    this.#finishes += 1;
  }

  /** @returns false when there is none. */
  #forgetOldest(): boolean {
    if (this.#oldestFinish === this.#finishes) return false;
    const place = this.#oldestFinish % this.#finished.length;
    const oldest = this.#finished[place];
    this.#finished[place] = undefined;
    this.#oldestFinish += 1;
    if (oldest !== undefined && this.#index.get(oldest.invocation.key) === oldest) this.#forget(oldest);
    return true;
  }

  #forget(entry: Entry): void {
    if (entry.state === 'ended') this.#finishedCount -= 1;
    this.#history.release(entry);
    this.#index.remove(entry);
  }
}
