/**
 * What the kernel says of the tasks of one program: who is real-time, who is away from its cgroup, who is a zombie.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { policyOf } from '../processes.js';

export interface Task {
  readonly pid: number;
  readonly tid: number;
}

export interface Process {
  readonly pid: number;
  readonly state: string;
}

/** What was not there when it was made: the observer must not be what fills the host. */
export class NewProcesses {
  readonly #old = new Set(readdirSync('/proc'));

  /** Those that bear the name, zombies among them. */
  named(name: string): Process[] {
    return readdirSync('/proc').flatMap((entry) => {
      if (this.#old.has(entry) || !/^\d+$/.test(entry)) return [];
      const text = readText(`/proc/${entry}/stat`);
      const end = text.lastIndexOf(')');
      if (text.slice(text.indexOf('(') + 1, end) !== name) return [];
      return [{ pid: Number(entry), state: text.charAt(end + 2) }];
    });
  }

  tasksNamed(name: string): Task[] {
    return this.named(name).flatMap(({ pid }) => tasksOf(pid));
  }
}

export function tasksOf(pid: number): Task[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((tid) => ({ pid, tid: Number(tid) }));
  } catch {
    return [];
  }
}

export function isRealtime({ pid, tid }: Task): boolean {
  const policy = policyOf(pid, tid);
  return policy === 'SCHED_FIFO' || policy === 'SCHED_RR';
}

/** Its group in the v1 cpu tree; undefined when it has ended. */
export function cpuGroupOf({ pid, tid }: Task): string | undefined {
  return /^\d+:cpu:(.*)$/m.exec(readText(`/proc/${pid}/task/${tid}/cgroup`))?.[1];
}

/** 0 when it has ended. */
export function parentOf(pid: number): number {
  const text = readText(`/proc/${pid}/stat`);
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
