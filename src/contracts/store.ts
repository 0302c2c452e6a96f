/**
 * What outlasts the daemon: registered functions, asynchronous invocations that have not ended, and what is believed of CPU times. store/ implements it over a file;
 * functions/, api/ and tests know no more than this.
 *
 * What a settled promise means: a function that was put or deleted is on the disk (it outlasts a power loss); an invocation that was
 * begun is with the kernel (it outlasts the death of the daemon by any signal, not that of the host: then nothing runs any more).
 */
import type { Instant } from './time.js';

export interface FunctionRow {
  readonly name: string;
  /** The FunctionSpec as JSON. */
  readonly definition: string;
  /** When the name was first registered, milliseconds since 1970. */
  readonly createdAtUnixMs: number;
}

export interface FunctionRows {
  /** Rejects with SFSD_ERR_STORE_FAILED, and then nothing has changed. `createdAtUnixMs` of a name that is there stays as it was. */
  put(row: FunctionRow): Promise<void>;
  /** As `put`; a name that is not there is none of its errors. */
  delete(name: string): Promise<void>;
  /** Moves a row that cannot be used out of the way, for somebody to look at; never rejects. */
  setAside(name: string, reason: string): Promise<void>;
}

export interface InvocationName {
  readonly source: string;
  readonly id: string;
}

export interface AsyncInvocation extends InvocationName {
  readonly functionName: string;
  readonly arrivedAt: Instant;
}

export interface AsyncInvocations {
  /** Rejects with SFSD_ERR_STORE_FAILED. */
  begin(invocation: AsyncInvocation): Promise<void>;
  /** Its outcome is known, or it never ran. Nobody waits for it; a failure is counted. */
  end(name: InvocationName): void;
}

/** An asynchronous invocation that was in flight when a daemon died. */
export interface LostInvocation extends AsyncInvocation {
  /** When a daemon found it. */
  readonly lostAt: Instant;
  /** By this daemon: an earlier one has not counted it. */
  readonly fresh: boolean;
}

/** What is believed of the CPU time of a function, an application or the host: a weight for each bucket (scheduler/gittins). */
export interface BeliefRow {
  readonly name: string;
  readonly weights: ArrayLike<number>;
}

export interface BeliefRows {
  /** Each in place of the one of that name. Rejects with SFSD_ERR_STORE_FAILED. */
  keep(rows: readonly BeliefRow[]): Promise<void>;
}

export interface StoreStatus {
  /** Absent: nothing outlasts this daemon. */
  readonly path?: string;
  readonly schemaVersion: number;
  /** Where a damaged file was moved when this daemon started. */
  readonly setAside?: string;
  /** Rows that this daemon could not use at its start. */
  readonly rowsSetAside: number;
  /** Asynchronous invocations that this daemon found in flight at its start. */
  readonly lostInvocations: number;
  /** Changes that could not be written since the start. */
  readonly writeFailures: number;
}

export interface Store {
  /** What was in it when it was opened; in order of their names. */
  readonly storedFunctions: readonly FunctionRow[];
  /** Oldest first. */
  readonly lostInvocations: readonly LostInvocation[];
  /** Those kept longest ago first. */
  readonly storedBeliefs: readonly BeliefRow[];
  readonly functions: FunctionRows;
  readonly invocations: AsyncInvocations;
  readonly beliefs: BeliefRows;
  status(): StoreStatus;
  /** Writes down what is under way. */
  close(): Promise<void>;
}
