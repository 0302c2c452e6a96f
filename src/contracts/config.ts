/**
 * The configuration as every room reads it: validated once in daemon/, then frozen. Times in milliseconds, sizes in bytes:
 * what an operator writes.
 */
import type { AccessRule, Role } from './access.js';
import type { PolicyName } from './invocation.js';
import type { ModeSetting } from './modes.js';

/** Who makes the kernel calls: linux/libc.ts. */
export type FfiName = 'koffi' | 'ffi-napi';

/** Processes that run already and are registered at start: all that is given must fit. */
export interface AdoptRule {
  /** Name of the program's file, or of the process where that cannot be read. */
  readonly name?: string;
  readonly uid?: number;
  /** What the command line holds, for programs that are run by an interpreter. */
  readonly commandHolds?: string;
  /** Absent: the process's name. */
  readonly functionName?: string;
  readonly policy?: PolicyName;
}

/** Processes held above FILTER while the daemon runs: one of the first four says which. */
export interface ProtectRule {
  /** All processes in the group and below; relative to each hierarchy's mount. */
  readonly cgroup?: string;
  /** The process's name as the kernel has it (15 characters), or the name of its program's file. */
  readonly command?: string;
  /** A regular expression that the command line fits. */
  readonly commandPattern?: string;
  /** Its first line is the pid. */
  readonly pidFile?: string;
}

export interface SfsdConfig {
  readonly socket: {
    readonly path: string;
    /** Octal text, for example "0660". */
    readonly mode: string;
  };
  readonly tcp: {
    /** An address of this host; not a name. */
    readonly host: string;
    /** 0: no TCP listener. */
    readonly port: number;
    /** Absolute; empty: none, and then there is no listener either. */
    readonly tokenFile: string;
  };
  readonly access: {
    /** Of whoever can connect to the unix socket and fits no rule. */
    readonly defaultRole: Role;
    readonly rules: readonly AccessRule[];
    /** Any process inside these may be registered by `submit` clients. */
    readonly cgroups: readonly string[];
    /** Of one client below `operate`. */
    readonly requestsPerSecond: number;
    readonly requestsBurst: number;
  };
  readonly scheduler: {
    readonly policy: PolicyName;
    /** FILTER workers; 0: as many as usable CPUs minus `reserveCpus`. */
    readonly workers: number;
    readonly reserveCpus: number;
    /** Bind each worker's invocation to one core instead of letting the kernel balance. */
    readonly pin: boolean;
    readonly window: number;
    readonly sliceInitialMs: number;
    readonly sliceMinMs: number;
    readonly sliceMaxMs: number;
    /** 0: adaptive. */
    readonly sliceFixedMs: number;
    /** 0: bypass off. */
    readonly overloadFactor: number;
    readonly agingMaxMs: number;
    readonly pollMs: number;
    readonly ioAware: boolean;
    /** At most 93. */
    readonly budgetPercent: number;
    readonly liveMax: number;
  };
  readonly priorities: {
    readonly mode: ModeSetting;
    /** false: the same as mode `off`; kept for configurations that are older than `mode`. */
    readonly realtime: boolean;
    readonly filter: number;
    /** What is promoted takes turns of the kernel's quantum, the only thread of its group too. */
    readonly roundRobin: boolean;
    readonly control: number;
    /** Processes that `protect.rules` name. */
    readonly protected: number;
    readonly spawner: number;
    readonly scheduling: number;
    readonly guard: number;
    /** Nice value of the functions' session, 0 to 19. */
    readonly sessionNice: number;
    /** What a promoted task gets in mode eevdf: a nice value, -20 to 0, and a slice. */
    readonly eevdfNice: number;
    readonly eevdfSliceMs: number;
    /** The kernel's RCU threads run at the spawner's priority while the daemon runs. */
    readonly gracePeriodThreads: boolean;
  };
  readonly functions: {
    readonly registeredMax: number;
    readonly bodyMaxBytes: number;
    readonly outputMaxBytes: number;
    readonly timeoutMs: number;
    readonly concurrency: number;
    /** SIGTERM, then after this SIGKILL. */
    readonly killGraceMs: number;
    /** Finished asynchronous results kept. */
    readonly resultsMax: number;
    /** Where a spawner that a service manager starts is asked for; empty: the daemon starts its own. */
    readonly spawnerSocket: string;
  };
  readonly store: {
    /** `auto`, `none` or an absolute path. */
    readonly path: string;
    /** Lost asynchronous invocations remembered. */
    readonly lostMax: number;
  };
  readonly guard: {
    /** false: what is promoted stays real-time when the daemon is killed. */
    readonly enabled: boolean;
    /** The scheduling loop turns at least every 400 ms; standing still for this long it is taken for stalled. */
    readonly stallMs: number;
    /** Tasks that the journal holds: threads that may be promoted at once. */
    readonly tasksMax: number;
  };
  readonly linux: { readonly ffi: FfiName };
  readonly adopt: { readonly rules: readonly AdoptRule[] };
  readonly protect: {
    readonly rules: readonly ProtectRule[];
    /** How often they are looked for. */
    readonly intervalMs: number;
  };
  readonly log: { readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent' };
}
