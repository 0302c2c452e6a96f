/**
 * SCHED_RR's quantum, the same for every task of the host: how long one runs before it goes to the end of its queue.
 */
import { readFileSync } from 'node:fs';
import { type Duration, fromMs } from '../contracts/time.js';

/** The kernel's own default. */
const defaultMs = 100;

export function roundRobinQuantum(file = '/proc/sys/kernel/sched_rr_timeslice_ms'): Duration {
  try {
    const ms = Number(readFileSync(file, 'utf8'));
    return fromMs(ms > 0 ? ms : defaultMs);
  } catch {
    return fromMs(defaultMs);
  }
}
