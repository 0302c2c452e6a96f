/** What `sfsd paper sfs` judges by: the rules of verdicts, the comparison of two runs, spikes, and switches of the simulator. */
import t from 'tap';
import { claims } from '../../src/cli/paper/claims.js';
import { type Evidence, fasterShare, observedOf, ratioOf } from '../../src/cli/paper/evidence.js';
import { judge } from '../../src/cli/paper/judge.js';
import { speedup, withSpikes } from '../../src/cli/paper/spikes.js';
import { paperValue, ruleText, verdictOf } from '../../src/cli/paper/verdict.js';
import { compileWorkload } from '../../src/cli/replay/workload-source.js';
import { duration, instant } from '../../src/contracts/time.js';
import { EevdfFair } from '../../src/sim/eevdf-fair.js';
import { Machine } from '../../src/sim/machine.js';
import { Task } from '../../src/sim/task.js';
import { TurnQueue } from '../../src/sim/turn-queue.js';
import type { Sample } from '../../src/trace/replay/metrics.js';

t.test('near holds within 25% of the paper on either side, ends included', async (t) => {
  const rule = { kind: 'near', paper: 0.8 } as const;
  t.equal(verdictOf(rule, 0.6), 'reproduced');
  t.equal(verdictOf(rule, 1), 'reproduced');
  t.equal(verdictOf(rule, 0.59), 'not reproduced');
  t.equal(verdictOf(rule, 1.01), 'not reproduced');
});

t.test('an effect is near the paper and at least half as far from 1, on its side', async (t) => {
  const rule = { kind: 'effect', paper: 1.2 } as const;
  t.equal(verdictOf(rule, 1.2), 'reproduced');
  t.equal(verdictOf(rule, 1.1), 'reproduced');
  t.equal(verdictOf(rule, 1.09), 'not reproduced', 'within 25%, but no such effect');
  t.equal(verdictOf(rule, 0.98), 'not reproduced', 'the other side of 1');
  t.equal(verdictOf(rule, 1.6), 'not reproduced', 'far beyond the paper');
  t.equal(verdictOf({ kind: 'effect', paper: 0.8 }, 0.85), 'reproduced', 'also below 1');
});

t.test('same is within 10% of 1, above is strict', async (t) => {
  t.equal(verdictOf({ kind: 'same' }, 1.1), 'reproduced');
  t.equal(verdictOf({ kind: 'same' }, 0.89), 'not reproduced');
  t.equal(verdictOf({ kind: 'above', bound: 1.01 }, 1.02), 'reproduced');
  t.equal(verdictOf({ kind: 'above', bound: 1.01 }, 1.01), 'not reproduced');
});

t.test('no figure is no verdict', async (t) => {
  t.equal(verdictOf({ kind: 'near', paper: 1 }, null), 'none');
  t.equal(ratioOf(null, 1), null);
  t.equal(ratioOf(1, 0), null);
  t.equal(ratioOf(1, 4), 0.25);
});

t.test('every rule is told in words', async (t) => {
  const texts = claims.map(({ rule }) => ruleText(rule, String));
  t.ok(texts.every((text) => text.length > 5));
  t.equal(paperValue({ kind: 'above', bound: 2 }), null, 'a direction has no number of the paper');
  t.equal(paperValue({ kind: 'same' }), 1);
});

function samples(turnaroundsMs: readonly number[]): readonly Sample[] {
  return turnaroundsMs.map((turnaroundMs, index) => ({
    id: `r${index}`,
    turnaroundMs,
    idealMs: 10,
    demandMs: 10,
  }));
}

t.test('requests are paired by id, and differences up to 1% are none', async (t) => {
  const one = observedOf(samples([10, 20, 30, 40]), { shortBelowMs: 400 });
  const other = observedOf([...samples([10.05, 21, 29, 80])].reverse(), { shortBelowMs: 400 });
  t.equal(fasterShare(one, other), 0.5);
  t.equal(fasterShare(other, one), 0.25);
  t.equal(fasterShare(undefined, one), null);
});

const nothing: Evidence = {
  cores: 12,
  plain: new Map(),
  blocking: new Map(),
  sliceExact: new Map(),
  fixed: new Map(),
  spiky: undefined,
  switches: new Map(),
  daemon: new Map(),
};

t.test('a claim without a figure has a reason, and one that is judged here needs this host', async (t) => {
  const judged = judge({
    simulated: new Map([
      [12, nothing],
      [72, { ...nothing, cores: 72 }],
    ]),
    real: undefined,
  });
  t.ok(judged.every(({ verdict, reason }) => verdict === 'none' && reason !== null && reason.length > 0));
  t.match(judged.find(({ claim }) => claim.id === 'daemon-share')?.reason, /--sim-only/);
});

t.test('every claim that this host fails has a reason with its cores', async (t) => {
  const slow = observedOf(samples([10, 900, 9000]), { shortBelowMs: 400 });
  const pair = { cfs: slow, sfs: slow };
  const pairs = new Map([0.5, 0.65, 0.8, 0.9, 1].map((load) => [load, pair]));
  const daemon = new Map([[1, { polling: 0.3, scheduling: 0.6, control: 0, spawner: 0, total: 0.9 }]]);
  const here: Evidence = {
    ...nothing,
    cores: 2,
    plain: pairs,
    blocking: pairs,
    switches: new Map([[1, [1]]]),
    daemon,
  };
  const judged = judge({
    simulated: new Map([
      [12, { ...here, cores: 12 }],
      [72, { ...here, cores: 72 }],
    ]),
    real: here,
  });
  const missed = judged.filter(({ verdict }) => verdict === 'not reproduced');
  t.ok(missed.length > 10, `${missed.length} claims fail`);
  for (const { claim, reason } of missed) {
    t.match(reason, /\d/, `${claim.id} names figures`);
    t.notMatch(reason, /undefined|NaN/, claim.id);
  }
});

t.test(
  'spikes keep the requests and their order, and shorten the gaps of two requests in a hundred, five times over',
  async (t) => {
    const workload = await compileWorkload(
      {
        durations: 'table',
        gaps: 'poisson',
        load: 0.8,
        count: 500,
        sigma: 0.5,
        seed: 1,
        cores: 12,
        mix: 'burn',
        sleepShare: 0,
      },
      { stratified: true },
    );
    const spiky = withSpikes(workload);
    t.strictSame(
      spiky.requests.map(({ id, demand }) => [id, demand]),
      workload.requests.map(({ id, demand }) => [id, demand]),
    );
    const gap = (of: typeof workload, index: number): number =>
      (of.requests[index]?.arrival ?? 0) - (of.requests[index - 1]?.arrival ?? 0);
    const shortened = workload.requests.flatMap((_request, index) =>
      index > 0 && gap(spiky, index) < gap(workload, index) - 2 ? [index] : [],
    );
    t.ok(shortened.every((index) => index % 100 >= 45 && index % 100 < 55));
    t.ok(shortened.length > 40 && shortened.length <= 50, `${shortened.length} shortened`);
    for (const index of shortened)
      t.ok(Math.abs(gap(spiky, index) * speedup - gap(workload, index)) <= speedup);
  },
);

t.test('a task alone on a core has one turn; two that share it have one a slice', async (t) => {
  const task = (index: number): Task =>
    new Task(
      index,
      { functionName: 'f', arrival: duration(0), demand: duration(10_000), sleeps: [] },
      instant(0),
    );
  const finished = (tasks: readonly Task[]): readonly number[] => {
    const fair = new EevdfFair({ slice: 1000, switchCost: 0, balanceInterval: 4000 }, 1);
    const machine = new Machine({
      fair,
      upper: new TurnQueue({ cores: 1, quantum: Number.POSITIVE_INFINITY }, fair),
    });
    for (const one of tasks) machine.start(one);
    while (machine.live > 0) machine.advanceTo(machine.nextChange());
    return tasks.map(({ turns }) => turns);
  };
  t.strictSame(finished([task(0)]), [1]);
  for (const turns of finished([task(0), task(1)])) t.ok(turns >= 5 && turns <= 11, `${turns} turns`);
});
