/**
 * The bench's own priority while it measures: on a full host a client under the fair scheduler measures its own starvation.
 */
import { SfsdError } from '../../src/contracts/errors.js';
import type { Libc } from '../../src/linux/libc.js';
import { SelfPriority } from '../../src/linux/self-priority.js';

/** Above the control plane (8), so that an answer is seen when it comes; below the spawner (15). */
export const clientPriority = 12;
/** As the scheduling thread. */
export const schedulingPriority = 25;

/** Children born meanwhile are not real-time. */
export async function atPriority<Result>(
  libc: Libc,
  priority: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const own = new SelfPriority(libc, { common: priority });
  try {
    const raised = own.raise();
    if (raised !== 'ok') throw new SfsdError('SFSD_ERR_PERMISSION', { reason: raised.reason });
    return await work();
  } finally {
    own.lower();
  }
}
