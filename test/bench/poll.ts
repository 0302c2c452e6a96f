/**
 * Line 4: what one poll costs, with the policy and the Linux adapter as the daemon runs them, on a thread of the scheduling thread's
 * priority. 72 workers hold 72 processes:
 *
 *   running        each runs, or waits for a CPU: what FILTER holds
 *   asleep         each sleeps: what FILTER holds at the one poll that takes it out
 *
 * The 72 share a few cores here, so they are not really promoted (72 FIFO spinners would hold the host); to read their states costs the
 * same. `ioAware` is off and the budget too, so that sleepers stay where they are and only polls are timed.
 */
import { invocationKey } from '../../src/contracts/invocation.js';
import { after, type Clock, duration, fromMs, type Instant, noTime } from '../../src/contracts/time.js';
import { LinuxKernel } from '../../src/linux/linux-kernel.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { Poller } from '../../src/linux/poller.js';
import { createScheduler, type Policy } from '../../src/scheduler/policies.js';
import { type Distribution, distributionOf } from '../../src/trace/replay/statistics.js';
import { BoundedChild, benchPath, childFailed } from './bounded-child.js';
import { below, type Figure, type Measure, type MeasureContext } from './measure.js';
import { atPriority, schedulingPriority } from './real-time.js';

const processes = 72;
const threadsMany = 8;
const pollIntervalMs = 4;
const filterPriority = 5;
/** Thread-starts of the largest crowd take a while on a busy host. */
const crowdLifeMs = 60_000;
/** The first polls open files and run code that is not compiled yet. */
const warmUpPolls = 100;

class UnpromotedKernel extends LinuxKernel {
  override promote(): 'ok' {
    return 'ok';
  }
}

interface Crowd {
  readonly path: 'running' | 'asleep';
  readonly threads: number;
  readonly periodUs: number;
  readonly workUs: number;
}

const crowds: readonly Crowd[] = [
  { path: 'running', threads: 1, periodUs: 1000, workUs: 1_000_000 },
  { path: 'asleep', threads: 1, periodUs: 0, workUs: 0 },
  { path: 'running', threads: threadsMany, periodUs: 1000, workUs: 1_000_000 },
  { path: 'asleep', threads: threadsMany, periodUs: 0, workUs: 0 },
];

export const pollMeasure: Measure = {
  name: 'poll',
  title: 'one poll of 72 FILTER tasks',
  async run(context) {
    const figures: Figure[] = [];
    for (const crowd of crowds) figures.push(...(await measureCrowd(context, crowd)));
    return figures;
  },
};

async function measureCrowd(context: MeasureContext, crowd: Crowd): Promise<readonly Figure[]> {
  const polls = context.short ? 100 : 1000;
  const { child, members } = await gather(crowd);
  try {
    const times = await atPriority(context.libc, schedulingPriority, async () =>
      pollThem(context, { members, polls }),
    );
    return figuresOf(crowd, times);
  } finally {
    child.endInput();
    await child.stop();
  }
}

interface Member {
  readonly pid: number;
  readonly startTime: string;
}

/** Resolves when all its processes and threads are there. */
async function gather(
  crowd: Crowd,
): Promise<{ readonly child: BoundedChild; readonly members: readonly Member[] }> {
  const numbers = [processes, crowd.threads, crowd.periodUs, crowd.workUs, crowdLifeMs];
  const child = new BoundedChild({
    command: benchPath,
    args: ['crowd', ...numbers.map(String)],
    lifeMaxMs: crowdLifeMs,
    input: 'pipe',
  });
  const members: Member[] = [];
  await new Promise<void>((resolve, reject) => {
    child.ended.then((end) => reject(childFailed('bench crowd', end)), reject);
    child.followLines((line) => {
      const [pid = '', startTime = ''] = line.split(' ');
      members.push({ pid: Number(pid), startTime });
      if (members.length === processes) resolve();
    });
  });
  return { child, members };
}

/** Microseconds of each tick that polled. Blocks the event loop, as the scheduling thread would. */
function pollThem(
  { libc }: MeasureContext,
  { members, polls }: { readonly members: readonly Member[]; readonly polls: number },
): readonly number[] {
  const clock = new MonotonicClock(libc);
  const poller = new Poller(libc);
  const kernel = new UnpromotedKernel({ libc, poller, priority: filterPriority, rtGroupName: 'sfsd-bench' });
  const scheduler = createScheduler('sfs', { clock, kernel, log: { record: () => {} } }, parameters);
  try {
    members.forEach((member, index) => {
      scheduler.submit({
        key: invocationKey(index + 1),
        functionName: 'crowd',
        group: { kind: 'process', ...member },
        arrivedAt: clock.now(),
      });
    });
    return timePolls({ scheduler, clock, poller, polls });
  } finally {
    scheduler.drain();
    kernel.close();
    poller.close();
  }
}

function timePolls(on: {
  readonly scheduler: Policy;
  readonly clock: Clock;
  readonly poller: Poller;
  readonly polls: number;
}): readonly number[] {
  const { scheduler, clock, poller, polls } = on;
  const { counters } = scheduler.view;
  const times: number[] = [];
  const deadline = after(clock.now(), fromMs((warmUpPolls + polls) * pollIntervalMs * 2));
  let next: Instant | undefined = scheduler.tick();
  while (counters.polls < warmUpPolls + polls && clock.now() < deadline) {
    poller.wait(next ?? after(clock.now(), fromMs(pollIntervalMs)), clock.now());
    const before = {
      polls: counters.polls,
      promotions: counters.promotions,
      observations: counters.observations,
    };
    const start = performance.now();
    next = scheduler.tick();
    const tookUs = (performance.now() - start) * 1000;
    const whole = counters.observations - before.observations === processes;
    if (counters.polls > Math.max(before.polls, warmUpPolls) && whole) times.push(tookUs);
  }
  return times;
}

const parameters = {
  workers: processes,
  window: 100,
  sliceInitial: fromMs(20),
  sliceMin: fromMs(2),
  sliceMax: fromMs(1000),
  sliceFixed: fromMs(60_000),
  overloadFactor: Number.POSITIVE_INFINITY,
  pollInterval: fromMs(pollIntervalMs),
  ioAware: false,
  budgetShare: 1,
  budgetWindow: fromMs(100),
  gapMax: fromMs(10_000),
  arrivalAfter: duration(noTime),
  liveMax: 1024,
  blockedPerPollMax: 256,
};

function figuresOf(crowd: Crowd, samples: readonly number[]): readonly Figure[] {
  const times: Distribution | null = distributionOf(samples);
  const one = crowd.threads === 1;
  const what = `one poll of ${processes} tasks${one ? '' : ` x ${crowd.threads} threads`}, ${crowd.path}`;
  return [
    {
      line: 4,
      name: `${what}, median`,
      value: times?.median ?? Number.NaN,
      unit: 'us',
      ...(one ? { bound: below(450) } : {}),
      note: `${samples.length} polls; p90 ${times?.p90.toFixed(0)}, max ${times?.max.toFixed(0)}`,
    },
    { line: 4, name: `${what}, p99`, value: times?.p99 ?? Number.NaN, unit: 'us' },
  ];
}
