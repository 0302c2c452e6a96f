/**
 * Processes of a test's own, and what the kernel says of them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { SelfPriority } from '../../src/linux/self-priority.js';

/** Above functions (5) and the control plane (8), below the spawner (15). */
const observerPriority = 12;

/** An observer under the fair scheduler would be starved by what it observes. What this process starts is SCHED_OTHER again. */
export function observeInRealTime(): void {
  const loaded = loadKoffiLibc();
  if (loaded.ok) new SelfPriority(loaded.libc, { common: observerPriority }).raise();
}

const policies = [
  'SCHED_OTHER',
  'SCHED_FIFO',
  'SCHED_RR',
  'SCHED_BATCH',
  'SCHED_ISO',
  'SCHED_IDLE',
  'SCHED_DEADLINE',
];

/** Field 41 of /proc/PID/task/TID/stat; undefined when the task is gone. */
export function policyOf(pid: number, tid = pid): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/task/${tid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return policies[Number(fields[38])];
  } catch {
    return undefined;
  }
}

export function policiesOf(pid: number): (string | undefined)[] {
  return readdirSync(`/proc/${pid}/task`).map((tid) => policyOf(pid, Number(tid)));
}

/** A child that is ended by `timeout` after `seconds` at the latest; `pid` is the program's own. */
export async function startBounded(
  seconds: number,
  words: readonly string[],
): Promise<{ pid: number; process: ChildProcess; ended: Promise<void> }> {
  const script = 'echo $$; exec "$@"';
  const child = spawn('timeout', ['--kill-after=1', String(seconds), 'sh', '-c', script, 'sh', ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', (chunk: Buffer) => resolve(Number.parseInt(chunk.toString(), 10)));
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  return { pid, process: child, ended };
}

/** Threads on this machine that are real-time at one of sfsd's own priorities. */
export function realtimeTasks(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readdirSync(`/proc/${pid}/task`).map((tid) => ({ pid: Number(pid), tid: Number(tid) }));
      } catch {
        return [];
      }
    })
    .filter(({ pid, tid }) => ['SCHED_FIFO', 'SCHED_RR'].includes(policyOf(pid, tid) ?? ''))
    .map(({ pid, tid }) => `${pid}/${tid}`);
}
