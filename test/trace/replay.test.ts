/**
 * Open-loop replay in simulated time.
 */
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import type { ReplayRequest, Submit } from '../../src/contracts/replay.js';
import { duration, fromMs, instant } from '../../src/contracts/time.js';
import { type ReplayOptions, type ReplayProgress, replay } from '../../src/trace/replay/replay.js';
import { sampleOutcome, sampleWorkload } from './replay-samples.js';
import { SimulatedTime } from './simulated-time.js';

const body = new TextEncoder().encode('{"cpuMs":10}');

function optionsOn(time: SimulatedTime, changes: Partial<ReplayOptions> = {}): ReplayOptions {
  return {
    workload: sampleWorkload([{ arrivalMs: 0 }, { arrivalMs: 10 }, { arrivalMs: 30 }]),
    policy: 'sfs',
    submit: answersAfter(time, 15),
    clock: time,
    sleepUntil: time.sleepUntil,
    callOf: (request) => ({ functionName: request.application, body }),
    startDelay: fromMs(500),
    drainLimitMs: 1000,
    inFlightMax: 100,
    ...changes,
  };
}

/** A host that answers each request so long after its intended arrival. */
function answersAfter(time: SimulatedTime, turnaroundMs: number): Submit {
  return (request) =>
    new Promise((resolve) => {
      const outcome = sampleOutcome(request.arrivedAt, turnaroundMs);
      time.at(outcome.endedAt, () => resolve(outcome));
    });
}

t.test(
  'each request is issued at its own deadline, whether or not the one before was answered',
  async (t) => {
    const time = new SimulatedTime();
    const sent: { readonly at: number; readonly request: ReplayRequest }[] = [];
    const slow = answersAfter(time, 200);
    const began = time.now();
    const submit: Submit = (request) => {
      sent.push({ at: time.now() - began, request });
      return slow(request);
    };
    const run = await time.drive(replay(optionsOn(time, { submit })));
    t.same(
      sent.map(({ at }) => at),
      [500_000, 510_000, 530_000],
    );
    t.same(
      sent.map(({ request }) => request.arrivedAt - began),
      [500_000, 510_000, 530_000],
    );
    t.match(sent[0]?.request, { id: 'r0', functionName: 'burn', policy: 'sfs', body });
    t.equal(run.issued, 3);
    t.same(
      run.records.map(({ fate, turnaroundMs }) => [fate, turnaroundMs]),
      [
        ['completed', 200],
        ['completed', 200],
        ['completed', 200],
      ],
    );
    t.equal(run.spanMs, 30);
    t.equal(run.elapsedMs, 230);
  },
);

t.test(
  'a late generator is told as lag, and the turnaround still counts from the intended arrival',
  async (t) => {
    const time = new SimulatedTime();
    time.lateness = duration(7_000);
    const run = await time.drive(replay(optionsOn(time)));
    t.same(
      run.records.map(({ lagMs }) => lagMs),
      [7, 7, 7],
    );
    t.same(
      run.records.map(({ turnaroundMs }) => turnaroundMs),
      [15, 15, 15],
    );
  },
);

t.test(
  'beyond the bound in flight a request is not sent, and recorded as refused by the generator',
  async (t) => {
    const time = new SimulatedTime();
    const workload = sampleWorkload([
      { arrivalMs: 0 },
      { arrivalMs: 1 },
      { arrivalMs: 2 },
      { arrivalMs: 60 },
    ]);
    let sent = 0;
    const slow = answersAfter(time, 50);
    const submit: Submit = (request) => {
      sent += 1;
      return slow(request);
    };
    const run = await time.drive(replay(optionsOn(time, { workload, submit, inFlightMax: 2 })));
    t.equal(sent, 3);
    t.equal(run.issued, 3);
    t.same(
      run.records.map(({ fate, refusedBy }) => `${fate} ${refusedBy}`),
      ['completed null', 'completed null', 'refused generator', 'completed null'],
    );
  },
);

t.test('what has not answered by the drain limit is lost, and its late answer changes nothing', async (t) => {
  const time = new SimulatedTime();
  const submit: Submit = (request) =>
    request.id === 'r1'
      ? new Promise(() => {})
      : answersAfter(time, request.id === 'r2' ? 5_000 : 15)(request);
  const run = await time.drive(replay(optionsOn(time, { submit, drainLimitMs: 1000 })));
  t.same(
    run.records.map(({ fate }) => fate),
    ['completed', 'lost', 'lost'],
  );
  t.equal(run.elapsedMs, 30 + 1000, 'the limit counts from the last issue');
  const before = structuredClone(run.records);
  await time.drive(new Promise<void>((resolve) => time.in(fromMs(10_000), resolve)));
  t.same(run.records, before);
});

t.test('the run ends with the last answer and does not wait for the limit', async (t) => {
  const time = new SimulatedTime();
  const began = time.now();
  await time.drive(replay(optionsOn(time, { drainLimitMs: 60_000 })));
  t.equal(time.now() - began, 545_000);
});

t.test('a refused request is an outcome with its code, and the run goes on', async (t) => {
  const time = new SimulatedTime();
  const submit: Submit = async (request) =>
    request.id === 'r1'
      ? {
          ...sampleOutcome(request.arrivedAt, 0),
          endedAt: instant(0),
          exit: { kind: 'cancelled' },
          errorCode: 'SFSD_ERR_QUEUE_FULL',
        }
      : sampleOutcome(request.arrivedAt, 15);
  const run = await time.drive(replay(optionsOn(time, { submit })));
  t.same(
    run.records.map(({ fate, errorCode }) => `${fate} ${errorCode}`),
    ['completed null', 'refused SFSD_ERR_QUEUE_FULL', 'completed null'],
  );
});

t.test('a submit that rejects loses that request and no other', async (t) => {
  const time = new SimulatedTime();
  const submit: Submit = async (request) => {
    if (request.id === 'r0')
      throw new SfsdError('SFSD_ERR_DAEMON_UNREACHABLE', { path: '/x', reason: 'gone' });
    return sampleOutcome(request.arrivedAt, 15);
  };
  const run = await time.drive(replay(optionsOn(time, { submit })));
  t.same(
    run.records.map(({ fate, errorCode }) => `${fate} ${errorCode}`),
    ['lost SFSD_ERR_DAEMON_UNREACHABLE', 'completed null', 'completed null'],
  );
});

t.test('progress rises to the end and comes at most ten times a second', async (t) => {
  const time = new SimulatedTime();
  const workload = sampleWorkload(Array.from({ length: 400 }, (_, index) => ({ arrivalMs: index })));
  const seen: ReplayProgress[] = [];
  await time.drive(
    replay(optionsOn(time, { workload, inFlightMax: 400, onProgress: (now) => seen.push(now) })),
  );
  t.ok(seen.length <= 6, `${seen.length} calls in 0.4 s`);
  t.match(seen.at(-1), { requested: 400, issued: 400, answered: 400, refused: 0, spanMs: 399 });
  t.same(
    seen.map(({ answered }) => answered),
    seen.map(({ answered }) => answered).sort((left, right) => left - right),
  );
});

t.test('CPU time is read before the first request and after the last answer', async (t) => {
  const time = new SimulatedTime();
  let reads = 0;
  const daemonCpu = async () => {
    reads += 1;
    const elapsedMs = reads * 1000;
    return {
      cores: 2,
      elapsedMs,
      pollingMs: reads,
      schedulingMs: 0,
      controlMs: 0,
      spawnerMs: 0,
      hostShare: 0,
    };
  };
  const run = await time.drive(
    replay(optionsOn(time, { daemonCpu, generatorCpuMs: () => time.now() / 1000 })),
  );
  t.equal(run.daemonCpu?.before.pollingMs, 1);
  t.equal(run.daemonCpu?.after.pollingMs, 2);
  t.equal(run.generatorCpuMs, 545);
});

t.test('a workload of one request has no span and still a record', async (t) => {
  const time = new SimulatedTime();
  const run = await time.drive(replay(optionsOn(time, { workload: sampleWorkload([{ arrivalMs: 0 }]) })));
  t.equal(run.records.length, 1);
  t.equal(run.spanMs, 0);
});
