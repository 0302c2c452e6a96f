/**
 * What the HTTP API needs from the rest of the daemon. api/ constructs none of it: daemon/ passes real objects, tests pass
 * simulated ones, and so the server runs whole without a kernel.
 */
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Peer } from '../contracts/access.js';
import type { SfsdConfig } from '../contracts/config.js';
import type { FunctionStore, Launch } from '../contracts/function.js';
import type { FfiBody, GuardBody } from '../contracts/http.js';
import type { ProtectionStatus } from '../contracts/modes.js';
import type { ResourceView } from '../contracts/resources.js';
import type { SchedulingPlane } from '../contracts/scheduling-plane.js';
import type { Store } from '../contracts/store.js';
import type { TokenTable } from './token-table.js';

export interface ProcessFacts {
  /** Field 22 of /proc/PID/stat. */
  readonly startTime: string;
  /** Its real, effective, saved and file system uid; absent where they differ: a set-uid program is nobody's own. */
  readonly uid?: number;
  /** Its cgroup in each hierarchy; empty unless asked for. */
  readonly cgroups: readonly string[];
}

/** From a number in the caller's pid namespace to the daemon's; or why not. */
export type Translate = (pid: number) => number | { readonly reason: string };

/** Processes that others started, as the rules on targets need to know them. */
export interface Processes {
  /** The daemon and its helpers, by their number alone. */
  isOurs(pid: number): boolean;
  /** What is told is of one process, whatever happens to its number meanwhile. `ours` also for helpers that `isOurs` does not know. */
  examine(
    pid: number,
    want: { readonly cgroups: boolean },
  ): ProcessFacts | 'gone' | 'hidden' | 'kernel-thread' | 'ours';
  /** Whom a cgroup holds, itself or below, that must not be scheduled. */
  holds(cgroup: string): 'init' | 'ours' | undefined;
  /** @param peerPid a process of that namespace. */
  translator(peerPid: number): Translate;
}

/** SO_PEERCRED of a connected unix socket, and what belongs to it. Throws a coded SfsdError when the kernel does not tell. */
export type PeerOf = (socket: Socket) => Peer;

export interface ApiPorts {
  readonly functions: FunctionStore;
  readonly launch: Launch;
  readonly store: Pick<Store, 'invocations' | 'lostInvocations' | 'status'>;
  readonly plane: SchedulingPlane;
  readonly processes: Processes;
  readonly peerOf: PeerOf;
  /** Absent: there is no TCP listener. */
  readonly tokens?: TokenTable;
  /** Who operates, beside root. */
  readonly daemonUid: number;
  /** True from SIGTERM on: `/healthz` answers 503. */
  readonly stopping: () => boolean;
  readonly version: string;
  readonly ffi: FfiBody;
  /** Processes held above FILTER. */
  readonly protection: () => ProtectionStatus;
  readonly guard: () => GuardBody;
  /** What the live invocations of each function use; read at most once a second, and only when asked. */
  readonly resources: () => Promise<ResourceView>;
  readonly config: Pick<SfsdConfig, 'functions' | 'access'>;
  readonly logger: Logger;
}
