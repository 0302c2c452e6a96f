/** The few ways in which cgroup directories and their files are touched, with the kernel's refusals as coded errors. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { reasonOf, SfsdError } from '../contracts/errors.js';

/** With its parents; nothing when it exists. */
export function makeGroup(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
  } catch (thrown) {
    throw new SfsdError(
      'SFSD_ERR_KERNEL',
      { call: `mkdir ${directory}`, reason: reasonOf(thrown) },
      { cause: thrown },
    );
  }
}

/** Whether we were not allowed to, as without root or in a container with read-only cgroups. */
export function isRefusal(thrown: unknown): boolean {
  const cause = thrown instanceof SfsdError ? thrown.cause : thrown;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
}

export function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (thrown) {
    throw new SfsdError(
      'SFSD_ERR_KERNEL',
      { call: `write ${file}`, reason: reasonOf(thrown) },
      { cause: thrown },
    );
  }
}

export function writeIfThere(file: string, text: string): void {
  if (existsSync(file)) write(file, text);
}

export function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {} // Not empty, or gone already.
}
