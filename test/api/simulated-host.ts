/**
 * What the simulated daemon says of its host: the mode, and the ports that answer the same at every call.
 */
import type { ApiPorts } from '../../src/api/ports.js';
import type { SchedulingStatus } from '../../src/contracts/scheduling-plane.js';

export const hostMode: Pick<SchedulingStatus, 'mode' | 'targets'> = {
  mode: 'fifo',
  targets: [{ way: 'eevdf', reason: 'cpu-group', targets: 3 }],
};

export const hostPorts: Pick<ApiPorts, 'version' | 'ffi' | 'protection' | 'guard'> = {
  version: '1.2.3',
  ffi: { configured: 'koffi', control: 'koffi', scheduling: 'koffi' },
  guard: () => ({ state: 'off', epoch: 0, tasks: 0, tasksMax: 0, demoted: 0, stalls: 0, restarts: 0 }),
  protection: () => ({ processes: 2, threads: 9, cpuCores: 0.25 }),
};
