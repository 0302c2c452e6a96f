/**
 * What the HTTP API needs from the rest of the daemon. api/ constructs none of it: daemon/ passes real objects, tests pass
 * simulated ones, and so the server runs whole without a kernel.
 */
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import type { Credentials, FunctionStore, Launch } from '../contracts/function.js';
import type { FfiBody, GuardBody } from '../contracts/http.js';
import type { ProtectionStatus } from '../contracts/modes.js';
import type { ResourceView } from '../contracts/resources.js';
import type { SchedulingPlane } from '../contracts/scheduling-plane.js';
import type { Store } from '../contracts/store.js';

/** The start time of a pid, for registrations that name a pid alone. */
export type Identify = (pid: number) => { readonly startTime: string } | 'gone' | 'denied';

/** SO_PEERCRED of a connected unix socket. Throws a coded SfsdError when the kernel does not tell. */
export type PeerOf = (socket: Socket) => Credentials;

export interface ApiPorts {
  readonly functions: FunctionStore;
  readonly launch: Launch;
  readonly store: Pick<Store, 'invocations' | 'lostInvocations' | 'status'>;
  readonly plane: SchedulingPlane;
  readonly identify: Identify;
  readonly peerOf: PeerOf;
  /** Whose commands are obeyed, beside root's. */
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
  readonly config: Pick<SfsdConfig, 'functions'>;
  readonly logger: Logger;
}
