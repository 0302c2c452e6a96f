/** What the figures were measured on: a figure without its machine means nothing. */
import { cpus, loadavg } from 'node:os';
import { hostFacts } from '../../src/cli/replay/host.js';
import type { HostFacts } from '../../src/trace/replay/comparison.js';

export interface Machine extends HostFacts {
  readonly cpuMHz: number;
  /** Over the last minute, before the first measure: above some tenths, somebody else was at work. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  return { ...hostFacts(), cpuMHz: cpus()[0]?.speed ?? 0, loadBefore: loadavg()[0] ?? 0 };
}

export function machineText(machine: Machine): string {
  const { cpuModel, cores, kernel, node, sfsd, loadBefore } = machine;
  return `${cpuModel}, ${cores} cores, Linux ${kernel}, Node ${node}, sfsd ${sfsd}, load before ${loadBefore.toFixed(2)}`;
}
