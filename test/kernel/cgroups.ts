/** Cgroups of a test's own, removed with it. */
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from './children.js';

export function makeGroup(t: Test, directory: string): string {
  mkdirSync(directory, { recursive: true });
  t.teardown(async () => {
    await until(() => readFileSync(join(directory, 'cgroup.procs'), 'utf8') === '', 'the group is empty');
    removeGroup(directory);
    removeGroup(join(directory, '..'));
  });
  return directory;
}

export function removeGroup(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {} // The tree's root, or gone already.
}

/** In the v1 cpu tree. */
export function cpuGroupOf(pid: number): string {
  return /^\d+:(?:cpu|.*,cpu|cpu,.*):(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? '';
}
