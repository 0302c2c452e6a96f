/**
 * Line 5, first half: 20,000 registrations a second in lists over the socket, from an open-loop generator at real-time priority, into
 * the whole daemon over a kernel adapter that touches no process (do-nothing-kernel.ts); it takes the time from the request to each
 * decision itself.
 *
 * Lost is what was sent and was not accepted, not decided, or never ended.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SfsdClient } from '../../src/cli/client.js';
import type { RegistrationBody, StatusBody } from '../../src/contracts/http.js';
import { after, fromMs } from '../../src/contracts/time.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { distributionOf } from '../../src/trace/replay/statistics.js';
import { sleepUntilOn } from '../../src/trace/replay/wait.js';
import { withDaemon } from './daemon-under-test.js';
import { type DoNothingResult, warmUpPidMin } from './do-nothing-kernel.js';
import { Ledger, listEveryMs, lostFigure, refusalText, type Sent, settled } from './ledger.js';
import { below, type Figure, type Measure, type MeasureContext } from './measure.js';
import { atPriority, clientPriority } from './real-time.js';

const fakeRate = 20_000;
/** Of processes that there are not: the daemon refuses pid 1 and its own by their numbers. */
const measuredPidMin = 1_000_000;
/** A daemon that has just started compiles its code while it runs; counted, not timed. */
const warmUpStretch: Stretch = { seconds: 3, rate: 5000, pidMin: warmUpPidMin };

export const registrationsMeasure: Measure = {
  name: 'registrations',
  title: '20,000 registrations a second, no processes',
  run: (context) => doNothing(context, context.short ? 1 : 10),
};

async function doNothing(context: MeasureContext, seconds: number): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-bench-'));
  const resultPath = join(folder, 'decisions.json');
  try {
    const kernel = { module: new URL('./do-nothing-kernel.js', import.meta.url), resultPath };
    // What is bypassed is left to run by itself, which nothing does here: it would never end.
    const settings = { 'scheduler.overloadFactor': 0 };
    const seen = await withDaemon({ settings, kernel, lifeMaxMs: seconds * 1000 + 30_000 }, ({ client }) =>
      atPriority(context.libc, clientPriority, async () => {
        const warmUp = await sendAtRate(context, { client, stretch: warmUpStretch });
        const { cpu: cpuBefore } = await client.status();
        const sent = await sendAtRate(context, {
          client,
          stretch: { seconds, rate: fakeRate, pidMin: measuredPidMin },
        });
        const { cpu: cpuAfter } = await client.status();
        return { warmUp, sent, status: await settled(client), cpuBefore, cpuAfter };
      }),
    );
    const result = JSON.parse(readFileSync(resultPath, 'utf8')) as DoNothingResult;
    return doNothingFigures(seen, result, seconds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Stretch {
  readonly seconds: number;
  readonly rate: number;
  readonly pidMin: number;
}

async function sendAtRate(
  { libc }: MeasureContext,
  { client, stretch }: { readonly client: SfsdClient; readonly stretch: Stretch },
): Promise<Sent> {
  const clock = new MonotonicClock(libc);
  const sleepUntil = sleepUntilOn(clock);
  const listLength = (stretch.rate * listEveryMs) / 1000;
  const ledger = new Ledger(client);
  const start = after(clock.now(), fromMs(100));
  let pid = stretch.pidMin;
  for (let list = 0; list < (stretch.seconds * 1000) / listEveryMs; list += 1) {
    const deadline = after(start, fromMs(list * listEveryMs));
    await sleepUntil(deadline);
    const sentAt = clock.now();
    const startTime = String(sentAt);
    const registrations = Array.from({ length: listLength }, (): RegistrationBody => {
      pid += 1;
      return { id: String(pid), functionName: 'bench', pid, startTime };
    });
    ledger.send(registrations, { lagMs: (sentAt - deadline) / 1000 });
  }
  return ledger.close();
}

interface DoNothingSeen {
  readonly warmUp: Sent;
  readonly sent: Sent;
  readonly status: StatusBody;
  readonly cpuBefore: StatusBody['cpu'];
  readonly cpuAfter: StatusBody['cpu'];
}

function doNothingFigures(
  { warmUp, sent, status, cpuBefore, cpuAfter }: DoNothingSeen,
  result: DoNothingResult,
  seconds: number,
): readonly Figure[] {
  const requested = warmUp.requested + sent.requested;
  const coresUsed = (part: (cpu: StatusBody['cpu']) => number) =>
    (part(cpuAfter) - part(cpuBefore)) / (cpuAfter.elapsedMs - cpuBefore.elapsedMs);
  const name = `${fakeRate} a second over a kernel adapter that does nothing`;
  return [
    lostFigure(`${name}: lost`, {
      value:
        requested - Math.min(warmUp.accepted + sent.accepted, result.promoted, status.counters.completions),
      note: `${requested}, of them ${sent.requested} in ${seconds} s after a warm-up of ${warmUpStretch.seconds} s at ${warmUpStretch.rate} a second; lists of ${(fakeRate * listEveryMs) / 1000}, decisions dropped from the log: ${status.decisionsLost}${refusalText(sent)}`,
    }),
    {
      line: 5,
      name: `${name}: request to pick-up, p99`,
      value: result.pickedUpP99 / 1000,
      unit: 'ms',
      bound: below(5),
      note: `median ${(result.pickedUpP50 / 1000).toFixed(2)}, max ${(result.pickedUpMax / 1000).toFixed(1)}; taken in by the policy: p99 ${(result.arrivedP99 / 1000).toFixed(2)}`,
    },
    generatorFigure(name, sent),
    {
      line: 5,
      name: `${name}: CPU of the control plane`,
      value: coresUsed((cpu) => cpu.controlMs),
      unit: 'cores',
      note: `scheduling thread ${coresUsed((cpu) => cpu.schedulingMs + cpu.pollingMs).toFixed(2)}`,
    },
  ];
}

function generatorFigure(name: string, sent: Sent): Figure {
  const lag = distributionOf(sent.lagMs);
  const answers = distributionOf(sent.answerMs);
  return {
    line: 5,
    name: `${name}: generator lag, p99`,
    value: lag?.p99 ?? Number.NaN,
    unit: 'ms',
    note: `a list is answered after p99 ${answers?.p99.toFixed(2)} ms`,
  };
}
