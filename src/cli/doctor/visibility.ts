/** What can be seen of others: processes in /proc, their births and ends, containers. */
import { accessSync, constants, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { broken, degraded, type Finding, ok } from './finding.js';
import { textOf } from './host-files.js';

const capNetAdmin = 12n;
const capSysPtrace = 19n;
const containerdSocket = 'run/containerd/containerd.sock';

export function procFinding(root: string): Finding {
  const mounts = (textOf(root, 'proc/self/mountinfo') ?? '').split('\n');
  // The last one is the one that is seen.
  const options = mounts.filter((line) => / \/proc /.test(line) && / - proc /.test(line)).at(-1) ?? '';
  const hidepid = /\bhidepid=(\w+)/.exec(options)?.[1] ?? '0';
  if (/\bsubset=pid\b/.test(options))
    return broken(
      '/proc',
      'it is mounted with subset=pid: nothing of the kernel’s own settings can be read',
      'Remount it without the option; in a unit: ProcSubset=all.',
    );
  if (hidepid === '0' || hidepid === 'off') return ok('/proc', 'every process can be seen');
  const fact = `it is mounted with hidepid=${hidepid}`;
  if (capable(root, capSysPtrace))
    return ok('/proc', `${fact}; CAP_SYS_PTRACE sees every process all the same`);
  return degraded(
    '/proc',
    `${fact}: processes of other users are hidden`,
    'Only this user’s own are managed; all, with CAP_SYS_PTRACE. In a unit: ProtectProc=default.',
  );
}

export function procConnectorFinding(root: string): Finding {
  const subject = 'proc connector';
  const instead =
    'New processes are found by looking into /proc and cgroup.procs instead, up to a poll later.';
  const list = textOf(root, 'proc/net/connector');
  if (list === undefined || !/^cn_proc\s/m.test(list))
    return degraded(subject, 'not in this kernel (CONFIG_PROC_EVENTS)', instead);
  if (!sameNetwork(root)) return degraded(subject, 'it speaks in the host’s network namespace only', instead);
  if (!capable(root, capNetAdmin)) return degraded(subject, 'it is there; CAP_NET_ADMIN is missing', instead);
  return ok(subject, 'births and ends of processes are told');
}

export function containerdFinding(root: string): Finding {
  const path = join(root, containerdSocket);
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return ok('containerd', path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT')
      return ok('containerd', `none at /${containerdSocket}; only a faasd host has one`);
    return degraded(
      'containerd',
      `${path} is not for this user`,
      'Containers are seen by their processes alone. As root, or as a member of its group, also by their names.',
    );
  }
}

/** Pid 1's is not for everybody to read; then the question stays open, and the capability decides. */
function sameNetwork(root: string): boolean {
  const of = (pid: string): string | undefined => {
    try {
      return readlinkSync(join(root, 'proc', pid, 'ns/net'));
    } catch {
      return undefined;
    }
  };
  const init = of('1');
  return init === undefined || init === of('self');
}

function capable(root: string, capability: bigint): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(textOf(root, 'proc/self/status') ?? '')?.[1] ?? '0';
  return (BigInt(`0x${effective}`) & (1n << capability)) !== 0n;
}
