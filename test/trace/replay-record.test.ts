/**
 * One record from an outcome and its decisions, and the series of S and queue delays.
 */
import t from 'tap';
import type { ReplayOutcome, ReplayPolicy } from '../../src/contracts/replay.js';
import type { Decision } from '../../src/contracts/scheduler.js';
import { fromMs, instant } from '../../src/contracts/time.js';
import { exitText, type Issued, recordOf } from '../../src/trace/replay/record.js';
import { SeriesBuilder } from '../../src/trace/replay/series.js';
import { sampleDecision, sampleOutcome, sampleWorkload } from './replay-samples.js';

const base = { start: instant(5_000_000), overloadFactor: 3 };
const [request] = sampleWorkload([{ arrivalMs: 100, demandMs: 10, sleepMs: 5 }]).requests;

/** Decisions at milliseconds of the run. */
function decided(...list: readonly Decision[]): readonly Decision[] {
  return list.map((decision) => ({ ...decision, at: instant(base.start + decision.at) }));
}

function recordWith(changes: Partial<ReplayOutcome>, policy: ReplayPolicy = 'sfs', held = false) {
  if (request === undefined) throw new Error('no request');
  const outcome = { ...sampleOutcome(instant(base.start + 100_000), 40, 12), ...changes };
  const issued: Issued = { request, policy, lag: fromMs(0.3), held, outcome };
  return recordOf(issued, base);
}

t.test('times count from the run start, the turnaround from the intended arrival', async (t) => {
  const record = recordWith({});
  t.match(record, {
    arrivalMs: 100,
    enqueueMs: 100.5,
    firstRunMs: 101,
    endMs: 140,
    turnaroundMs: 40,
    idealMs: 15,
    demandMs: 10,
    cpuMs: 12,
    lagMs: 0.3,
    exit: 'exited 0',
    fate: 'completed',
  });
});

t.test('the path follows from the decisions', async (t) => {
  const promoted = sampleDecision('promoted', 103, { valueMs: 20, extraMs: 3 });
  const demoted = sampleDecision('demoted', 124);
  const bypassed = sampleDecision('bypassed', 170, { valueMs: 70, extraMs: 60 });
  const blocked = sampleDecision('blocked', 110);
  const cases: readonly (readonly [string, readonly Decision[]])[] = [
    ['cfs', []],
    ['cfs', [sampleDecision('arrived', 100, { valueMs: 20 }), sampleDecision('ended', 110)]],
    ['filter', [promoted]],
    ['filter', [promoted, blocked, sampleDecision('woken', 112), promoted]],
    ['filter+cfs', [promoted, demoted]],
    ['filter+cfs', [promoted, blocked, bypassed]],
    ['bypass', [bypassed]],
    ['denied', [sampleDecision('denied', 103)]],
  ];
  for (const [path, decisions] of cases) {
    t.equal(
      recordWith({ decisions: decided(...decisions) }).path,
      path,
      decisions.map(({ kind }) => kind).join(),
    );
  }
});

t.test('S, pick-up and queue delay are those of the first pick-up', async (t) => {
  const record = recordWith({
    decisions: decided(
      sampleDecision('promoted', 103, { valueMs: 20, extraMs: 3 }),
      sampleDecision('blocked', 110, { valueMs: 13 }),
      sampleDecision('promoted', 120, { valueMs: 13, extraMs: 1 }),
      sampleDecision('demoted', 133),
    ),
  });
  t.match(record, { pickupMs: 103, sliceMs: 20, queueDelayMs: 3, demotions: 1, blocks: 1, bypassed: false });
});

t.test('the endless slice of FIFO and RR is no S', async (t) => {
  const decisions = decided(sampleDecision('promoted', 103, { valueMs: 60_000, extraMs: 3 }));
  for (const policy of ['fifo', 'rr'] as const)
    t.match(recordWith({ decisions }, policy), { path: 'filter', sliceMs: null, queueDelayMs: 3 });
});

t.test('a bypass tells S through O x S', async (t) => {
  const decisions = decided(sampleDecision('bypassed', 170, { valueMs: 70, extraMs: 60 }));
  t.match(recordWith({ decisions }), { sliceMs: 20, queueDelayMs: 70, bypassed: true });
});

t.test('a refusal by the daemon has no times, whatever its exit says', async (t) => {
  const record = recordWith({
    errorCode: 'SFSD_ERR_QUEUE_FULL',
    exit: { kind: 'lost' },
    endedAt: instant(0),
  });
  t.match(record, { fate: 'refused', refusedBy: 'daemon', exit: 'refused', turnaroundMs: null, cpuMs: null });
});

t.test('a failure keeps its times and its code', async (t) => {
  const record = recordWith({ errorCode: 'SFSD_ERR_FUNCTION_FAILED', exit: { kind: 'exited', code: 3 } });
  t.match(record, {
    fate: 'failed',
    exit: 'exited 3',
    errorCode: 'SFSD_ERR_FUNCTION_FAILED',
    turnaroundMs: 40,
  });
});

t.test('a failed launch has no times', async (t) => {
  const never = { startedAt: instant(0), endedAt: instant(0) };
  const record = recordWith({ ...never, errorCode: 'SFSD_ERR_LAUNCH_FAILED', exit: { kind: 'cancelled' } });
  t.match(record, { fate: 'failed', firstRunMs: null, endMs: null, turnaroundMs: null });
});

t.test('exits are told in words', async (t) => {
  t.equal(exitText({ kind: 'exited', code: 0 }), 'exited 0');
  t.equal(exitText({ kind: 'signalled', signal: 'SIGKILL' }), 'signalled SIGKILL');
  t.equal(exitText({ kind: 'timeout' }), 'timeout');
});

t.test(
  'the series holds each change of S and each pick-up with its bound, in the order of time',
  async (t) => {
    const series = new SeriesBuilder('sfs', base);
    series.add(
      'late',
      decided(
        sampleDecision('arrived', 30, { valueMs: 40 }),
        sampleDecision('bypassed', 200, { valueMs: 150, extraMs: 120 }),
      ),
    );
    series.add(
      'early',
      decided(
        sampleDecision('arrived', 0, { valueMs: 20 }),
        sampleDecision('promoted', 5, { valueMs: 20, extraMs: 5 }),
      ),
    );
    series.add('same', decided(sampleDecision('arrived', 10, { valueMs: 20 })));
    t.same(series.rows(), [
      { policy: 'sfs', kind: 'slice', atMs: 0, sliceMs: 20 },
      { policy: 'sfs', kind: 'pickup', atMs: 5, id: 'early', queueDelayMs: 5, limitMs: 60, bypassed: false },
      { policy: 'sfs', kind: 'slice', atMs: 30, sliceMs: 40 },
      {
        policy: 'sfs',
        kind: 'pickup',
        atMs: 200,
        id: 'late',
        queueDelayMs: 150,
        limitMs: 120,
        bypassed: true,
      },
    ]);
  },
);

t.test('the cfs policy is not scheduled by S and so has no series', async (t) => {
  const series = new SeriesBuilder('cfs', base);
  series.add('r0', decided(sampleDecision('arrived', 0, { valueMs: 20 }), sampleDecision('ended', 9)));
  t.same(series.rows(), []);
});
