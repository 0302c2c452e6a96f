/**
 * The load generator shares the host with what it measures. At normal priority it would issue late exactly when the host is full,
 * so all of its threads become SCHED_FIFO above the functions (5) and the control plane (8), below the spawner (15): the same for
 * every policy. It sleeps between requests and takes a few percent of one core.
 */
import type { Libc } from '../../linux/libc.js';
import { SelfPriority } from '../../linux/self-priority.js';

const generatorPriority = 12;

export type Raised =
  | { readonly raised: true; lower(): void }
  | { readonly raised: false; readonly reason: string; lower(): void };

export function raiseGenerator(libc: Libc | undefined): Raised {
  if (libc === undefined) return { raised: false, reason: 'no FFI library', lower: () => undefined };
  const own = new SelfPriority(libc, { common: generatorPriority });
  const result = own.raise();
  const lower = (): void => own.lower();
  return result === 'ok' ? { raised: true, lower } : { raised: false, reason: result.reason, lower };
}
