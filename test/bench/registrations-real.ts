/**
 * Line 5, second half: 1,000 registrations a second of real processes that live for some 20 ms, forked by another program. Afterwards
 * the daemon is asked what it decided about each, and when.
 *
 * Lost is what was sent and was not accepted, or has no end afterwards; a process may well be gone before the daemon takes hold of it.
 */
import type { SfsdClient } from '../../src/cli/client.js';
import type { ExplanationBody, RegistrationBody } from '../../src/contracts/http.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { distributionOf } from '../../src/trace/replay/statistics.js';
import { BoundedChild, benchPath, childFailed } from './bounded-child.js';
import { withDaemon } from './daemon-under-test.js';
import { Ledger, listEveryMs, lostFigure, refusalText, type Sent, settled } from './ledger.js';
import { below, type Figure, type Measure, type MeasureContext } from './measure.js';
import { atPriority, clientPriority } from './real-time.js';

/** For 10 s: as many as the daemon remembers finished ones (10,000). */
const realRate = 1000;
/** The code of a generator and of a daemon that have just started is compiled while it runs: counted, and timed apart. */
const warmUpSeconds = 0.5;
const realWorkUs = 200;
const realLifeUs = 20_000;

export const registrationsRealMeasure: Measure = {
  name: 'registrations-real',
  title: '1,000 registrations a second, real processes',
  run: (context) => realProcesses(context, context.short ? 1 : 10),
};

interface Registered {
  readonly sent: Sent;
  /** When each request left, by id. */
  readonly sentAtMs: ReadonlyMap<string, number>;
}

interface RealSeen {
  readonly warmUp: Registered;
  readonly cold: readonly ExplanationBody[];
  readonly main: Registered;
  /** Of a burst the daemon remembers a part only. */
  readonly stories: readonly ExplanationBody[];
  /** Accepted, with no end when all should have one. */
  readonly live: number;
}

async function realProcesses(context: MeasureContext, seconds: number): Promise<readonly Figure[]> {
  const seen = await withDaemon({ lifeMaxMs: seconds * 1000 + 60_000 }, ({ client }) =>
    atPriority(context.libc, clientPriority, async (): Promise<RealSeen> => {
      const warmUp = await registerForks(context, { client, seconds: warmUpSeconds, prefix: 'warm-up-' });
      const cold = await storiesOf(client, warmUp);
      const main = await registerForks(context, { client, seconds, prefix: '' });
      const { live } = await settled(client);
      return { warmUp, cold, main, stories: await storiesOf(client, main), live };
    }),
  );
  return realFigures(seen, seconds);
}

async function registerForks(
  { libc }: MeasureContext,
  {
    client,
    seconds,
    prefix,
  }: { readonly client: SfsdClient; readonly seconds: number; readonly prefix: string },
): Promise<Registered> {
  const clock = new MonotonicClock(libc);
  const sentAtMs = new Map<string, number>();
  const ledger = new Ledger(client);
  let waiting: RegistrationBody[] = [];
  const numbers = [realRate, realRate * seconds, realWorkUs, realLifeUs];
  const forks = new BoundedChild({
    command: benchPath,
    args: ['forks', ...numbers.map(String)],
    lifeMaxMs: seconds * 1000 + 10_000,
  });
  let id = 0;
  forks.followLines((line) => {
    const [pid = '', startTime = ''] = line.split(' ');
    id += 1;
    waiting.push({ id: `${prefix}${id}`, functionName: 'bench', pid: Number(pid), startTime });
  });
  const flush = () => {
    if (waiting.length === 0) return;
    const now = clock.now() / 1000;
    for (const registration of waiting) sentAtMs.set(registration.id, now);
    ledger.send(waiting, { lagMs: 0 });
    waiting = [];
  };
  const timer = setInterval(flush, listEveryMs);
  const end = await forks.ended;
  clearInterval(timer);
  flush();
  if (end.code !== 0) throw childFailed('bench forks', end);
  return { sent: await ledger.close(), sentAtMs };
}

async function storiesOf(client: SfsdClient, { sentAtMs }: Registered): Promise<ExplanationBody[]> {
  const stories: ExplanationBody[] = [];
  for (const id of sentAtMs.keys()) {
    const story = await client.explain(id).catch(() => undefined);
    if (story !== undefined) stories.push(story);
  }
  return stories;
}

/** From the request to the first and to the second decision about it. */
function delaysOf(stories: readonly ExplanationBody[], { sentAtMs }: Registered) {
  const taken: number[] = [];
  const pickedUp: number[] = [];
  let goneBefore = 0;
  for (const { id, decisions } of stories) {
    const sentAt = sentAtMs.get(id) ?? Number.NaN;
    const [first, second] = decisions;
    if (first === undefined) continue;
    taken.push(first.atMs - sentAt);
    if (second !== undefined) pickedUp.push(second.atMs - sentAt);
    if (first.kind === 'ended') goneBefore += 1;
  }
  return { taken: distributionOf(taken), pickedUp: distributionOf(pickedUp), goneBefore };
}

function realFigures({ warmUp, cold, main, stories, live }: RealSeen, seconds: number): readonly Figure[] {
  const { taken, pickedUp, goneBefore } = delaysOf(stories, main);
  const first = delaysOf(cold, warmUp).taken;
  const requested = warmUp.sent.requested + main.sent.requested;
  const accepted = warmUp.sent.accepted + main.sent.accepted;
  const name = `${realRate} a second of real processes`;
  return [
    lostFigure(`${name}: lost`, {
      value: requested - accepted + live,
      note: `${main.sent.requested} in ${seconds} s after a warm-up of ${warmUpSeconds} s; ${goneBefore} had ended before the daemon took hold of them; ${stories.length} remembered${refusalText(main.sent)}`,
    }),
    {
      line: 5,
      name: `${name}: request to decision, p99`,
      value: taken?.p99 ?? Number.NaN,
      unit: 'ms',
      bound: below(5),
      note: `median ${taken?.median.toFixed(2)}, max ${taken?.max.toFixed(1)}; in the warm-up: p99 ${first?.p99.toFixed(1)}`,
    },
    {
      line: 5,
      name: `${name}: request to pick-up or other second decision, p99`,
      value: pickedUp?.p99 ?? Number.NaN,
      unit: 'ms',
      note: `waits for a FILTER worker included; median ${pickedUp?.median.toFixed(2)}`,
    },
  ];
}
