/**
 * The empty groups of daemons that were killed. A daemon's own parent group carries its pid (`sfsd-PID`): where that pid is no
 * process any more, nobody will come back for it. Groups that still hold tasks cannot be removed, and are left alone.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { removeIfEmpty } from './cgroup-files.js';
import type { CgroupLayout } from './cgroup-layout.js';

const parentPattern = /^sfsd-(\d+)$/;

/** Parent group of the instances of the daemon with this pid. */
export function daemonGroup(pid: number): string {
  return `/sfsd-${pid}`;
}

export function removeLeftovers(layout: CgroupLayout): void {
  const mounts = [layout.unifiedPath, layout.tree('memory')?.mount, layout.tree('pids')?.mount];
  for (const mount of new Set(mounts)) {
    if (mount === undefined) continue;
    for (const name of readdirSync(mount)) {
      const pid = parentPattern.exec(name)?.[1];
      if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
      const parent = join(mount, name);
      for (const entry of readdirSync(parent, { withFileTypes: true })) {
        if (entry.isDirectory()) removeIfEmpty(join(parent, entry.name));
      }
      removeIfEmpty(parent);
    }
  }
}
