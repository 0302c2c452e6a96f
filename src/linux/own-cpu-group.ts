/**
 * The daemon's own cpu cgroup, where it keeps the daemon from becoming real-time: a child of the v1 cpu tree without a real-time budget.
 * The whole process then moves to the root of that tree, and of no other, before it has started anything; what it starts is born there.
 *
 * To the root and not to a group of our own: a group's budget is shared by all in it, and a scheduling plane that the kernel stops
 * together with what it has to demote would be no use. What it costs: the cpu.shares and quota of the group that we leave do not
 * bind functions any more. Memory and pids limits do, and mode eevdf leaves everything where it is.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupLayout } from './cgroup-layout.js';
import { cpuGroupOf } from './rt-group.js';

export class OwnCpuGroup {
  /** Relative to the mount. */
  readonly home: string;
  readonly #mount: string;

  private constructor(mount: string, home: string) {
    this.#mount = mount;
    this.home = home;
  }

  /** undefined: it is not our group's missing budget that keeps us from being real-time. */
  static withoutBudget(layout: CgroupLayout): OwnCpuGroup | undefined {
    const tree = layout.tree('cpu');
    const home = cpuGroupOf('self');
    if (tree?.version !== 1 || home === undefined || home === '/' || home.includes('/..')) return undefined;
    try {
      const budget = readFileSync(join(tree.mount, home, 'cpu.rt_runtime_us'), 'utf8').trim();
      return budget === '0' ? new OwnCpuGroup(tree.mount, home) : undefined;
    } catch {
      return undefined; // A kernel without CONFIG_RT_GROUP_SCHED.
    }
  }

  /** Of the group that we go to. */
  get procsFile(): string {
    return join(this.#mount, 'cgroup.procs');
  }

  /** @returns whether that was allowed. */
  leave(): boolean {
    return this.#moveTo(this.#mount);
  }

  /** When no thread of ours is real-time any more; a group that was removed meanwhile is not made again. */
  comeBack(): void {
    this.#moveTo(join(this.#mount, this.home));
  }

  #moveTo(directory: string): boolean {
    try {
      writeFileSync(join(directory, 'cgroup.procs'), String(process.pid));
      return true;
    } catch {
      return false;
    }
  }
}
