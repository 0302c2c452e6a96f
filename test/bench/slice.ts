/**
 * Line 2: how exactly a slice ends, and how soon a block or a wake is seen.
 *
 *   slices   loops of `burn` that need 1.2 to 3 slices each, so that each is demoted once, with every core busy; the decision itself
 *            says how much CPU time past S was used when the demotion had taken effect
 *   naps     a function that works and sleeps in turn beside FILTER work on all other cores; it says when it slept and when it was due
 *            to wake, the daemon says when it decided `blocked` and `woken`
 *
 * A nap's block counts from the call that sleeps, its wake from its timer; both are CLOCK_MONOTONIC, so the two sides compare.
 */

import type { DecisionBody, ResultBody } from '../../src/contracts/http.js';
import type { DecisionKind } from '../../src/contracts/scheduler.js';
import { distributionOf } from '../../src/trace/replay/statistics.js';
import { benchPath } from './bounded-child.js';
import { type DaemonUnderTest, withDaemon } from './daemon-under-test.js';
import { ClosedLoops } from './load.js';
import { atMost, below, type Figure, type Measure, type MeasureContext } from './measure.js';
import { atPriority, clientPriority } from './real-time.js';

const sliceMs = 10;
/** Within the daemon's bound of 128 decisions on one invocation: three for each nap. */
const napsPerRun = 36;
/** Longer than a poll: what wakes and sleeps again between two polls is never seen awake, and need not be. */
const napBurnUs = 6000;
const napSleepUs = 12_000;
/**
 * A decision carries the time at which its turn of the loop began; what it was made upon was seen up to this much later. A nap that
 * begins or ends in between would else be paired with the next one's decision.
 */
const turnMaxMs = 1;
/** Long enough that no nap is cut by a slice, and no invocation bypassed. */
const noSliceEnd = { 'scheduler.sliceFixedMs': 10_000, 'scheduler.overloadFactor': 0 };

export const sliceMeasure: Measure = {
  name: 'slice',
  title: 'slice ends, blocks and wakes',
  async run(context) {
    const seconds = context.short ? 2 : 20;
    const past = await pastSlice(context, seconds);
    const seen = await napsSeen(context, seconds);
    return [
      ...past,
      seenFigure('block seen after the call that sleeps, p99', seen.blocks),
      seenFigure('wake seen after it was due, p99', seen.wakes),
      {
        line: 2,
        name: 'naps whose block or wake was not seen',
        value: seen.missed,
        unit: 'naps',
        across: 'worst',
        note: `of ${seen.naps}`,
      },
    ];
  },
};

async function pastSlice(context: MeasureContext, seconds: number): Promise<readonly Figure[]> {
  const samples: number[] = [];
  await withDaemon(
    {
      settings: { 'scheduler.sliceFixedMs': sliceMs, 'scheduler.overloadFactor': 0 },
      lifeMaxMs: seconds * 1000 + 30_000,
    },
    async ({ client }) => {
      let step = context.seed;
      const load = await ClosedLoops.start({
        client,
        loops: 2 * context.cores + 2,
        nextMs: () => {
          step += 1;
          return sliceMs * (1.2 + ((step * 7) % 19) / 10);
        },
        onResult: ({ decisions }) => {
          for (const decision of decisions)
            if (decision.kind === 'demoted') samples.push(decision.value / 1000);
        },
      });
      await load.runFor(seconds * 1000);
      await load.stop();
    },
  );
  const past = distributionOf(samples);
  return [
    {
      line: 2,
      name: 'CPU time past S at demotion, p99',
      value: past?.p99 ?? Number.NaN,
      unit: 'ms',
      bound: below(1),
      note: `${samples.length} demotions, S ${sliceMs} ms; median ${past?.median.toFixed(3)}, max ${past?.max.toFixed(3)}`,
    },
  ];
}

interface Seen {
  naps: number;
  missed: number;
  /** Milliseconds from the event to the decision. */
  readonly blocks: number[];
  readonly wakes: number[];
}

function seenFigure(name: string, samples: readonly number[]): Figure {
  const late = distributionOf(samples);
  return {
    line: 2,
    name,
    value: late?.p99 ?? Number.NaN,
    unit: 'ms',
    bound: atMost(4.5),
    note: `${samples.length} naps; median ${late?.median.toFixed(2)}, max ${late?.max.toFixed(2)}`,
  };
}

async function napsSeen(context: MeasureContext, seconds: number): Promise<Seen> {
  const seen: Seen = { naps: 0, missed: 0, blocks: [], wakes: [] };
  await withDaemon({ settings: noSliceEnd, lifeMaxMs: seconds * 1000 + 30_000 }, (daemon) =>
    atPriority(context.libc, clientPriority, async () => {
      const { client } = daemon;
      await client.putFunction('bench-naps', {
        command: benchPath,
        args: ['naps', String(napsPerRun), String(napBurnUs), String(napSleepUs)],
      });
      // One worker stays free for the naps: a woken one that waits in the queue is seen late by design.
      const loops = Math.max(1, context.cores - 1);
      const load = await ClosedLoops.start({ client, loops, nextMs: () => 200 });
      const until = Date.now() + seconds * 1000;
      do await oneRun(daemon, seen);
      while (Date.now() < until);
      await load.stop();
    }),
  );
  return seen;
}

async function oneRun({ client }: DaemonUnderTest, seen: Seen): Promise<void> {
  const result: ResultBody = await client.invokeDetailed('bench-naps', { body: new Uint8Array(0) });
  const output = JSON.parse(Buffer.from(result.stdoutBase64, 'base64').toString('utf8')) as {
    readonly naps: readonly (readonly [number, number])[];
  };
  for (const [sleptAtUs, wokenAtUs] of output.naps) {
    seen.naps += 1;
    const blocked = firstAfter(result.decisions, 'blocked', sleptAtUs / 1000 - turnMaxMs);
    const woken = firstAfter(result.decisions, 'woken', wokenAtUs / 1000 - turnMaxMs);
    // The last nap ends with the program: whether its wake is seen before its exit is chance.
    const isLast = sleptAtUs === output.naps.at(-1)?.[0];
    if (blocked === undefined || blocked.atMs > wokenAtUs / 1000) seen.missed += 1;
    else {
      seen.blocks.push(blocked.atMs - sleptAtUs / 1000);
      if (woken !== undefined) seen.wakes.push(woken.atMs - wokenAtUs / 1000);
      else if (!isLast) seen.missed += 1;
    }
  }
}

function firstAfter(
  decisions: readonly DecisionBody[],
  kind: DecisionKind,
  fromMs: number,
): DecisionBody | undefined {
  return decisions.find((decision) => decision.kind === kind && decision.atMs >= fromMs);
}
