/**
 * Entry of the scheduling plane's worker thread: raises itself, builds the policy over the kernel, runs the loop until told
 * to stop. It never returns to an event loop meanwhile, so everything it is told comes over the submission ring.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { FfiName } from '../../contracts/config.js';
import { SfsdError } from '../../contracts/errors.js';
import type { InvocationKey, PolicyName } from '../../contracts/invocation.js';
import type { Kernel } from '../../contracts/kernel.js';
import type { PermissionMode } from '../../contracts/modes.js';
import type { SfsParameters } from '../../contracts/scheduler.js';
import type { BeliefRow } from '../../contracts/store.js';
import { type Clock, duration } from '../../contracts/time.js';
import { ClockReader, clockThreadCpu } from '../../linux/clock-reader.js';
import type { Libc } from '../../linux/libc.js';
import type { LaunchAccount } from '../../linux/linux-kernel.js';
import { loadLibc } from '../../linux/load-libc.js';
import { MonotonicClock } from '../../linux/monotonic-clock.js';
import { Poller } from '../../linux/poller.js';
import { PromotionJournal } from '../../linux/promotion-journal.js';
import type { CountTarget } from '../../linux/target-refusals.js';
import type { Favour } from '../../linux/task-promoter.js';
import { createScheduler } from '../../scheduler/policies.js';
import { historyOf } from './belief-keeper.js';
import { DecisionWriter } from './decision-ring.js';
import { PlaneState } from './plane-state.js';
import { runSchedulingLoop } from './scheduling-loop.js';
import { SubmissionReader } from './submission-ring.js';
import { ThreadHeap } from './thread-heap.js';

/** A kernel adapter that also tells whose group an event of the poller has ended. */
export interface PlaneKernel extends Kernel {
  takeExit(token: number): InvocationKey | undefined;
  /** Gives back what was made on the host. */
  close(): void;
}

/** What a module named by `kernelModule` exports. The bench drives the whole daemon over one that does nothing. */
export interface KernelModule {
  createKernel(context: KernelContext): PlaneKernel;
}

export interface KernelContext {
  readonly libc: Libc;
  readonly clock: Clock;
  readonly poller: Poller;
  readonly priority: number;
  readonly roundRobin: boolean;
  readonly mode: PermissionMode;
  readonly favour: Favour | undefined;
  /** FILTER's share of a core's time. */
  readonly filterShare: number;
  readonly countTarget: CountTarget;
  /** CPUs that get no FILTER worker. */
  readonly reserveCpus: number;
  readonly launches: LaunchAccount;
  /** Absent: there is no guard. */
  readonly journal: PromotionJournal | undefined;
}

/** Everything the thread is given; plain data and shared memory only. */
export interface SchedulingThreadData {
  readonly submissions: SharedArrayBuffer;
  readonly decisions: SharedArrayBuffer;
  readonly state: SharedArrayBuffer;
  readonly eventfd: number;
  readonly ffi: FfiName;
  readonly policy: PolicyName;
  readonly parameters: SfsParameters;
  /** What earlier daemons have learned. */
  readonly beliefs: readonly BeliefRow[];
  /** Own priority; 0: stay SCHED_OTHER. */
  readonly priority: number;
  readonly filterPriority: number;
  readonly roundRobin: boolean;
  readonly mode: PermissionMode;
  readonly favour: Favour | undefined;
  /** FILTER's share of a core's time. */
  readonly filterShare: number;
  /** CPUs that get no FILTER worker. */
  readonly reserveCpus: number;
  /** The journal's file, to be mapped here too: memory of another thread's mapping cannot be passed. Absent: there is no guard. */
  readonly journal: { readonly fd: number; readonly bytes: number } | undefined;
  /** URL of a KernelModule. */
  readonly kernelModule: string;
}

/** The one message that the thread posts, before it enters its loop. */
export interface FfiReport {
  readonly used: FfiName;
  /** Why it is not the one configured. */
  readonly fallbackReason?: string;
}

/** Poller token of the eventfd; the kernel adapter's tokens are all above it. */
export const eventfdToken = 0;

const fifoResetOnFork = 1 | 0x40000000;

async function main(data: SchedulingThreadData): Promise<void> {
  const loaded = loadLibc(data.ffi);
  if (!loaded.ok)
    throw new SfsdError('SFSD_ERR_KERNEL', { call: 'loading the C library', reason: loaded.reason });
  const { libc, fallbackReason } = loaded;
  const report: FfiReport = {
    used: libc.name,
    ...(fallbackReason === undefined ? {} : { fallbackReason }),
  };
  parentPort?.postMessage(report);
  const state = new PlaneState(data.state);
  raise(libc, data.priority);
  const clock = new MonotonicClock(libc);
  const poller = new Poller(libc);
  poller.add(data.eventfd, eventfdToken);
  const journal = openJournal(libc, data.journal);
  const { createKernel } = (await import(data.kernelModule)) as KernelModule;
  const kernel = createKernel({
    libc,
    clock,
    poller,
    priority: data.filterPriority,
    roundRobin: data.roundRobin,
    mode: data.mode,
    favour: data.favour,
    filterShare: data.filterShare,
    countTarget: (way, reason) => state.countTarget(way, reason),
    reserveCpus: data.reserveCpus,
    journal,
    launches: {
      spawnerPid: () => state.get('spawnerPid'),
      births: () => duration(state.get('births')),
      protectedCores: () => state.get('protectedCores'),
    },
  });
  const log = new DecisionWriter(data.decisions);
  const history = historyOf(data.beliefs);
  const scheduler = createScheduler(data.policy, { clock, kernel, log, history }, data.parameters);
  const cpu = new ClockReader(libc);
  const eventCount = new Uint8Array(8);
  const heap = new ThreadHeap();
  runSchedulingLoop({
    clock,
    scheduler,
    reader: new SubmissionReader(data.submissions),
    log,
    state,
    wait: (until) => poller.wait(until, clock.now()),
    endedAt: (index) => {
      const token = poller.token(index);
      if (token !== eventfdToken) return kernel.takeExit(token);
      libc.read(data.eventfd, eventCount, 8);
      return undefined;
    },
    beat: () => journal?.beat() ?? false,
    cpuTime: () => duration(cpu.microseconds(clockThreadCpu)),
    rest: () => heap.collectIfGrown(),
    ready: () => state.set('tid', libc.gettid()),
  });
  kernel.close();
  poller.close();
}

function openJournal(libc: Libc, file: SchedulingThreadData['journal']): PromotionJournal | undefined {
  if (file === undefined) return undefined;
  const memory = libc.mapShared(file.fd, file.bytes);
  if (typeof memory === 'number')
    throw new SfsdError('SFSD_ERR_KERNEL', { call: 'mmap of the journal', reason: `errno ${-memory}` });
  return new PromotionJournal(memory);
}

function raise(libc: Libc, priority: number): void {
  if (priority === 0) return;
  const result = libc.schedSetscheduler(0, fifoResetOnFork, priority);
  if (result < 0)
    throw new SfsdError('SFSD_ERR_PERMISSION', { reason: `sched_setscheduler failed with errno ${-result}` });
}

await main(workerData as SchedulingThreadData);
