/** `sfsd simulate`: its table, its JSON, its intervals and its refusals. */
import t from 'tap';
import { intervalOf } from '../../src/cli/simulate/figures.js';
import { run } from './run-in-process.js';

t.setTimeout(120_000);

const small = ['simulate', '--durations', 'table', '--count', '300', '--cores', '4', '--seed', '3'];

t.test('the table has a line for each policy that was asked for', async (t) => {
  const { code, out } = await run([...small, '--policy', 'sfs,cfs,ideal'], { columns: 120 });
  t.equal(code, 0);
  t.same(
    out
      .split('\n')
      .slice(1, 5)
      .map((line) => line.split(' ')[0]),
    ['IDEAL', 'CFS', 'SFS', ''],
  );
  t.match(out, /300 requests, load 1\.00 on one host of 4 cores, poisson gaps/);
});

t.test('JSON holds the figures of every run, and the same seed gives the same', async (t) => {
  const command = [...small, '--seeds', '2', '--hosts', '2', '--front', 'least-loaded', '--json'];
  const { code, out } = await run(command);
  t.equal(code, 0);
  t.equal((await run(command)).out, out);
  const report = JSON.parse(out);
  t.match(report, { format: 'sfsd-simulation', version: 1, hosts: 2, front: 'least-loaded', cores: 4 });
  t.same(
    report.policies.map((one: { readonly policy: string }) => one.policy),
    ['ideal', 'srtf', 'fifo', 'rr', 'cfs', 'sfs', 'gittins'],
  );
  t.equal(report.runs.length, 2 * report.policies.length);
  t.same(
    report.workloads.map((header: { readonly seed: number; readonly cores: number }) => [
      header.seed,
      header.cores,
    ]),
    [
      [3, 8],
      [4, 8],
    ],
  );
  const ideal = report.policies.find((one: { readonly policy: string }) => one.policy === 'ideal');
  t.match(ideal, { rteAtLeast095: { mean: 1 }, overIdeal: { all: { mean: 1, low: 1, high: 1 } } });
});

t.test('ablation flags reach the policy', async (t) => {
  const json = async (...flags: readonly string[]) =>
    JSON.parse((await run([...small, '--policy', 'sfs', '--json', ...flags])).out);
  const flags = [
    '--slice',
    '50',
    '--no-io-aware',
    '--no-bypass',
    '--poll',
    '8',
    '--window',
    '10',
    '--budget',
    '100',
  ];
  const { parameters } = await json(...flags);
  t.match(parameters, { sliceFixed: 50_000, ioAware: false, pollInterval: 8000, window: 10, budgetShare: 1 });
  t.equal(parameters.overloadFactor, null, 'Infinity');
  const idealOf = async (...more: readonly string[]) => {
    const { out } = await run([...small, '--policy', 'ideal', '--json', ...more]);
    return JSON.parse(out).runs[0].turnaroundMs.all.mean as number;
  };
  t.ok(
    Math.abs((await idealOf('--launch-cost', '8')) - (await idealOf()) - 8) < 1e-6,
    'each needs 8 ms more',
  );
  t.match((await json('--overload', '5')).parameters, { overloadFactor: 5 });
  const paused = await json();
  t.ok(paused.runs[0].counters.budgetPauses > 0);
  t.equal((await json('--budget', '100')).runs[0].counters.budgetPauses, 0);
});

t.test('faults print their seed first and are counted', async (t) => {
  const command = [...small, '--policy', 'sfs', '--faults', '--sleep-share', '0.5', '--fair', 'eevdf'];
  const { code, out, err } = await run(command, { columns: 120 });
  t.equal(code, 0);
  t.match(err, /^faults from seed 3\n/);
  t.match(out, /Faults ended \d+ requests; every step held its invariants\./);
});

t.test('what cannot be simulated is bad usage', async (t) => {
  for (const [flags, reason] of [
    [['--policy', 'lottery'], /"lottery" is no policy; there are ideal, srtf/],
    [['--seeds', '0'], /start at 1/],
    [['--workload', 'x.jsonl', '--seeds', '2'], /--seeds needs a generated workload/],
    [['--front', 'sideways'], /Allowed choices are random, round-robin, least-loaded/],
    [['--durations', 'table', '--sigma', '9'], /sigma is not 0 to 3/],
    [['--budget', '101'], /a number from 1 to 100/],
    [['--lag', '-1'], /a number from 0 to 1000/],
    [['--lag', '1e9'], /a number from 0 to 1000/],
    [['--launch-cost', 'NaN'], /a number from 0 to 1000/],
  ] as const) {
    const { code, err } = await run(['simulate', ...flags]);
    t.equal(code, 2, flags.join(' '));
    t.match(err, reason);
  }
});

t.test('intervals are those of Student’s t', async (t) => {
  t.same(intervalOf([7]), { mean: 7, low: 7, high: 7 });
  const { mean, low, high } = intervalOf([1, 2, 3]) ?? { mean: 0, low: 0, high: 0 };
  t.equal(mean, 2);
  t.ok(Math.abs(high - (2 + 4.303 / Math.sqrt(3))) < 1e-9 && Math.abs(low + high - 4) < 1e-9);
  t.equal(intervalOf([1, null]), null);
  t.equal(intervalOf([]), null);
});
