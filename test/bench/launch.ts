/**
 * Line 6's companion, reported: what a launch costs and how long it takes, on an idle host and on one full of FILTER work.
 *
 *   request (client's clock) -> the daemon has it (enqueued) -> execve done (started) -> main of the program (it says so itself)
 *
 * CPU per launch is the growth of the daemon's own accounts over the idle launches: the control plane's includes parsing the request
 * and answering it.
 */
import type { SfsdClient } from '../../src/cli/client.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { distributionOf } from '../../src/trace/replay/statistics.js';
import { burnPath } from './bounded-child.js';
import { withDaemon } from './daemon-under-test.js';
import { burnMs, fullSettings } from './full.js';
import { ClosedLoops, sleep } from './load.js';
import type { Figure, Measure, MeasureContext } from './measure.js';
import { atPriority, clientPriority } from './real-time.js';

const pauseMs = 10;
/** First launches are slow: code is not compiled yet. */
const warmUps = 20;

interface Launches {
  readonly toExecMs: readonly number[];
  readonly toMainMs: readonly number[];
  readonly answeredMs: readonly number[];
}

export const launchMeasure: Measure = {
  name: 'launch',
  title: 'launch latency and cost',
  async run(context) {
    const count = context.short ? 30 : 500;
    return withDaemon({ settings: fullSettings, lifeMaxMs: 120_000 }, ({ client }) =>
      atPriority(context.libc, clientPriority, () => measure(context, { client, count })),
    );
  },
};

async function measure(
  context: MeasureContext,
  { client, count }: { readonly client: SfsdClient; readonly count: number },
): Promise<readonly Figure[]> {
  await client.putFunction('bench-probe', { command: burnPath, args: ['1'] });
  await launches(context, { client, count: warmUps });
  const before = (await client.status()).cpu;
  const idle = await launches(context, { client, count });
  const after = (await client.status()).cpu;
  const load = await ClosedLoops.start({ client, loops: 2 * context.cores, nextMs: () => burnMs });
  await sleep(burnMs);
  const full = await launches(context, { client, count: Math.ceil(count / 5) });
  await load.stop();
  const perLaunch = (ms: number) => (ms / count) * 1000;
  return [
    ...figuresOf('idle', idle),
    ...figuresOf('full', full),
    reported('CPU per launch, control plane', perLaunch(after.controlMs - before.controlMs), 'us'),
    reported('CPU per launch, spawner', perLaunch(after.spawnerMs - before.spawnerMs), 'us'),
    reported(
      'CPU per launch, scheduling thread',
      perLaunch(after.schedulingMs + after.pollingMs - before.schedulingMs - before.pollingMs),
      'us',
    ),
  ];
}

async function launches(
  context: MeasureContext,
  { client, count }: { readonly client: SfsdClient; readonly count: number },
): Promise<Launches> {
  const clock = new MonotonicClock(context.libc);
  const toExecMs: number[] = [];
  const toMainMs: number[] = [];
  const answeredMs: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const sentMs = clock.now() / 1000;
    const result = await client.invokeDetailed('bench-probe', { body: new Uint8Array(0) });
    answeredMs.push(clock.now() / 1000 - sentMs);
    const { startedAtUs } = JSON.parse(Buffer.from(result.stdoutBase64, 'base64').toString('utf8')) as {
      readonly startedAtUs: number;
    };
    toExecMs.push(result.startedAtMs - sentMs);
    toMainMs.push(startedAtUs / 1000 - sentMs);
    await sleep(pauseMs);
  }
  return { toExecMs, toMainMs, answeredMs };
}

function figuresOf(host: 'idle' | 'full', seen: Launches): readonly Figure[] {
  return [
    ...latency(`launch on an ${host} host: request to execve done`, seen.toExecMs),
    ...latency(`launch on an ${host} host: request to main`, seen.toMainMs),
    ...latency(`launch on an ${host} host: request to answer (1 ms of work)`, seen.answeredMs),
  ].map((figure) => ({ ...figure, name: figure.name.replace('an full', 'a full') }));
}

function latency(name: string, samples: readonly number[]): readonly Figure[] {
  const times = distributionOf(samples);
  const p99 = `${samples.length} launches, max ${times?.max.toFixed(2)}`;
  return [
    reported(`${name}, median`, times?.median ?? Number.NaN, 'ms'),
    { ...reported(`${name}, p99`, times?.p99 ?? Number.NaN, 'ms'), note: p99 },
  ];
}

function reported(name: string, value: number, unit: string): Figure {
  return { line: 6, name, value, unit };
}
