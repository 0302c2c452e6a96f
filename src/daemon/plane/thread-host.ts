/**
 * Starts the scheduling plane: shared memory, eventfd, worker thread; and ends it.
 *
 * Acquired here: two rings, the state block, an eventfd, the worker. Released by `stop`, in reverse order.
 */
import { Worker } from 'node:worker_threads';
import type { FfiName } from '../../contracts/config.js';
import { SfsdError } from '../../contracts/errors.js';
import type { PolicyName } from '../../contracts/invocation.js';
import type { PermissionMode } from '../../contracts/modes.js';
import type { SfsParameters } from '../../contracts/scheduler.js';
import type { BeliefRow } from '../../contracts/store.js';
import type { Libc } from '../../linux/libc.js';
import type { Favour } from '../../linux/task-promoter.js';
import { allocateDecisionRing } from './decision-ring.js';
import { allocatePlaneState, PlaneState } from './plane-state.js';
import { allocateSubmissionRing } from './submission-ring.js';
import { sizeNextHeap } from './thread-heap.js';
import type { FfiReport, SchedulingThreadData } from './thread-main.js';

/** Bytes of the submission ring for each live invocation allowed: one submission (under 512) and one end. */
const submissionBytesPerLive = 256;
const submissionBytesMin = 1 << 20;
/** At least 2 for each live invocation, see decision-ring.ts; 4 leaves room for promotions and demotions. */
const decisionsPerLive = 4;
const decisionsMin = 1 << 16;
/** How long the thread may take from stop to its end: draining demotes every group. */
const stopTimeoutMs = 2000;
/** How long the thread may take to come up: it loads an FFI and compiles the policy. */
const startTimeoutMs = 10_000;

export interface SchedulingThreadOptions {
  readonly libc: Libc;
  /** For the thread's own calls. */
  readonly ffi: FfiName;
  readonly policy: PolicyName;
  readonly parameters: SfsParameters;
  readonly beliefs: readonly BeliefRow[];
  readonly priority: number;
  readonly filterPriority: number;
  readonly roundRobin: boolean;
  readonly mode: PermissionMode;
  readonly favour: Favour | undefined;
  /** FILTER's share of a core's time. */
  readonly filterShare: number;
  readonly reserveCpus: number;
  readonly journal: SchedulingThreadData['journal'];
  /** URL; absent: the Linux kernel. */
  readonly kernelModule?: string;
  /** The thread ended without being asked to. */
  readonly onLost: (error: Error) => void;
}

export interface SchedulingThread {
  readonly submissions: SharedArrayBuffer;
  readonly decisions: SharedArrayBuffer;
  readonly state: SharedArrayBuffer;
  /** Thread id in the kernel. */
  readonly tid: number;
  /** Who makes the thread's kernel calls. */
  readonly ffi: FfiReport;
  /** Wakes the thread from its wait. */
  ring(): void;
  /** Resolves when the thread has ended; the stop message must be in the ring. */
  ended(): Promise<void>;
  /** Releases the eventfd; after `ended`. */
  close(): void;
}

export async function startSchedulingThread(options: SchedulingThreadOptions): Promise<SchedulingThread> {
  const { libc, parameters } = options;
  const submissions = allocateSubmissionRing(
    powerOfTwo(Math.max(submissionBytesMin, parameters.liveMax * submissionBytesPerLive)),
  );
  const decisions = allocateDecisionRing(
    powerOfTwo(Math.max(decisionsMin, parameters.liveMax * decisionsPerLive)),
  );
  const state = allocatePlaneState();
  const eventfd = libc.eventfd(0);
  if (eventfd < 0) throw new SfsdError('SFSD_ERR_KERNEL', { call: 'eventfd', reason: `errno ${-eventfd}` });
  const data: SchedulingThreadData = {
    submissions,
    decisions,
    state,
    eventfd,
    ffi: options.ffi,
    policy: options.policy,
    parameters,
    beliefs: options.beliefs,
    priority: options.priority,
    filterPriority: options.filterPriority,
    roundRobin: options.roundRobin,
    mode: options.mode,
    favour: options.favour,
    filterShare: options.filterShare,
    reserveCpus: options.reserveCpus,
    journal: options.journal,
    kernelModule: options.kernelModule ?? new URL('./plane-kernel.js', import.meta.url).href,
  };
  sizeNextHeap();
  const worker = new Worker(new URL('./thread-main.js', import.meta.url), {
    workerData: data,
    name: 'scheduling',
  });
  const told = new Promise<FfiReport>((resolve) => worker.once('message', resolve));
  let stopping = false;
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const lost = new Promise<never>((_, reject) => {
    worker.once('error', (error) => reject(error));
    worker.once('exit', () => reject(new Error('the scheduling thread ended')));
  });
  lost.catch((error: Error) => {
    if (!stopping) options.onLost(error);
  });
  const tid = await Promise.race([firstSign(new PlaneState(state)), lost]);
  const ffi = await Promise.race([told, lost]);
  const one = new Uint8Array(new BigUint64Array([1n]).buffer);
  return {
    submissions,
    decisions,
    state,
    tid,
    ffi,
    ring: () => {
      libc.write(eventfd, one, 8);
    },
    ended: async () => {
      stopping = true;
      const timer = setTimeout(() => void worker.terminate(), stopTimeoutMs);
      await exited;
      clearTimeout(timer);
    },
    close: () => {
      libc.close(eventfd);
    },
  };
}

/** The thread writes its tid once it is about to enter the loop. */
async function firstSign(state: PlaneState): Promise<number> {
  for (let waited = 0; waited < startTimeoutMs; waited += 2) {
    const tid = state.get('tid');
    if (tid > 0) return tid;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new SfsdError('SFSD_ERR_INTERNAL', {
    reason: `the scheduling thread did not start within ${startTimeoutMs} ms`,
  });
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
