/**
 * The scheduling plane as one thing that starts and stops: the thread, its rings, and the control plane's end of them.
 */
import type { SfsdConfig } from '../../contracts/config.js';
import { SfsdError } from '../../contracts/errors.js';
import { policiesBeside } from '../../contracts/invocation.js';
import { isRealTime } from '../../contracts/modes.js';
import type { BeliefRow } from '../../contracts/store.js';
import { type Clock, type Duration, duration, type Tick } from '../../contracts/time.js';
import { UsableCpus } from '../../linux/cpus.js';
import type { JournalFile } from '../../linux/journal-file.js';
import type { Libc } from '../../linux/libc.js';
import { roundRobinQuantum } from '../../linux/round-robin.js';
import { sfsParameters, workerCount } from '../config/parameters.js';
import type { CpuAccounts } from '../cpu-accounts.js';
import type { Permission } from '../permission.js';
import { PlaneState } from './plane-state.js';
import { type OnEnded, SharedSchedulingPlane } from './shared-scheduling-plane.js';
import { startSchedulingThread } from './thread-host.js';
import type { FfiReport } from './thread-main.js';

/** Finished invocations that `sfsd why` can still tell of. */
const finishedMax = 10_000;
/** How often hotplug and changes of our cpuset are looked for. */
const cpusIntervalMs = 1000;

export interface SchedulingOptions {
  readonly config: SfsdConfig;
  readonly libc: Libc;
  readonly clock: Clock;
  readonly tick: Tick;
  readonly permission: Permission;
  readonly accounts: CpuAccounts;
  /** Of what is promoted; absent: there is no guard. */
  readonly journal: JournalFile | undefined;
  /** What earlier daemons have learned of CPU times. */
  readonly beliefs: readonly BeliefRow[];
  readonly onEnded?: OnEnded;
  readonly kernelModule?: string;
  readonly onLost: (error: Error) => void;
}

export interface Scheduling {
  readonly plane: SharedSchedulingPlane;
  /** Kernel thread id of the scheduling thread. */
  readonly tid: number;
  /** Who makes the scheduling thread's kernel calls. */
  readonly ffi: FfiReport;
  readonly workers: number;
  /** How often the scheduling thread's loop has turned: it stands still when the thread does. */
  turns(): number;
  /** `workers` as the configuration has it: 0 follows the usable CPUs. */
  setWorkers(configured: number): void;
  /** Launching costs real-time too: told at each start of a spawner and of a function. */
  countLaunches(spawnerPid: number, births: Duration): void;
  /** So does what protected processes use, in cores: told once a look. */
  countProtected(cores: number): void;
  /** Refuses new work, demotes everything, ends the thread; idempotent. */
  stop(): Promise<void>;
  /** Stops, and releases shared resources. */
  close(): Promise<void>;
}

export async function startScheduling(options: SchedulingOptions): Promise<Scheduling> {
  const { config, libc, clock, tick, permission, accounts } = options;
  const { scheduler, priorities } = config;
  const cpus = new UsableCpus(libc, { reserve: scheduler.reserveCpus });
  const workers = workerCount(scheduler, cpus.count);
  if (scheduler.pin && workers > cpus.count) throw tooManyPinned({ workers, cpus: cpus.count });
  const { mode } = permission;
  const realTime = isRealTime(mode);
  const policy = mode === 'off' ? 'cfs' : scheduler.policy;
  const parameters = {
    ...sfsParameters(scheduler, { workers, budgeted: realTime }),
    ...(realTime && priorities.roundRobin ? { turnQuantum: roundRobinQuantum() } : {}),
  };
  const thread = await startSchedulingThread({
    libc,
    ffi: config.linux.ffi,
    policy,
    parameters,
    beliefs: options.beliefs,
    priority: permission.daemonRealTime ? priorities.scheduling : 0,
    filterPriority: priorities.filter,
    roundRobin: priorities.roundRobin,
    mode,
    favour: permission.favour,
    filterShare: scheduler.budgetPercent / 100,
    reserveCpus: scheduler.reserveCpus,
    journal: options.journal && { fd: options.journal.fd, bytes: options.journal.memory.byteLength },
    ...(options.kernelModule === undefined ? {} : { kernelModule: options.kernelModule }),
    onLost: options.onLost,
  });
  const state = new PlaneState(thread.state);
  const plane = new SharedSchedulingPlane({
    clock,
    tick,
    rings: thread,
    state: thread.state,
    defaultPolicy: policy,
    policies: policiesBeside(scheduler.policy),
    mode: { name: mode, ...(permission.reason === undefined ? {} : { reason: permission.reason }) },
    ...(options.onEnded === undefined ? {} : { onEnded: options.onEnded }),
    liveMax: scheduler.liveMax,
    finishedMax,
    budgetShare: parameters.budgetShare,
    ring: thread.ring,
    cpu: () => accounts.read(duration(state.get('polling') + state.get('scheduling'))),
  });
  let configured = scheduler.workers;
  const countWorkers = () => workerCount({ ...scheduler, workers: configured }, cpus.count);
  const following = followCpus({ cpus, plane, countWorkers });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= (async () => {
      clearInterval(following);
      plane.stop();
      await thread.ended();
    })();
    return stopped;
  };
  return {
    plane,
    tid: thread.tid,
    ffi: thread.ffi,
    workers,
    turns: () => state.get('turns'),
    setWorkers: (count) => {
      // With `pin` each needs a core of its own.
      configured = scheduler.pin ? Math.min(count, cpus.count) : count;
      plane.setWorkers(countWorkers());
    },
    countLaunches: (spawnerPid, births) => {
      state.set('spawnerPid', spawnerPid);
      state.set('births', births);
    },
    countProtected: (cores) => state.set('protectedCores', cores),
    stop,
    close: async () => {
      await stop();
      thread.close();
    },
  };
}

function tooManyPinned({ workers, cpus }: { readonly workers: number; readonly cpus: number }): SfsdError {
  const faults = `  scheduler.workers is ${workers}, but with scheduler.pin each needs one of the ${cpus} usable CPUs`;
  return new SfsdError('SFSD_ERR_CONFIG_INVALID', { count: 1, faults });
}

/** c follows the CPUs that FILTER may use. */
function followCpus(context: {
  readonly cpus: UsableCpus;
  readonly plane: SharedSchedulingPlane;
  readonly countWorkers: () => number;
}): NodeJS.Timeout {
  const { cpus, plane, countWorkers } = context;
  const timer = setInterval(() => {
    if (cpus.refresh()) plane.setWorkers(countWorkers());
  }, cpusIntervalMs);
  return timer.unref();
}
