/**
 * What this host lets the daemon do to the tasks that it schedules, chosen at start (daemon/permission.ts) and again for each target
 * (linux/task-promoter.ts). Functions run in every mode.
 *
 *   fifo         SCHED_FIFO
 *   fifo-cgroup  the same; the daemon had to leave its own cpu cgroup for it, which has no real-time budget
 *   eevdf        SCHED_OTHER with a short slice and, where permitted, a high weight: no real-time at all
 *   off          everything is left to the fair scheduler as it is
 */

export type ModeSetting = 'auto' | 'fifo' | 'eevdf' | 'off';
export const modeSettings: readonly ModeSetting[] = ['auto', 'fifo', 'eevdf', 'off'];

export type PermissionMode = 'fifo' | 'fifo-cgroup' | 'eevdf' | 'off';
export const permissionModes: readonly PermissionMode[] = ['fifo', 'fifo-cgroup', 'eevdf', 'off'];

/** Whether what is promoted becomes real-time. */
export function isRealTime(mode: PermissionMode): boolean {
  return mode === 'fifo' || mode === 'fifo-cgroup';
}

/**
 * What became of a target that could not be promoted as the mode says. cgroup: it is moved to a cpu cgroup of ours for its promotions.
 * eevdf: it gets a slice and a weight instead. denied: it is left alone.
 */
export type TargetWay = 'cgroup' | 'eevdf' | 'denied';
export const targetWays: readonly TargetWay[] = ['cgroup', 'eevdf', 'denied'];

/**
 * Why. cpu-group: its cpu cgroup has no real-time budget. privilege: we have no CAP_SYS_NICE and it is another user's.
 * user-namespace: the same, and it lives in another user namespace than we do. foreign: it is real-time by someone else's hand.
 * hidden: our /proc does not show it.
 */
export type TargetReason = 'cpu-group' | 'privilege' | 'user-namespace' | 'foreign' | 'hidden';
export const targetReasons: readonly TargetReason[] = [
  'cpu-group',
  'privilege',
  'user-namespace',
  'foreign',
  'hidden',
];

/** Targets since start. */
export interface TargetCount {
  readonly way: TargetWay;
  readonly reason: TargetReason;
  readonly targets: number;
}

/** Processes held above FILTER (`protect`). */
export interface ProtectionStatus {
  readonly processes: number;
  readonly threads: number;
  /** CPU that they use, in cores; taken off the FILTER budget's gaps. */
  readonly cpuCores: number;
}
