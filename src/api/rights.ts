/**
 * What a client's role comes from, and what is its own.
 */
import { type AccessRule, type Peer, type Role, roleNames } from '../contracts/access.js';
import type { SfsdConfig } from '../contracts/config.js';
import { SfsdError } from '../contracts/errors.js';
import type { Credentials, FunctionSpec } from '../contracts/function.js';
import type { PolicyName } from '../contracts/invocation.js';
import type { SchedulingPlane } from '../contracts/scheduling-plane.js';
import type { Client } from './clients.js';

/**
 * Root and the daemon's own uid operate. A function of theirs has the same uid and must not: all that is root's would be its own, so
 * it may only read. Any other function has what its uid has, but never `operate`.
 */
export function roleOf(
  peer: Peer,
  options: { readonly access: SfsdConfig['access']; readonly daemonUid: number },
): Role {
  const isOperator = peer.uid === 0 || peer.uid === options.daemonUid;
  const given = isOperator ? 'operate' : configuredRole(peer, options.access);
  if (!peer.confined) return given;
  const highest: Role = isOperator ? 'read' : 'submit';
  return roleNames.indexOf(given) > roleNames.indexOf(highest) ? highest : given;
}

function configuredRole(peer: Peer, { rules, defaultRole }: SfsdConfig['access']): Role {
  const ranks = rules.filter((rule) => fits(peer, rule)).map(({ role }) => roleNames.indexOf(role));
  return roleNames[Math.max(...ranks)] ?? defaultRole;
}

function fits({ uid, gid, groups }: Peer, rule: AccessRule): boolean {
  if (rule.uid !== undefined && rule.uid !== uid) return false;
  return rule.gid === undefined || rule.gid === gid || groups.includes(rule.gid);
}

/** What has no owner is for operators alone. */
export function owns(client: Client, ownerUid: number | undefined): boolean {
  return client.role === 'operate' || (ownerUid !== undefined && ownerUid === client.credentials.uid);
}

/** Throws SFSD_ERR_FORBIDDEN. `what` begins the sentence: `function hello`. */
export function requireOwn(client: Client, what: string, ownerUid: number | undefined): void {
  if (owns(client, ownerUid)) return;
  const owner = ownerUid === undefined ? 'nobody in particular' : `uid ${ownerUid}`;
  throw new SfsdError('SFSD_ERR_FORBIDDEN', {
    reason: `${what} belongs to ${owner}, and ${client.name} has the role ${client.role} only`,
  });
}

/**
 * Throws SFSD_ERR_FORBIDDEN: what the daemon does not do by itself needs an operator; staying out of FILTER does not.
 * Throws SFSD_ERR_REQUEST_INVALID for a policy that its scheduler does not have.
 */
export function requirePolicy(
  client: Client,
  policy: PolicyName | undefined,
  { defaultPolicy, policies }: Pick<SchedulingPlane, 'defaultPolicy' | 'policies'>,
): void {
  if (policy === undefined || policy === 'cfs' || policy === defaultPolicy) return;
  if (!policies.includes(policy))
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
      reason: `this daemon's scheduler has ${policies.join(' and ')}; ${policy} needs another scheduler.policy`,
    });
  if (client.role === 'operate') return;
  throw new SfsdError('SFSD_ERR_FORBIDDEN', {
    reason: `policy ${policy} is not the daemon's default, and choosing it needs the role operate`,
  });
}

/** Throws SFSD_ERR_FORBIDDEN: anybody may stand back, only an operator may push ahead. */
export function requireWeight(client: Client, weight: number | undefined): void {
  if (weight === undefined || weight <= 1 || client.role === 'operate') return;
  throw new SfsdError('SFSD_ERR_FORBIDDEN', {
    reason: `a weight of ${weight} is more than the usual 1, and giving it needs the role operate`,
  });
}

/**
 * Whom a function that is put runs as: what the definition says, else what it was, else who puts it.
 * Throws SFSD_ERR_FORBIDDEN and SFSD_ERR_REQUEST_INVALID.
 */
export function ownerOf(
  client: Client,
  definition: { readonly uid?: number; readonly gid?: number },
  known: FunctionSpec | undefined,
): Credentials {
  const own = client.credentials;
  if (definition.uid === undefined && definition.gid === undefined) {
    return known?.uid === undefined || known.gid === undefined ? own : { uid: known.uid, gid: known.gid };
  }
  const uid = definition.uid ?? own.uid;
  const gid = definition.gid ?? (uid === own.uid ? own.gid : undefined);
  if (gid === undefined) {
    throw new SfsdError('SFSD_ERR_REQUEST_INVALID', {
      reason: `body/gid is missing: which group functions of uid ${uid} run in is not guessed`,
    });
  }
  if (client.role === 'operate' || (uid === own.uid && gid === own.gid)) return { uid, gid };
  throw new SfsdError('SFSD_ERR_FORBIDDEN', {
    reason: `${client.name} may have functions run as uid ${own.uid} and gid ${own.gid} only; another user needs the role operate`,
  });
}

/** A function that belongs to nobody runs as who asks. */
export function credentialsOf(client: Client, { uid, gid }: FunctionSpec): Credentials {
  const own = client.credentials;
  if (uid === undefined || gid === undefined || (uid === own.uid && gid === own.gid)) return own;
  return { uid, gid };
}
