/**
 * The kernel adapter that the scheduling thread runs over on a real host.
 */
import { LinuxKernel } from '../../linux/linux-kernel.js';
import type { KernelContext, PlaneKernel } from './thread-main.js';

export function createKernel({ libc, poller, priority, realtime }: KernelContext): PlaneKernel {
  return new LinuxKernel({ libc, poller, priority, mode: realtime ? 'fifo' : 'off' });
}
