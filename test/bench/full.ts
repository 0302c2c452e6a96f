/**
 * Line 3: what still works while every core is full of FILTER work.
 *
 *   loops of `burn`, twice as many as cores, none of which a slice ends     -> no core is without FILTER work
 *   one fair task bound to each core                                        -> the longest it stood still
 *   GET /healthz and a launch, each in open loop                            -> how long they took
 *   the daemon's own account of its scheduling loop, from a fresh start     -> how late it woke
 *   a bare real-time timer on each core, above all of sfsd's                -> how late the host itself is: no loop can be earlier
 */
import type { SfsdClient } from '../../src/cli/client.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { type Distribution, distributionOf } from '../../src/trace/replay/statistics.js';
import { BoundedChild, benchPath, burnPath, childFailed } from './bounded-child.js';
import { withDaemon } from './daemon-under-test.js';
import { ClosedLoops, sleep } from './load.js';
import { atMost, below, type Figure, type Measure, type MeasureContext } from './measure.js';
import { atPriority, clientPriority } from './real-time.js';

export const burnMs = 100;
/** The load that leaves no core without FILTER work. */
export const fullSettings = { 'scheduler.sliceFixedMs': 10_000, 'scheduler.overloadFactor': 0 };
/** Client and daemon compile their code in the first seconds; the host is full meanwhile. */
const warmUpMs = 2000;
const healthEveryMs = 50;
const launchEveryMs = 100;
/** FILTER may hold a core for 93%; launches and the fair tasks between functions take the rest. */
const fullAtLeast = 0.85;

interface Seen {
  readonly healthMs: readonly number[];
  readonly launchMs: readonly number[];
  readonly filterShare: number;
  readonly loop: { readonly samples: number; readonly lateP99Ms: number; readonly lateMaxMs: number };
  readonly timerLateMaxMs: number;
  readonly progress: readonly { readonly gapMaxUs: number; readonly steps: number }[];
}

export const fullMeasure: Measure = {
  name: 'full',
  title: 'both cores full of FILTER work',
  async run(context) {
    const seconds = context.short ? 3 : 60;
    const seen = await withDaemon(
      { settings: fullSettings, lifeMaxMs: seconds * 1000 + 30_000 },
      ({ client }) => atPriority(context.libc, clientPriority, () => observe(context, { client, seconds })),
    );
    return figuresOf(seen, seconds);
  },
};

async function observe(
  context: MeasureContext,
  { client, seconds }: { readonly client: SfsdClient; readonly seconds: number },
): Promise<Seen> {
  const clock = new MonotonicClock(context.libc);
  const nowMs = () => clock.now() / 1000;
  await client.putFunction('bench-probe', { command: burnPath, args: ['1'] });
  // Born before the host is full: a spawn waits for its child's exec.
  const fairTasks = Array.from(
    { length: context.cores },
    (_, cpu) =>
      new BoundedChild({
        command: benchPath,
        args: ['progress', String(warmUpMs + seconds * 1000), String(cpu)],
        lifeMaxMs: warmUpMs + seconds * 1000 + 10_000,
      }),
  );
  const timers = Array.from(
    { length: context.cores },
    (_, cpu) =>
      new BoundedChild({
        command: benchPath,
        args: ['timer', String(warmUpMs + seconds * 1000), String(cpu)],
        lifeMaxMs: warmUpMs + seconds * 1000 + 10_000,
      }),
  );
  const load = await ClosedLoops.start({ client, loops: 2 * context.cores, nextMs: () => burnMs });
  await load.runFor(warmUpMs);
  await Promise.all([
    client.health(),
    client.invokeDetailed('bench-probe', { body: new Uint8Array(0), arrivedAtMs: nowMs() }),
  ]);
  const start = nowMs();
  const cpuMsBefore = load.cpuMs;
  const health: number[] = [];
  const launches: number[] = [];
  const lanes = [
    openLoop({ everyMs: healthEveryMs, seconds }, async () => {
      const sent = nowMs();
      await client.health();
      health.push(nowMs() - sent);
    }),
    openLoop({ everyMs: launchEveryMs, seconds }, async () => {
      const arrivedAtMs = nowMs();
      const result = await client.invokeDetailed('bench-probe', { body: new Uint8Array(0), arrivedAtMs });
      launches.push(result.startedAtMs - arrivedAtMs);
    }),
  ];
  await Promise.all(lanes);
  const status = await client.status();
  const filterShare = (load.cpuMs - cpuMsBefore) / ((nowMs() - start) * context.cores);
  const ends = await Promise.all(fairTasks.map((task) => task.ended));
  const timerEnds = await Promise.all(timers.map((timer) => timer.ended));
  await load.stop();
  const progress = ends.map((end) => {
    if (end.code !== 0) throw childFailed('bench progress', end);
    return JSON.parse(end.stdout) as Seen['progress'][number];
  });
  const lateUs = timerEnds.map((end) => {
    if (end.code !== 0) throw childFailed('bench timer', end);
    return (JSON.parse(end.stdout) as { readonly lateMaxUs: number }).lateMaxUs;
  });
  const timerLateMaxMs = Math.max(...lateUs) / 1000;
  return { timerLateMaxMs, healthMs: health, launchMs: launches, filterShare, loop: status.loop, progress };
}

/** Starts one at each deadline, whether or not the last was answered; resolves when all were, rejects with the first failure. */
async function openLoop(
  { everyMs, seconds }: { readonly everyMs: number; readonly seconds: number },
  one: () => Promise<void>,
): Promise<void> {
  const start = performance.now();
  const failures: unknown[] = [];
  const underWay: Promise<unknown>[] = [];
  for (let at = 0; at < seconds * 1000 && failures.length === 0; at += everyMs) {
    await sleep(Math.max(0, start + at - performance.now()));
    underWay.push(one().catch((thrown: unknown) => failures.push(thrown)));
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
}

function figuresOf(seen: Seen, seconds: number): readonly Figure[] {
  const gapMaxMs = Math.max(...seen.progress.map((task) => task.gapMaxUs)) / 1000;
  const under = `under full FILTER, ${seconds} s`;
  return [
    {
      line: 3,
      name: 'share of the host that was FILTER work',
      value: seen.filterShare,
      unit: 'share',
      note: `below ${fullAtLeast} the host was not full and the figures below mean little`,
    },
    {
      line: 3,
      name: 'scheduling loop late, p99',
      value: seen.loop.lateP99Ms,
      unit: 'ms',
      bound: below(0.5),
      note: `${seen.loop.samples} waits, ${under}`,
    },
    {
      line: 3,
      name: 'scheduling loop late, max',
      value: seen.loop.lateMaxMs,
      unit: 'ms',
      bound: below(5),
      across: 'worst',
    },
    {
      line: 3,
      name: 'the host itself: a bare timer late, max',
      value: seen.timerLateMaxMs,
      unit: 'ms',
      across: 'worst',
      note: 'SCHED_FIFO 45, nothing but sleeps, one on each core, meanwhile',
    },
    {
      line: 3,
      name: 'longest stand-still of a fair task',
      value: gapMaxMs,
      unit: 'ms',
      bound: below(200),
      across: 'worst',
      note: `one bound to each core, ${seen.progress.map((task) => task.steps).join(' and ')} steps of 0.1 ms`,
    },
    ...answerFigures('/healthz answers', distributionOf(seen.healthMs)),
    ...answerFigures('a launch starts its program', distributionOf(seen.launchMs)),
  ];
}

function answerFigures(name: string, times: Distribution | null): readonly Figure[] {
  const note = `${times?.count ?? 0} requests, median ${times?.median.toFixed(2)}`;
  return [
    { line: 3, name: `${name}, p99`, value: times?.p99 ?? Number.NaN, unit: 'ms', bound: atMost(20), note },
    {
      line: 3,
      name: `${name}, max`,
      value: times?.max ?? Number.NaN,
      unit: 'ms',
      bound: atMost(20),
      across: 'worst',
    },
  ];
}
