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
const realWorkUs = 200;
const realLifeUs = 20_000;

export const registrationsRealMeasure: Measure = {
  name: 'registrations-real',
  title: '1,000 registrations a second, real processes',
  run: (context) => realProcesses(context, context.short ? 1 : 10),
};

interface RealSeen {
  readonly sent: Sent;
  /** When each request left, by id. */
  readonly sentAtMs: ReadonlyMap<string, number>;
  /** Of a burst the daemon remembers a part only. */
  readonly stories: readonly ExplanationBody[];
  /** Accepted, with no end when all should have one. */
  readonly live: number;
}

async function realProcesses(context: MeasureContext, seconds: number): Promise<readonly Figure[]> {
  const seen = await withDaemon({ lifeMaxMs: seconds * 1000 + 60_000 }, ({ client }) =>
    atPriority(context.libc, clientPriority, async (): Promise<RealSeen> => {
      const { sent, sentAtMs } = await registerForks(context, { client, seconds });
      const { live } = await settled(client);
      const stories: ExplanationBody[] = [];
      for (const id of sentAtMs.keys()) {
        const story = await client.explain(id).catch(() => undefined);
        if (story !== undefined) stories.push(story);
      }
      return { sent, sentAtMs, stories, live };
    }),
  );
  return realFigures(seen, seconds);
}

async function registerForks(
  { libc }: MeasureContext,
  { client, seconds }: { readonly client: SfsdClient; readonly seconds: number },
): Promise<{ readonly sent: Sent; readonly sentAtMs: ReadonlyMap<string, number> }> {
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
    waiting.push({ id: String(id), functionName: 'bench', pid: Number(pid), startTime });
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

function realFigures({ sent, sentAtMs, stories, live }: RealSeen, seconds: number): readonly Figure[] {
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
  const name = `${realRate} a second of real processes`;
  const late = distributionOf(taken);
  const next = distributionOf(pickedUp);
  return [
    lostFigure(`${name}: lost`, {
      value: sent.requested - sent.accepted + live,
      note: `${sent.requested} in ${seconds} s; ${goneBefore} had ended before the daemon took hold of them; ${stories.length} remembered${refusalText(sent)}`,
    }),
    {
      line: 5,
      name: `${name}: request to decision, p99`,
      value: late?.p99 ?? Number.NaN,
      unit: 'ms',
      bound: below(5),
      note: `median ${late?.median.toFixed(2)}, max ${late?.max.toFixed(1)}`,
    },
    {
      line: 5,
      name: `${name}: request to pick-up or other second decision, p99`,
      value: next?.p99 ?? Number.NaN,
      unit: 'ms',
      note: `waits for a FILTER worker included; median ${next?.median.toFixed(2)}`,
    },
  ];
}
