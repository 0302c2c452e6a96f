/**
 * What the HTTP API needs from the rest of the daemon. api/ constructs none of it: daemon/ passes real objects, tests pass
 * simulated ones, and so the server runs whole without a kernel.
 */
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import type { Credentials, FunctionSpec, Launch } from '../contracts/function.js';
import type { SchedulingPlane } from '../contracts/scheduling-plane.js';

/** Registered functions, by name. */
export interface FunctionStore {
  /** Registers or replaces. Throws SFSD_ERR_FUNCTION_INVALID and SFSD_ERR_FUNCTIONS_FULL. */
  put(spec: FunctionSpec): 'created' | 'replaced';
  get(name: string): FunctionSpec | undefined;
  list(): readonly FunctionSpec[];
  /** false: none of that name. Running instances finish. */
  delete(name: string): boolean;
  /** Instances that run now: of one function, or of all. */
  runningCount(name?: string): number;
}

/** The start time of a pid, for registrations that name a pid alone. */
export type Identify = (pid: number) => { readonly startTime: string } | 'gone' | 'denied';

/** SO_PEERCRED of a connected unix socket. Throws a coded SfsdError when the kernel does not tell. */
export type PeerOf = (socket: Socket) => Credentials;

export interface ApiPorts {
  readonly functions: FunctionStore;
  readonly launch: Launch;
  readonly plane: SchedulingPlane;
  readonly identify: Identify;
  readonly peerOf: PeerOf;
  /** Whose commands are obeyed, beside root's. */
  readonly daemonUid: number;
  /** True from SIGTERM on: `/healthz` answers 503. */
  readonly stopping: () => boolean;
  readonly version: string;
  readonly config: Pick<SfsdConfig, 'functions'>;
  readonly logger: Logger;
}
