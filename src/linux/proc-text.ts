/**
 * Small text files of /proc, read whole and at once through one kept buffer, and the lines of them that say whose a process is.
 */
import { Buffer } from 'node:buffer';
import type { Libc } from './libc.js';

/** Of status, a process in 65,536 groups has the longest; what is cut off there is not needed or reads as absent. */
const bytesMax = 64 * 1024;
const readOnly = 0;

export class ProcText {
  readonly #libc: Libc;
  readonly #bytes = Buffer.alloc(bytesMax);

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Or the negative errno. */
  read(path: string): string | number {
    const fd = this.#libc.open(path, readOnly);
    if (fd < 0) return fd;
    const length = this.#libc.read(fd, this.#bytes, bytesMax);
    this.#libc.close(fd);
    return length < 0 ? length : this.#bytes.toString('latin1', 0, length);
  }
}

/** The words of one line of /proc/PID/status; empty when there is no such line. */
export function statusField(status: string, name: string): readonly string[] {
  const mark = `\n${name}:`;
  const at = status.indexOf(mark);
  if (at < 0) return [];
  const end = status.indexOf('\n', at + 1);
  const text = status.slice(at + mark.length, end < 0 ? undefined : end).trim();
  return text === '' ? [] : text.split(/\s+/);
}

/** Real, effective, saved and file system uid, where they are one. */
export function uidOf(status: string): number | undefined {
  const [first, ...others] = statusField(status, 'Uid');
  return first !== undefined && others.every((uid) => uid === first) ? Number(first) : undefined;
}

/** From /proc/PID/cgroup: the path in each hierarchy, each once. */
export function cgroupPaths(text: string): readonly string[] {
  const paths = text
    .split('\n')
    .map((line) => /^\d+:[^:]*:(\/.*)$/.exec(line)?.[1])
    .filter((path): path is string => path !== undefined);
  return [...new Set(paths)];
}
