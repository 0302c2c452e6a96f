/**
 * Registered functions and one run of them. functions/ implements `Launch`; api, burst, multiprocessing and replay are given it.
 */
import type { InvocationKey, PolicyName } from './invocation.js';
import type { Duration, Instant } from './time.js';

/** A registered function. Frozen once it is registered. */
export interface FunctionSpec {
  /** `[-a-zA-Z0-9_.]{1,128}`. */
  readonly name: string;
  /** Absolute path, or a name looked up in the function's own PATH. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited but what is named here. PATH is /usr/local/bin:/usr/bin:/bin when absent. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. Default `/`. */
  readonly workingDirectory: string;
  /** Per running instance; absent: no limit. */
  readonly memoryMaxBytes?: number;
  /** Most tasks per running instance; absent: no limit. */
  readonly pidsMax?: number;
  /** Wall time from start; 0: none. */
  readonly timeoutMs: number;
  /** Most instances that run at once; beyond it 429. */
  readonly concurrency: number;
  /** Output beyond this is drained and dropped, and the result says `truncated`. */
  readonly outputMaxBytes: number;
  /** Absent: the daemon's default policy. */
  readonly policy?: PolicyName;
  /** Most CPU time that an invocation of it may use in FILTER; absent: S alone counts. */
  readonly sliceMaxMs?: number;
  /** Policy gittins divides its invocations' ranks by it; absent: 1. */
  readonly weight?: number;
  /** Its owner, and who it runs as; `gid` goes with it. Absent: operators own it, and it runs as who asks. */
  readonly uid?: number;
  readonly gid?: number;
}

/** Registered functions, by name. functions/ implements it; the API is given it. */
export interface FunctionStore {
  /**
   * Registers or replaces, on the disk first; absent fields get the daemon's defaults. Rejects with SFSD_ERR_FUNCTION_INVALID (all
   * faults), SFSD_ERR_FUNCTIONS_FULL and SFSD_ERR_STORE_FAILED.
   */
  put(name: string, definition: unknown): Promise<{ readonly spec: FunctionSpec; readonly created: boolean }>;
  get(name: string): FunctionSpec | undefined;
  /** In order of their names. */
  list(): readonly FunctionSpec[];
  /** false: none of that name. Running instances finish. Rejects with SFSD_ERR_STORE_FAILED. */
  delete(name: string): Promise<boolean>;
  /** Instances that run now: of one function, or of all. */
  runningCount(name?: string): number;
}

/** The part of AbortSignal that we use; contracts compile without any platform's types. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface Credentials {
  readonly uid: number;
  readonly gid: number;
}

export interface LaunchRequest {
  /** Unique with `source`; the daemon makes one up when absent. */
  readonly id?: string;
  readonly source?: string;
  /** Written to the function's standard input, which is then closed. */
  readonly body: Uint8Array;
  /** Overrides the function's own policy: replay compares policies this way. */
  readonly policy?: PolicyName;
  /** CPU time that the caller expects it to use, for policy gittins. */
  readonly expected?: Duration;
  /** Whose request this is; the function runs as this user. */
  readonly credentials: Credentials;
  /** When the request reached us; now when absent. Turnaround and queue delay count from here. */
  readonly arrivedAt?: Instant;
  /** Aborted: the instance is killed and the outcome is 'cancelled'. */
  readonly signal?: CancelSignal;
}

export type ExitStatus =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }
  /** The spawner or the daemon ended first; what became of the function is unknown. */
  | { readonly kind: 'lost' };

export interface LaunchOutcome {
  readonly exit: ExitStatus;
  readonly stdout: Uint8Array;
  /** The last 64 KiB. */
  readonly stderr: Uint8Array;
  readonly truncated: boolean;
  readonly arrivedAt: Instant;
  /** When the program's image was in place (execve had succeeded). */
  readonly startedAt: Instant;
  /** When the exit was seen. */
  readonly endedAt: Instant;
  /** User + system time of the instance and its waited-for children, from wait4. */
  readonly cpuMs: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly rssMaxBytes: number;
}

export interface Launched {
  readonly key: InvocationKey;
  readonly source: string;
  readonly id: string;
  readonly pid: number;
  readonly startTime: string;
  /** Never rejects. */
  readonly outcome: Promise<LaunchOutcome>;
  /** Ends the instance and all of its process group; idempotent. */
  cancel(): void;
}

/** Resolves once the program's image is in place. Rejects with a coded SfsdError, and then has given everything back. */
export type Launch = (spec: FunctionSpec, request: LaunchRequest) => Promise<Launched>;
