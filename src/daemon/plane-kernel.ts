/**
 * The kernel adapter that the scheduling thread runs over on a real host.
 */
import { LinuxKernel } from '../linux/linux-kernel.js';
import type { KernelContext, PlaneKernel } from './scheduling-thread.js';

export function createKernel(context: KernelContext): PlaneKernel {
  return new LinuxKernel(context);
}
