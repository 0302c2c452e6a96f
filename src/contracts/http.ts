/**
 * The JSON bodies of the HTTP API, shared by the server (api/) and the command line (cli/). Field names carry their unit;
 * milliseconds are numbers with microsecond precision. Instants are milliseconds on the host's CLOCK_MONOTONIC.
 *
 *   PUT    /v1/functions/:name                  FunctionBody            -> 200 | 201 FunctionBody
 *   GET    /v1/functions[/:name]                                        -> 200 FunctionBody[] | FunctionBody
 *   DELETE /v1/functions/:name                                          -> 204 (running instances finish)
 *   POST   /v1/functions/:name/invocations      any bytes               -> 200 stdout of the function, see headers below
 *            ?async=true                                                -> 202 AcceptedBody, Location
 *            ?detail=true                                               -> 200 ResultBody (stdout in base64)
 *   GET    /v1/invocations/:id[?source=]                                -> 200 InvocationBody (function runs also carry `result`)
 *   GET    /v1/invocations/:id/decisions[?source=]                      -> 200 ExplanationBody
 *   POST   /v1/invocations                      RegistrationBody[]      -> 202 RegisteredBody[] (one for each, in order)
 *   POST   /v1/invocations/:id/end[?source=]                            -> 204 (completed)
 *   DELETE /v1/invocations/:id[?source=]                                -> 204 (no longer managed: demoted, lives on;
 *                                                                          a function run of ours is cancelled)
 *   GET    /v1/stream                          StreamRequestBody lines -> 101, then StreamReplyBody lines as runs end (an upgrade)
 *   GET    /v1/status                                                   -> 200 StatusBody
 *   GET    /healthz                                                     -> 200 {"status":"ok"} | 503
 *   GET    /metrics                                                     -> 200 Prometheus text
 *   GET    /openapi.json                                                -> 200 OpenAPI 3
 *
 * Over TCP each request carries `Authorization: Bearer TOKEN`. Who may do what: contracts/access.ts and docs/access.md. `env` and
 * `result` are shown to their owner and to operators only.
 *
 * Every error is {"code","message"} with the status of contracts/errors.ts; 429 and 503 carry Retry-After (seconds).
 * A synchronous invocation answers 200 only for exit code 0; otherwise 502 (SFSD_ERR_FUNCTION_FAILED), 504 on timeout, with
 * the function's stderr tail in the error body as `stderr` and the same headers:
 *   sfsd-invocation-id, sfsd-turnaround-ms, sfsd-cpu-ms, sfsd-exit
 * Request headers: `sfsd-id`, `sfsd-source` (default `api`), `sfsd-policy`, `sfsd-expected-ms`, `sfsd-arrived-at-ms` (an Instant: replay only).
 */
import type { FfiName } from './config.js';
import type { PolicyName } from './invocation.js';
import type { PermissionMode, ProtectionStatus, TargetCount } from './modes.js';
import type { FunctionUse } from './resources.js';
import type { DecisionKind, LifeState, SchedulerCounters } from './scheduler.js';
import type { StoreStatus } from './store.js';

export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly stderr?: string;
}

export interface FunctionBody {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  readonly memoryMaxBytes?: number;
  readonly pidsMax?: number;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly outputMaxBytes: number;
  readonly policy?: PolicyName;
  readonly sliceMaxMs?: number;
  /** For policy gittins; more than 1 needs `operate`. */
  readonly weight?: number;
  /** Its owner, and who it runs as: in a request absent means the caller, and another uid needs `operate`. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface AcceptedBody {
  readonly id: string;
  readonly source: string;
}

export interface ResultBody {
  readonly id: string;
  readonly source: string;
  readonly functionName: string;
  /** For example `exited 0`, `signalled SIGKILL`, `timeout`, `cancelled`, `lost`. */
  readonly exit: string;
  readonly stdoutBase64: string;
  readonly stderrBase64: string;
  readonly truncated: boolean;
  readonly arrivedAtMs: number;
  readonly enqueuedAtMs: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly turnaroundMs: number;
  readonly cpuMs: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly rssMaxBytes: number;
  /** What the scheduling plane decided, oldest first. */
  readonly decisions: readonly DecisionBody[];
}

/** A line of a stream of invocations, from the caller. */
export interface StreamRequestBody {
  /** Unique with `source` among live invocations; the reply carries both. */
  readonly id: string;
  readonly source?: string;
  readonly functionName: string;
  readonly policy?: PolicyName;
  /** CPU time that the caller expects it to use, for policy gittins. */
  readonly expectedMs?: number;
  readonly arrivedAtMs?: number;
  /** Standard input; none when absent. */
  readonly bodyBase64?: string;
}

/** A line of a stream of invocations, to the caller: the end of one of them, whatever its exit, or why it was refused. */
export type StreamReplyBody = ResultBody | StreamRefusalBody;

export interface StreamRefusalBody extends ErrorBody {
  /** As in the request; empty when the line could not be read that far. */
  readonly id: string;
  readonly source: string;
  /** Seconds, when another attempt may succeed. */
  readonly retryAfterSeconds?: number;
}

export interface DecisionBody {
  readonly kind: DecisionKind;
  readonly atMs: number;
  /** -1: none. */
  readonly worker: number;
  readonly cpuMs: number;
  /** Meaning by kind: the table in contracts/scheduler.ts; microseconds or counts, as recorded. */
  readonly value: number;
  readonly extra: number;
}

export interface InvocationBody {
  readonly id: string;
  readonly source: string;
  readonly functionName: string;
  /** What decides; absent while or when only its run is known. */
  readonly policy?: PolicyName;
  readonly state: LifeState | 'submitted' | 'ended';
  readonly arrivedAtMs: number;
  readonly result?: ResultBody;
}

export interface ExplanationBody extends InvocationBody {
  readonly decisions: readonly DecisionBody[];
  readonly incomplete: boolean;
}

export interface RegistrationBody {
  readonly id: string;
  readonly source?: string;
  readonly functionName: string;
  readonly policy?: PolicyName;
  readonly weight?: number;
  readonly expectedMs?: number;
  /** Bounds S for this invocation. */
  readonly sliceMaxMs?: number;
  /** Exactly one of pid (with optional tids and startTime) and cgroup. */
  readonly pid?: number;
  readonly startTime?: string;
  readonly tids?: readonly number[];
  readonly cgroup?: string;
  /** Where pid and tids are counted: `caller` (absent), its own namespace, or `host`, the daemon's. */
  readonly pidNamespace?: 'caller' | 'host';
}

/** One entry for each registration: accepted, or its own error. */
export type RegisteredBody = AcceptedBody | (ErrorBody & { readonly id: string; readonly source: string });

export interface StatusBody {
  readonly version: string;
  readonly pid: number;
  readonly uptimeMs: number;
  readonly stopping: boolean;
  readonly mode: PermissionMode;
  readonly modeReason?: string;
  /** Targets that could not be promoted as the mode says. */
  readonly targets: readonly TargetCount[];
  readonly protection: ProtectionStatus;
  readonly policy: PolicyName;
  readonly sliceMs: number;
  readonly workers: readonly {
    readonly worker: number;
    readonly invocation?: {
      readonly id: string;
      readonly source: string;
      readonly functionName: string;
      readonly forMs: number;
      /** Of policy gittins: CPU time that one completion is expected to cost from here; lower is better. */
      readonly rankMs?: number;
    };
  }[];
  readonly queueLength: number;
  readonly live: number;
  readonly liveMax: number;
  readonly blocked: number;
  readonly budget: { readonly paused: boolean; readonly usedShare: number; readonly maxShare: number };
  readonly counters: Readonly<SchedulerCounters>;
  readonly decisionsLost: number;
  readonly loop: {
    readonly samples: number;
    readonly lateP50Ms: number;
    readonly lateP99Ms: number;
    readonly lateMaxMs: number;
  };
  /** CPU time since start, and each part as a share of the whole host (all cores). */
  readonly cpu: {
    readonly cores: number;
    readonly elapsedMs: number;
    readonly pollingMs: number;
    readonly schedulingMs: number;
    readonly controlMs: number;
    readonly spawnerMs: number;
    readonly hostShare: number;
  };
  readonly functions: { readonly registered: number; readonly running: number };
  readonly store: StoreStatus;
  readonly ffi: FfiBody;
  readonly guard: GuardBody;
  readonly resources: ResourcesBody;
}

/** The process that demotes everything when this one dies or stalls. */
export interface GuardBody {
  /** off: there is none to be. missing: it was killed, or cannot be started; it is tried again. */
  readonly state: 'watching' | 'stalled' | 'missing' | 'off';
  /** Why it is off. */
  readonly reason?: string;
  readonly pid?: number;
  /** How often a guard has demoted everything. */
  readonly epoch: number;
  /** Threads on the list of what is promoted or paused, and how many it holds. */
  readonly tasks: number;
  readonly tasksMax: number;
  /** Threads that guards have demoted, and stalls of the scheduling loop that they have seen, since the start. */
  readonly demoted: number;
  readonly stalls: number;
  readonly restarts: number;
  /** The journal's file. */
  readonly journal?: string;
}

/** Who makes the kernel calls of each plane. */
export interface FfiBody {
  readonly configured: FfiName;
  readonly control: FfiName;
  readonly scheduling: FfiName;
  /** Why one of them is not the one configured; absent: both are. */
  readonly reason?: string;
}

/** contracts/resources.ts says what the numbers mean. */
export interface ResourcesBody {
  readonly atMs: number;
  readonly functions: readonly (FunctionUse & { readonly functionName: string })[];
  readonly others: FunctionUse & { readonly functions: number };
}
