/**
 * Changes on their way to the store's thread.
 *
 *   add ─▶ [ waiting ] ──at the end of the tick, when none is under way──▶ [ under way ] ──answer──▶ settled
 *
 * An end that could not be written waits for the next batch: the invocation would otherwise be told of as lost. All else that fails is its
 * caller's to know.
 */
import { assert, SfsdError } from '../contracts/errors.js';
import type { StoreChange } from './store-file.js';

/** Changes in one transaction: what a caller waits for, and what the thread holds the file for, at most. */
const batchMax = 1024;
/** Waiting changes; beyond it they are refused. Ends do not count, each belongs to a begin that did. */
const waitingMax = 65_536;

interface Waiting {
  readonly change: StoreChange;
  readonly settle: (failure: SfsdError | undefined) => void;
}

export interface ChangeQueueOptions {
  readonly path: string;
  readonly send: (changes: readonly StoreChange[]) => void;
  /** Of a batch; undefined: it was written. */
  readonly report: (failure: SfsdError | undefined, changes: number) => void;
}

export class ChangeQueue {
  readonly #options: ChangeQueueOptions;
  #waiting: Waiting[] = [];
  #underWay: readonly Waiting[] = [];
  #scheduled = false;
  #broken: SfsdError | undefined;
  #idle: (() => void)[] = [];

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
  }

  add(change: StoreChange): Promise<void> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal(change);
      if (refusal !== undefined) {
        this.#options.report(refusal, 1);
        reject(refusal);
        return;
      }
      const settle = (failure: SfsdError | undefined) =>
        failure === undefined ? resolve() : reject(failure);
      this.#waiting.push({ change, settle });
      this.#schedule();
    });
  }

  /** The thread's answer to what was sent. */
  answered(failure: SfsdError | undefined): void {
    const batch = this.#underWay;
    assert(batch.length > 0, 'an answer belongs to a batch');
    this.#underWay = [];
    this.#options.report(failure, batch.length);
    const again = failure === undefined ? [] : batch.filter(({ change }) => change.kind === 'end');
    this.#waiting.unshift(...again);
    for (const waiting of batch) if (!again.includes(waiting)) waiting.settle(failure);
    // A batch of nothing but ends that failed is tried again with the next change, not at once.
    if (this.#waiting.length > again.length) this.#schedule();
    else this.#tellIdle();
  }

  /** Nothing is written any more. */
  break(failure: SfsdError): void {
    this.#broken = failure;
    const all = [...this.#underWay, ...this.#waiting];
    this.#underWay = [];
    this.#waiting = [];
    if (all.length > 0) this.#options.report(failure, all.length);
    for (const { settle } of all) settle(failure);
    this.#tellIdle();
  }

  /** Resolves when everything has been written, or cannot be. */
  idle(): Promise<void> {
    if (this.#underWay.length === 0 && this.#waiting.length > 0) this.#schedule();
    if (this.#underWay.length === 0 && !this.#scheduled) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #refusal({ kind }: StoreChange): SfsdError | undefined {
    if (this.#broken !== undefined) return this.#broken;
    if (kind === 'end' || this.#waiting.length < waitingMax) return undefined;
    const reason = `${waitingMax} changes wait for the disk already`;
    return new SfsdError('SFSD_ERR_STORE_FAILED', { path: this.#options.path, reason });
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay.length > 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#underWay = this.#waiting.splice(0, batchMax);
      if (this.#underWay.length > 0) this.#options.send(this.#underWay.map(({ change }) => change));
      else this.#tellIdle();
    });
  }

  #tellIdle(): void {
    for (const tell of this.#idle.splice(0)) tell();
  }
}
