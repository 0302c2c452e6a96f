/**
 * The peer and the processes that simulated ports report: what the rules on who may do what are asked of.
 */
import type { ApiPorts, Processes, ProcessFacts } from '../../src/api/ports.js';
import type { Peer } from '../../src/contracts/access.js';
import { SfsdError } from '../../src/contracts/errors.js';

export interface World {
  uid: number;
  gid: number;
  groups: readonly number[];
  confined: boolean;
  nestedPids: boolean;
  peerFails: boolean;
  stopping: boolean;
  readonly pids: Map<number, Partial<ProcessFacts> & { readonly startTime: string }>;
  /** Inner number to the host's. */
  readonly nested: Map<number, number>;
}

/** Of whoever connects. */
const peerPid = 500;
/** Processes that are refused for what they are. */
export const kernelThreadPid = 9;
export const spawnerPid = 4000;
export const helperPid = 4001;
export const hiddenPid = 4002;

export const accessConfig: ApiPorts['config']['access'] = {
  defaultRole: 'read',
  rules: [],
  cgroups: [],
  requestsPerSecond: 100,
  requestsBurst: 1000,
};

export function simulatedProcesses(world: World): Processes {
  return {
    isOurs: (pid) => pid === spawnerPid,
    examine: (pid, want) => {
      if (pid === kernelThreadPid) return 'kernel-thread';
      if (pid === helperPid) return 'ours';
      if (pid === hiddenPid) return 'hidden';
      const facts = world.pids.get(pid);
      if (facts === undefined) return 'gone';
      return { ...facts, cgroups: want.cgroups ? (facts.cgroups ?? []) : [] };
    },
    holds: (cgroup) => (cgroup === '/init.scope' ? 'init' : cgroup === '/system.slice' ? 'ours' : undefined),
    translator: () => (pid) => world.nested.get(pid) ?? { reason: 'there is no such process' },
  };
}

export function worldOf(uid: number): World {
  return {
    uid,
    gid: 1,
    groups: [],
    confined: false,
    nestedPids: false,
    peerFails: false,
    stopping: false,
    pids: new Map([[77, { startTime: '7700', uid: 1001 }]]),
    nested: new Map(),
  };
}

export function simulatedPeer({ uid, gid, groups, confined, nestedPids, peerFails }: World): Peer {
  if (peerFails) throw new SfsdError('SFSD_ERR_KERNEL', { call: 'getsockopt', reason: 'EBADF' });
  return { pid: peerPid, uid, gid, groups, confined, nestedPids };
}
