/** What the report says of this host, and whether it was idle when it should have been. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { toMs } from '../../contracts/time.js';
import { roundRobinQuantum } from '../../linux/round-robin.js';
import type { HostFacts } from '../../trace/replay/comparison.js';
import { packageVersion } from '../version.js';

export function hostFacts(): HostFacts {
  return {
    kernel: release(),
    cpuModel: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    node: process.versions.node,
    sfsd: packageVersion(),
    roundRobinQuantumMs: toMs(roundRobinQuantum()),
  };
}

/** Jiffies of all cores since boot, from the first line of /proc/stat. */
interface HostTime {
  readonly total: number;
  readonly idle: number;
}

/** The share of the host that was busy while we waited. */
export async function busyShare(waitMs: number): Promise<number> {
  const before = hostTime();
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const now = hostTime();
  const total = now.total - before.total;
  return total <= 0 ? 0 : 1 - (now.idle - before.idle) / total;
}

function hostTime(): HostTime {
  const [, ...fields] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/);
  // user nice system idle iowait irq softirq steal; guest time is in user already.
  const jiffies = fields.slice(0, 8).map(Number);
  return {
    total: jiffies.reduce((sum, value) => sum + value, 0),
    idle: (jiffies[3] ?? 0) + (jiffies[4] ?? 0),
  };
}
