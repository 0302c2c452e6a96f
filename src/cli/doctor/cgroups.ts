/** Which cgroup layout the host has, and what of it we can use. */
import { accessSync, constants } from 'node:fs';
import { CgroupLayout } from '../../linux/cgroup-layout.js';
import { broken, degraded, type Finding, ok } from './finding.js';
import { ownCpuGroup, realtimeGroupsOn } from './realtime.js';

/** The controllers that carry a function's limits. */
const limitControllers = ['memory', 'pids'] as const;

export function cgroupFinding(): Finding {
  const layout = CgroupLayout.detect();
  const fact = layoutFact(layout);
  const unusable = limitControllers.filter((controller) => !writable(layout.controllerPath(controller)));
  if (unusable.length > 0)
    return degraded(
      'cgroups',
      `${fact}; ${unusable.join(' and ')} cannot be used`,
      'Functions run without those limits; one that asks for such a limit cannot be launched.',
    );
  if (realtimeGroupsOn() && layout.version !== 'v2' && !writable(layout.controllerPath('cpu')))
    return broken(
      'cgroups',
      `${fact}, but the cpu hierarchy is read-only`,
      'CONFIG_RT_GROUP_SCHED needs it writable, to give promoted tasks a real-time budget.',
    );
  return ok('cgroups', fact);
}

function layoutFact(layout: CgroupLayout): string {
  if (!realtimeGroupsOn()) return `${layout.version}, no CONFIG_RT_GROUP_SCHED to be seen`;
  return `${layout.version}, CONFIG_RT_GROUP_SCHED (own cpu group ${ownCpuGroup() ?? 'unknown'})`;
}

function writable(path: string | undefined): boolean {
  if (path === undefined) return false;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
