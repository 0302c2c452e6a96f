/**
 * The store as the daemon has it: the file's thread, the changes on their way to it, and what it held when it was opened.
 *
 * Instants become milliseconds since 1970 on their way out and instants again on their way in, by the two clocks' readings at that moment:
 * CLOCK_MONOTONIC starts anew with the host. What happened before the host's start is a negative instant.
 */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type {
  AsyncInvocation,
  AsyncInvocations,
  BeliefRow,
  BeliefRows,
  FunctionRow,
  FunctionRows,
  InvocationName,
  LostInvocation,
  Store,
  StoreStatus,
} from '../contracts/store.js';
import { type Clock, type Instant, instant } from '../contracts/time.js';
import { ChangeQueue } from './change-queue.js';
import { schemaVersion } from './schema.js';
import type { LostRow, StoreContents, StoreFileOptions } from './store-file.js';
import { errorOf, type FromStore, type ToStore } from './store-protocol.js';

/** For a file of any size that we let grow, read whole and checked. */
const openMaxMs = 60_000;
/** The daemon promises to stop within 5 s. */
const closeMaxMs = 1500;

export interface DurableStoreOptions {
  readonly path: string;
  readonly lostMax: number;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly wallClock: () => number;
  readonly log: Logger;
}

export class DurableStore implements Store {
  readonly storedFunctions: readonly FunctionRow[];
  readonly lostInvocations: readonly LostInvocation[];
  readonly storedBeliefs: readonly BeliefRow[];
  readonly functions: FunctionRows;
  readonly invocations: AsyncInvocations;
  readonly beliefs: BeliefRows;
  readonly #options: DurableStoreOptions;
  readonly #worker: Worker;
  readonly #queue: ChangeQueue;
  readonly #setAside: string | undefined;
  readonly #ended: Promise<void>;
  #rowsSetAside = 0;
  #writeFailures = 0;
  #failing = false;
  #closing = false;

  private constructor(options: DurableStoreOptions, worker: Worker, opened: Opened) {
    const { path } = options;
    this.#options = options;
    this.#worker = worker;
    this.#setAside = opened.contents.setAside;
    this.storedFunctions = opened.contents.functions;
    this.storedBeliefs = opened.contents.beliefs;
    const freshAt = opened.atUnixMs;
    this.lostInvocations = opened.contents.lost.map((row) => this.#lostInvocation(row, freshAt));
    const send = (message: ToStore) => worker.postMessage(message);
    this.#queue = new ChangeQueue({
      path,
      send: (changes) => send({ kind: 'apply', changes }),
      report: (failure, changes) => this.#report(failure, changes),
    });
    worker.on('message', (message: FromStore) => {
      if (message.kind !== 'applied') return;
      this.#queue.answered(message.failure === undefined ? undefined : errorOf(message.failure));
    });
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.once('error', (error) => this.#lose(reasonOf(error)));
    worker.once('exit', () => this.#lose('its thread ended'));
    this.functions = this.#functionRows();
    this.invocations = this.#asyncInvocations();
    this.beliefs = { keep: (rows) => this.#queue.add({ kind: 'keep', rows }) };
  }

  /** Throws SFSD_ERR_STORE_UNUSABLE, SFSD_ERR_STORE_IN_USE or SFSD_ERR_STORE_NEWER. */
  static async open(options: DurableStoreOptions): Promise<DurableStore> {
    const { path, lostMax, log } = options;
    const atUnixMs = options.wallClock();
    const data: StoreFileOptions = { path, lostMax, now: atUnixMs };
    const worker = new Worker(new URL('./store-thread.js', import.meta.url), {
      workerData: data,
      name: 'store',
    });
    const contents = await contentsOf(worker, path);
    const { setAside, lostUnwritten } = contents;
    if (setAside !== undefined) {
      const advice = 'a new one was begun; registered functions are gone: register them again';
      log.error({ event: 'store_damaged', path, setAside, advice });
    }
    if (lostUnwritten !== undefined) log.warn({ event: 'store_write_failed', path, reason: lostUnwritten });
    return new DurableStore(options, worker, { contents, atUnixMs });
  }

  status(): StoreStatus {
    return {
      path: this.#options.path,
      schemaVersion,
      ...(this.#setAside === undefined ? {} : { setAside: this.#setAside }),
      rowsSetAside: this.#rowsSetAside,
      lostInvocations: this.lostInvocations.filter(({ fresh }) => fresh).length,
      writeFailures: this.#writeFailures,
    };
  }

  async close(): Promise<void> {
    const timer = setTimeout(() => void this.#worker.terminate(), closeMaxMs);
    await this.#queue.idle();
    this.#closing = true;
    this.#worker.postMessage({ kind: 'close' } satisfies ToStore);
    await this.#ended;
    clearTimeout(timer);
  }

  #functionRows(): FunctionRows {
    const queue = this.#queue;
    return {
      put: (row) => queue.add({ kind: 'put', row }),
      delete: (name) => queue.add({ kind: 'delete', name }),
      setAside: async (name, reason) => {
        this.#rowsSetAside += 1;
        const at = this.#options.wallClock();
        await queue.add({ kind: 'setAside', name, reason, at }).catch(() => {});
      },
    };
  }

  #asyncInvocations(): AsyncInvocations {
    const queue = this.#queue;
    return {
      begin: ({ source, id, functionName, arrivedAt }: AsyncInvocation) => {
        const row = { source, id, functionName, arrivedAtUnixMs: this.#unixMs(arrivedAt) };
        return queue.add({ kind: 'begin', row });
      },
      // A failure has been reported, and is tried again.
      end: ({ source, id }: InvocationName) => void queue.add({ kind: 'end', source, id }).catch(() => {}),
    };
  }

  #unixMs(at: Instant): number {
    const { clock, wallClock } = this.#options;
    return wallClock() - (clock.now() - at) / 1000;
  }

  #instant(unixMs: number): Instant {
    const { clock, wallClock } = this.#options;
    return instant(clock.now() - (wallClock() - unixMs) * 1000);
  }

  #lostInvocation(row: LostRow, freshAtUnixMs: number): LostInvocation {
    const { source, id, functionName, arrivedAtUnixMs, lostAtUnixMs } = row;
    return {
      source,
      id,
      functionName,
      arrivedAt: this.#instant(arrivedAtUnixMs),
      lostAt: this.#instant(lostAtUnixMs),
      fresh: lostAtUnixMs === freshAtUnixMs,
    };
  }

  /** One line when it begins to fail and one when it works again; the metric has the number. */
  #report(failure: SfsdError | undefined, changes: number): void {
    const { log, path } = this.#options;
    if (failure !== undefined) {
      this.#writeFailures += changes;
      if (!this.#failing) log.error({ event: 'store_write_failed', path, reason: failure.message });
    } else if (this.#failing) log.info({ event: 'store_writes_again', path });
    this.#failing = failure !== undefined;
  }

  #lose(reason: string): void {
    if (this.#closing) return;
    const failure = new SfsdError('SFSD_ERR_STORE_FAILED', { path: this.#options.path, reason });
    this.#report(failure, 0);
    this.#queue.break(failure);
  }
}

interface Opened {
  readonly contents: StoreContents;
  readonly atUnixMs: number;
}

function contentsOf(worker: Worker, path: string): Promise<StoreContents> {
  return new Promise((resolve, reject) => {
    const unusable = (reason: string) => reject(new SfsdError('SFSD_ERR_STORE_UNUSABLE', { path, reason }));
    const timer = setTimeout(() => {
      void worker.terminate();
      unusable(`it was not read within ${openMaxMs / 1000} s`);
    }, openMaxMs);
    worker.once('message', (message: FromStore) => {
      clearTimeout(timer);
      if (message.kind === 'opened') resolve(message.contents);
      else if (message.kind === 'refused') reject(errorOf(message.failure));
    });
    worker.once('error', (error) => {
      clearTimeout(timer);
      unusable(reasonOf(error));
    });
  });
}
