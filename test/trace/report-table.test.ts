/**
 * The terminal table, character by character.
 */
import t from 'tap';
import { compare } from '../../src/trace/replay/comparison.js';
import type { ReplayRun } from '../../src/trace/replay/replay.js';
import { formatCount, formatMs, formatRatio, formatShare } from '../../src/trace/report/format.js';
import { summaryLines, summaryTable } from '../../src/trace/report/table.js';
import { sampleContext, samplePair, sampleRun } from './replay-samples.js';

/** The daemon used 1% of two cores for polling over a second. */
const daemonCpu: NonNullable<ReplayRun['daemonCpu']> = {
  before: { cores: 2, elapsedMs: 0, pollingMs: 0, schedulingMs: 0, controlMs: 0, spawnerMs: 0, hostShare: 0 },
  after: {
    cores: 2,
    elapsedMs: 1000,
    pollingMs: 20,
    schedulingMs: 10,
    controlMs: 4,
    spawnerMs: 6,
    hostShare: 0,
  },
};
const summary = compare(
  samplePair().map((run) => (run.policy === 'sfs' ? { ...run, daemonCpu } : run)),
  sampleContext,
);

t.test('without a terminal the table is plain aligned lines', async (t) => {
  t.equal(
    summaryTable(summary, { frames: false }),
    [
      '               all turnaround            short          long          RTE      switch daemon',
      'policy   mean median    p90    p99  mean   p99   mean    p99 >=0.95 <0.2   each    CPU',
      'IDEAL  110 ms  20 ms 244 ms 294 ms 15 ms 20 ms 300 ms 300 ms   100% 0.0%',
      'SRTF   110 ms  20 ms 244 ms 294 ms 15 ms 20 ms 300 ms 300 ms   100% 0.0%',
      'CFS    200 ms  60 ms 412 ms 491 ms 50 ms 60 ms 500 ms 500 ms   0.0% 0.0%      9      –',
      'SFS    213 ms  25 ms 485 ms 589 ms 20 ms 25 ms 600 ms 600 ms   0.0% 0.0%      4   2.0%',
    ].join('\n'),
  );
});

t.test('on a terminal the table has frames', async (t) => {
  t.equal(
    summaryTable(summary, { frames: true }),
    [
      '┌──────┬───────────────────────────┬───────────┬─────────────┬───────────┬──────┬──────┐',
      '│      │      all turnaround       │   short   │    long     │    RTE    │switch│daemon│',
      '│policy│  mean│median│   p90│   p99│ mean│  p99│  mean│   p99│>=0.95│<0.2│  each│   CPU│',
      '├──────┼──────┼──────┼──────┼──────┼─────┼─────┼──────┼──────┼──────┼────┼──────┼──────┤',
      '│IDEAL │110 ms│ 20 ms│244 ms│294 ms│15 ms│20 ms│300 ms│300 ms│  100%│0.0%│      │      │',
      '│SRTF  │110 ms│ 20 ms│244 ms│294 ms│15 ms│20 ms│300 ms│300 ms│  100%│0.0%│      │      │',
      '│CFS   │200 ms│ 60 ms│412 ms│491 ms│50 ms│60 ms│500 ms│500 ms│  0.0%│0.0%│     9│     –│',
      '│SFS   │213 ms│ 25 ms│485 ms│589 ms│20 ms│25 ms│600 ms│600 ms│  0.0%│0.0%│     4│  2.0%│',
      '└──────┴──────┴──────┴──────┴──────┴─────┴─────┴──────┴──────┴──────┴────┴──────┴──────┘',
    ].join('\n'),
  );
});

t.test('the widest figures fit 100 columns', async (t) => {
  const wide = { turnaroundMs: 999_499, idealMs: 99_949, demandMs: 99_949, involuntarySwitches: 99_999 };
  const both = [wide, { ...wide, idealMs: 150, demandMs: 150 }];
  const widest = compare([sampleRun('cfs', both), sampleRun('sfs', both)], sampleContext);
  for (const frames of [true, false]) {
    for (const line of summaryTable(widest, { frames }).split('\n')) t.ok(line.length <= 100, line);
  }
});

t.test('the lines below say what the table means', async (t) => {
  t.same(summaryLines(summary), [
    '3 of 3 requests compared; load 1.00 on 2 cores, poisson gaps, durations x 0.5; short is below 200 ms alone.',
    'IDEAL (alone on the host) and SRTF (clairvoyant) are computed from the demands that were measured.',
    'Short functions: SFS removed 86% of what CFS adds to IDEAL; mean 1.33x (1.25x to 1.50x) of IDEAL.',
    'Long functions: mean 1.20x (1.20x to 1.20x) of CFS.',
    'Context switches, CFS to SFS: median 2.00x, p90 2.00x.',
    "Mean turnaround of all, to SRTF's: CFS 1.82x, SFS 1.94x.",
    'CFS run: 3 of 3 sent, 3 completed, 0 lost; load 1.10; generator late 0.10 ms (p99).',
    'SFS run: 3 of 3 sent, 3 completed, 0 lost; load 1.10; generator late 0.10 ms (p99).',
    'SFS run: daemon 2.00% of the host: polling 1.00%, scheduling 0.50%, control 0.20%, spawner 0.30%.',
  ]);
});

t.test('figures keep three digits and their unit', async (t) => {
  t.same([0, 0.43, 0.999, 8.44, 9.96, 68.4, 999.6, 1260, 9_996, 12_640, 126_000].map(formatMs), [
    '0.00 ms',
    '0.43 ms',
    '1.0 ms',
    '8.4 ms',
    '10 ms',
    '68 ms',
    '1.00 s',
    '1.26 s',
    '10.0 s',
    '12.6 s',
    '126 s',
  ]);
  t.same([0, 0.0361, 0.0999, 0.95, 1].map(formatShare), ['0.0%', '3.6%', '10%', '95%', '100%']);
  t.same([1.3, 0.5, 120.4].map(formatRatio), ['1.30x', '0.50x', '120x']);
  t.same([7, 7.25, 12.34, 352.4].map(formatCount), ['7', '7.25', '12.3', '352']);
});

t.test('a figure that cannot be had is a dash, not a zero', async (t) => {
  t.same([formatMs(null), formatShare(null), formatRatio(null), formatCount(null)], ['–', '–', '–', '–']);
});
