/**
 * May we make tasks real-time? The privileges say whether it should work; promoting a child of our own says whether it does. The
 * child sleeps all its life, so that a priority it keeps by mistake costs nobody anything.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Libc } from '../../linux/libc.js';
import { broken, degraded, type Finding, ok } from './finding.js';

const capSysNice = 23n;
/** DESIGN: functions in FILTER run at 5. */
const filterPriority = 5;
const schedOther = 0;
const schedFifo = 1;
const schedResetOnFork = 0x40000000;
const errnoPermission = -1;
/** Longer than any check, shorter than anybody would mind. */
const childLifeSeconds = '10';

export function privilegeFinding(): Finding {
  const status = readFileSync('/proc/self/status', 'utf8');
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  const capable = (effective & (1n << capSysNice)) !== 0n;
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const limit = /^Max realtime priority\s+(\S+)/m.exec(limits)?.[1] ?? '0';
  const fact = `uid ${process.geteuid?.()}, CAP_SYS_NICE ${capable ? 'yes' : 'no'}, RLIMIT_RTPRIO ${limit}`;
  if (capable) return ok('privileges', fact);
  if (limit === 'unlimited' || Number(limit) >= filterPriority)
    return degraded(
      'privileges',
      fact,
      'Only this user’s own processes can be promoted; others are left to the fair scheduler.',
    );
  return broken('privileges', fact, 'Start sfsd as root, or with CAP_SYS_NICE.');
}

export async function promotionFinding(libc: Libc): Promise<Finding> {
  const child = spawn('sleep', [childLifeSeconds], { stdio: 'ignore' });
  const [pid] = await Promise.race([
    once(child, 'spawn').then(() => [child.pid]),
    once(child, 'error').then(() => [undefined]),
  ]);
  if (pid === undefined) return broken('promotion', '`sleep` could not be started', 'Install coreutils.');
  try {
    return promote(libc, pid);
  } finally {
    child.kill('SIGKILL');
  }
}

function promote(libc: Libc, pid: number): Finding {
  const policy = schedFifo | schedResetOnFork;
  const result = libc.schedSetscheduler(pid, policy, filterPriority);
  if (result === errnoPermission) return refused();
  if (result < 0)
    return broken('promotion', `sched_setscheduler failed with errno ${-result}`, 'Please report this.');
  const seen = libc.schedGetscheduler(pid);
  const back = libc.schedSetscheduler(pid, schedOther, 0);
  if (seen !== policy || back < 0)
    return broken(
      'promotion',
      `the kernel said yes, but the policy is ${seen} and the way back gave ${back}`,
      'A sandboxed kernel pretends: run sfsd on the host itself.',
    );
  return ok('promotion', `a child became SCHED_FIFO ${filterPriority} and SCHED_OTHER again`);
}

function refused(): Finding {
  const group = ownCpuGroup();
  if (realtimeGroupsOn() && group !== undefined && group !== '/')
    return degraded(
      'promotion',
      `refused: the cpu cgroup ${group} has no real-time budget (CONFIG_RT_GROUP_SCHED)`,
      'The daemon moves what it promotes to a group of its own that has one.',
    );
  return broken(
    'promotion',
    'sched_setscheduler is not permitted',
    'Start sfsd as root or with CAP_SYS_NICE, in the initial user namespace.',
  );
}

/** The group of this process in the v1 cpu hierarchy. */
export function ownCpuGroup(): string | undefined {
  const groups = readFileSync('/proc/self/cgroup', 'utf8');
  return /^\d+:(?:[^:\n]*,)?cpu(?:,[^:\n]*)?:(.*)$/m.exec(groups)?.[1];
}

/** The knob exists only on a kernel with the option; on cgroup2 there is no knob to see. */
export function realtimeGroupsOn(): boolean {
  return ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpu,cpuacct'].some((mount) =>
    existsSync(`${mount}/cpu.rt_runtime_us`),
  );
}
