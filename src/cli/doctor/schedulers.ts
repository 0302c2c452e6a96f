/** Who else schedules: BPF schedulers, the kernel's own real-time threads, hardware threads that share a core. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { degraded, type Finding, ok } from './finding.js';
import { textOf } from './host-files.js';

/** All priorities of ours are below. */
const kernelPriorityMin = 50;
const kernelThreadDaemon = '2';
const namedMax = 4;
const realtimePolicies = ['1', '2'];
/** Counted from the state, field 3 of /proc/PID/stat. */
const fields = { parent: 1, priority: 37, policy: 38 } as const;

export function schedExtFinding(root: string): Finding {
  const state = textOf(root, 'sys/kernel/sched_ext/state');
  if (state === undefined) return ok('sched_ext', 'not in this kernel');
  if (state === 'disabled') return ok('sched_ext', 'no BPF scheduler is loaded');
  const name = textOf(root, 'sys/kernel/sched_ext/root/ops') ?? 'one';
  return degraded(
    'sched_ext',
    `a BPF scheduler (${name}) is ${state}: it has what is left to the fair scheduler`,
    'FILTER is not touched by it. Long functions are treated as it sees fit, and slices set by sched_setattr have no effect.',
  );
}

export function btfFinding(root: string): Finding {
  if (textOf(root, 'sys/kernel/btf/vmlinux') !== undefined)
    return ok('BTF', 'the kernel describes its types');
  return degraded(
    'BTF',
    'the kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)',
    'No BPF program can watch the scheduler; blocks and wakes come from /proc, once a poll. That is the default in any case.',
  );
}

export function smtFinding(root: string): Finding {
  if (textOf(root, 'sys/devices/system/cpu/smt/active') !== '1') return ok('SMT', 'each CPU is a core');
  return degraded(
    'SMT',
    'two CPUs share a core',
    'Two invocations in FILTER on one core slow each other, and S counts their CPU time as if each had one. Fewer workers: scheduler.workers.',
  );
}

export function kernelThreadFinding(root: string): Finding {
  const threads = kernelThreads(root);
  const low = threads.filter(({ priority }) => priority < kernelPriorityMin);
  const fact = `${threads.length} real-time threads of the kernel`;
  if (threads.length === 0) return ok('kernel threads', 'none real-time, or none to be seen from here');
  if (low.length === 0) return ok('kernel threads', `${fact}, all at ${kernelPriorityMin} or above`);
  const named = low.slice(0, namedMax).map(({ name, priority }) => `${name} at ${priority}`);
  return degraded(
    'kernel threads',
    `${fact}, ${low.length} below ${kernelPriorityMin}: ${named.join(', ')}${low.length > namedMax ? ', ...' : ''}`,
    'They wait while something of ours at their priority or above runs; the FILTER budget leaves them 7 ms of each 100. Raise them (chrt -f -p 50 PID), or lower `priorities`.',
  );
}

interface KernelThread {
  readonly name: string;
  readonly priority: number;
}

function kernelThreads(root: string): readonly KernelThread[] {
  const found: KernelThread[] = [];
  for (const pid of readdirSync(join(root, 'proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = textOf(root, `proc/${pid}/stat`);
    if (stat === undefined) continue;
    const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (values[fields.parent] !== kernelThreadDaemon) continue;
    if (!realtimePolicies.includes(values[fields.policy] ?? '')) continue;
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    found.push({ name, priority: Number(values[fields.priority]) });
  }
  return found;
}
