/**
 * Who may do what. Each role holds the ones before it.
 *
 *   none      nothing
 *   read      status, health, metrics, the API's description, lists, what was decided about an invocation
 *   submit    register processes of one's own uid, or inside the allowed cgroups; functions of one's own, which run as oneself;
 *             end what is one's own
 *   operate   everything: functions as another uid, any process, policies
 */
import type { Credentials } from './function.js';

export type Role = 'none' | 'read' | 'submit' | 'operate';
/** In rising order. */
export const roleNames: readonly Role[] = ['none', 'read', 'submit', 'operate'];

/** All of `uid` and `gid` that is given must fit. */
export interface AccessRule {
  readonly role: Role;
  readonly uid?: number;
  /** The peer's own group, or one of its supplementary ones. */
  readonly gid?: number;
}

/** The other end of a unix socket, as the kernel recorded it when it connected. */
export interface Peer extends Credentials {
  readonly pid: number;
  /** Supplementary groups. */
  readonly groups: readonly number[];
  /** It bears the marks that the spawner gives to functions and that cannot be shed: it has no operate role, whatever its uid. */
  readonly confined: boolean;
  /** It lives in a pid namespace below the daemon's: the pids that it names are counted there. */
  readonly nestedPids: boolean;
}
