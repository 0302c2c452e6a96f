/**
 * The kernel adapter that the scheduling thread runs over on a real host.
 */
import { UsableCpus } from '../../linux/cpus.js';
import { LinuxKernel } from '../../linux/linux-kernel.js';
import type { KernelContext, PlaneKernel } from './thread-main.js';

export function createKernel(context: KernelContext): PlaneKernel {
  const { libc, poller, priority, roundRobin, mode, reserveCpus, launches, journal } = context;
  const cpus = new UsableCpus(libc, { reserve: reserveCpus });
  return new LinuxKernel({
    libc,
    poller,
    priority,
    launches,
    ...(journal === undefined ? {} : { journal }),
    roundRobin,
    mode,
    ...(context.favour === undefined ? {} : { favour: context.favour }),
    filterShare: context.filterShare,
    countTarget: context.countTarget,
    cpuOfWorker: (worker) => cpus.numbers[worker],
  });
}
