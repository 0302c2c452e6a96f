/**
 * Everything that a promotion may change of a task, as one text: what was before is compared with what is left behind.
 */
import { readdirSync } from 'node:fs';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { cpuGroupOf } from '../../src/linux/rt-group.js';

const policies = ['OTHER', 'FIFO', 'RR', 'BATCH', 'ISO', 'IDLE', 'DEADLINE'];
const attributeBytes = 48;

/** `OTHER nice 0 slice 2.8 ms in /`; `gone`. */
export function standingOf(tid: number): string {
  const loaded = loadKoffiLibc();
  if (!loaded.ok) throw new Error(loaded.reason);
  const words = new Uint32Array(attributeBytes / 4);
  if (loaded.libc.schedGetattr(tid, new Uint8Array(words.buffer)) < 0) return 'gone';
  const [, policy = 0, flags = 0, , nice = 0, priority = 0, slice = 0] = words;
  const realTime = priority > 0 ? ` ${priority}` : '';
  const reset = (flags & 1) === 0 ? '' : ' reset';
  return `${policies[policy]}${realTime}${reset} nice ${nice | 0} slice ${slice / 1e6} ms in ${cpuGroupOf(tid)}`;
}

export function standingsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((tid) => standingOf(Number(tid)));
}
