/** The parts of a replay that need no daemon: answers to outcomes, calibration, confinement, progress, usage. */
import t from 'tap';
import { ablationSettings } from '../../src/cli/ablation-options.js';
import { ReplyError } from '../../src/cli/client.js';
import { calibrateHost, calibrationLines, withCalibration } from '../../src/cli/replay/calibration.js';
import { firstCores } from '../../src/cli/replay/confinement.js';
import { LineProgress, remainingText } from '../../src/cli/replay/progress.js';
import { exitOf, outcomeOf, submitOver } from '../../src/cli/replay/submit.js';
import { SfsdError } from '../../src/contracts/errors.js';
import type { ResultBody, StreamRequestBody } from '../../src/contracts/http.js';
import type { ReplayOutcome, ReplayRequest } from '../../src/contracts/replay.js';
import { duration, fromMs, instant } from '../../src/contracts/time.js';
import { recordOf } from '../../src/trace/replay/record.js';
import type { Workload, WorkloadRequest } from '../../src/trace/workload/workload.js';
import { decision, resultBody } from './contract-server.js';
import { run } from './run-in-process.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

t.test('exit texts become exit statuses, and unknown ones are lost', async (t) => {
  t.strictSame(exitOf('exited 3'), { kind: 'exited', code: 3 });
  t.strictSame(exitOf('signalled SIGKILL'), { kind: 'signalled', signal: 'SIGKILL' });
  t.strictSame(exitOf('timeout'), { kind: 'timeout' });
  t.strictSame(exitOf('cancelled'), { kind: 'cancelled' });
  t.strictSame(exitOf('vanished'), { kind: 'lost' });
});

t.test('an answer becomes an outcome in microseconds with its decisions', async (t) => {
  const outcome = outcomeOf(
    resultBody({
      startedAtMs: 1003.25,
      cpuMs: 8.2506,
      decisions: [decision('promoted', { atMs: 1001.5, worker: 1, value: 20_000, extra: 1500 })],
    }),
  );
  t.equal(outcome.startedAt, 1_003_250);
  t.equal(outcome.cpuTime, 8251);
  t.match(outcome.decisions[0], { kind: 'promoted', at: 1_001_500, worker: 1, value: 20_000, extra: 1500 });
});

t.test(
  'submit sends policy, id, source and the intended arrival, and turns refusals into outcomes',
  async (t) => {
    const lines: StreamRequestBody[] = [];
    let answer: Error | ResultBody = resultBody({});
    const submit = submitOver(
      {
        invoke: async (line) => {
          lines.push(line);
          if (answer instanceof Error) throw answer;
          return answer;
        },
      },
      'run1',
    );
    const request: ReplayRequest = {
      id: '000007',
      functionName: 'hello',
      arrivedAt: instant(1_234_567),
      policy: 'sfs',
      body: Buffer.from('42\n'),
    };
    const outcome = await submit(request);
    t.equal(outcome.errorCode, undefined);
    t.strictSame(lines.at(-1), {
      functionName: 'hello',
      bodyBase64: Buffer.from('42\n').toString('base64'),
      id: 'run1-sfs-000007',
      source: 'replay',
      policy: 'sfs',
      arrivedAtMs: 1234.567,
    });
    answer = new ReplyError({ status: 0, body: { code: 'SFSD_ERR_FUNCTION_UNKNOWN', message: 'no' } });
    const refused = await submit({ ...request, functionName: 'nope' });
    t.equal(refused.errorCode, 'SFSD_ERR_FUNCTION_UNKNOWN');
    t.not(refused.exit.kind, 'lost', 'a refusal is an answer');
    answer = new SfsdError('SFSD_ERR_DAEMON_UNREACHABLE', { path: 'p', reason: 'r' });
    t.match(await submit(request), { exit: { kind: 'lost' }, errorCode: 'SFSD_ERR_DAEMON_UNREACHABLE' });
    answer = new TypeError('a bug');
    await t.rejects(submit(request), answer);
  },
);

function request(id: string, fields: Partial<WorkloadRequest>): WorkloadRequest {
  const shape = { application: 'burn', arrival: duration(0), demand: fromMs(50), sleeps: [] } as const;
  return { ...shape, functionName: id, ...fields, id };
}

const workload: Workload = {
  header: {
    format: 'sfsd-workload',
    version: 1,
    requests: 2,
    seed: 1,
    source: 'test',
    gaps: 'poisson',
    durationScale: 1,
    cores: 2,
    loadTarget: 1,
    loadRealised: 1,
    demandMean: fromMs(50),
    gapCv: 1,
    shortBelow: fromMs(400),
  },
  requests: [
    request('burned', { sleeps: [{ at: fromMs(10), length: fromMs(5) }] }),
    request('repeated', { application: 'fib', demand: fromMs(120) }),
  ],
};

/** A host where a launch costs 2 ms and a repetition of fib 0.1 ms of CPU time, after 20 ms of Python's own start. */
class ModelHost {
  now = instant(1_000_000);
  failing = false;

  async submit({ functionName, body, arrivedAt }: ReplayRequest): Promise<ReplayOutcome> {
    const text = Buffer.from(body).toString('utf8');
    const cpuMs =
      functionName === 'replay-burn'
        ? Number(text.split(' ')[0])
        : 20 + 0.1 * ((JSON.parse(text) as { repeat?: number }).repeat ?? 1);
    const endedAt = instant(arrivedAt + (cpuMs + 2) * 1000);
    this.now = endedAt;
    return {
      exit: { kind: 'exited', code: this.failing ? 1 : 0 },
      enqueuedAt: arrivedAt,
      startedAt: arrivedAt,
      endedAt,
      cpuTime: fromMs(cpuMs),
      voluntarySwitches: 0,
      involuntarySwitches: 0,
      decisions: [],
    };
  }
}

t.test('calibration puts what a launch costs on top of the demand, and finds the repetitions', async (t) => {
  const host = new ModelHost();
  const { signal } = new AbortController();
  const calibration = await calibrateHost({
    workload,
    submit: (one) => host.submit(one),
    clock: { now: () => host.now },
    signal,
  });
  t.strictSame(calibrationLines(calibration), [
    'alone, burn takes 2.00 ms + 1.000 x its CPU time',
    'alone, fib takes 22.00 ms + 100.0 us a repetition',
  ]);
  const records = workload.requests.map((one) =>
    recordOf(
      { request: one, policy: 'cfs', lag: duration(0), held: false },
      { start: instant(0), overloadFactor: 3 },
    ),
  );
  const [burned, repeated] = withCalibration(records, { workload, calibration });
  t.equal(burned?.idealMs, 57, '50 ms of CPU, 5 ms asleep, 2 ms of launch');
  t.equal(burned?.demandMs, 50);
  t.equal(repeated?.idealMs, 122);
  t.equal(repeated?.demandMs, 120);
});

t.test('a program that fails alone ends the calibration, and so does an abort', async (t) => {
  const host = new ModelHost();
  host.failing = true;
  const controller = new AbortController();
  const options = {
    workload,
    submit: (one: ReplayRequest) => host.submit(one),
    clock: { now: () => host.now },
    signal: controller.signal,
  };
  await t.rejects(calibrateHost(options), { code: 'SFSD_ERR_FUNCTION_FAILED' });
  controller.abort(new Error('enough'));
  await t.rejects(calibrateHost(options), { message: 'enough' });
});

t.test('confinement takes the first cores that are allowed', async (t) => {
  t.strictSame([...firstCores(Uint8Array.of(0b1111_0110, 1), 3)], [0b0001_0110, 0]);
  t.strictSame([...firstCores(Uint8Array.of(0b1000_0000, 1), 2)], [0b1000_0000, 1]);
  t.strictSame([...firstCores(Uint8Array.of(0b11, 0), 8)], [0b11, 0], 'no more than there are');
});

t.test('plain progress says a line every ten seconds, with what is left', async (t) => {
  const lines: string[] = [];
  let nowMs = 0;
  const progress = new LineProgress(
    (line) => lines.push(line),
    () => nowMs,
  );
  const at = {
    policy: 'cfs',
    requested: 400,
    issued: 0,
    answered: 120,
    refused: 0,
    elapsedMs: 0,
    spanMs: 37_000,
  } as const;
  progress.step('replaying under cfs');
  for (nowMs = 0; nowMs <= 21_000; nowMs += 100) progress.replay({ ...at, elapsedMs: nowMs });
  t.strictSame(lines, [
    'replaying under cfs',
    'cfs: 120 of 400 answered, about 27.0 s left',
    'cfs: 120 of 400 answered, about 17.0 s left',
  ]);
  t.equal(remainingText({ ...at, elapsedMs: 40_000 }), 'waiting for the last answers');
  t.equal(remainingText({ ...at, answered: 399, refused: 1 }), 'done');
});

t.test('bad usage of replay, trace and report ends with 2, missing files with 1', async (t) => {
  for (const argv of [
    ['replay', '--policy', 'lifo'],
    ['replay', '--count', '1'],
    ['replay', '--load', '0'],
    ['replay', '--gaps', 'sometimes'],
    ['replay', '--cores', '100000'],
    ['replay', '--workload', 'w.jsonl', '--count', '3'],
    ['replay', '--trace', 'folder', '--durations', 'table'],
    ['replay', '--socket', '/x', '--set', 'scheduler.workers=1'],
    ['replay', '--socket', '/x', '--slice', '50'],
    ['replay', '--no-bypass', '--overload', '2'],
    ['replay', '--window', '0'],
    ['replay', '--workers', '0'],
    ['replay', '--socket', '/x', '--policy', 'fifo'],
    ['trace'],
    ['trace', 'gen'],
    ['trace', 'validate'],
    ['report'],
  ]) {
    const { code, out } = await run(argv);
    t.equal(code, 2, argv.join(' '));
    t.equal(out, '');
  }
  for (const argv of [
    ['replay', '--workload', '/nowhere/w.jsonl'],
    ['report', '/nowhere'],
    ['trace', 'validate', '/nowhere'],
  ])
    t.match(await run(argv), { code: 1, err: /^SFSD_ERR_FILE: \/nowhere/ }, argv.join(' '));
});

t.test('ablations are configuration keys, and nothing else is set', async (t) => {
  t.same(ablationSettings({ ioAware: true, bypass: true }), {});
  t.same(ablationSettings({ ioAware: false, bypass: false, slice: 50, poll: 8, window: 20, workers: 3 }), {
    'scheduler.sliceFixedMs': 50,
    'scheduler.ioAware': false,
    'scheduler.pollMs': 8,
    'scheduler.window': 20,
    'scheduler.overloadFactor': 0,
    'scheduler.workers': 3,
  });
});
