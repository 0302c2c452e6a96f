/** The workload function uses the CPU time it was told to use. */
import { execFileSync, spawnSync } from 'node:child_process';
import t from 'tap';
import { burnPath } from './support.js';

function burned(args: readonly string[], input = '') {
  const lines = execFileSync(burnPath, args, { encoding: 'utf8', input }).trim().split('\n');
  return JSON.parse(lines.at(-1) ?? '') as { readonly cpuMs: number; readonly startedAtUs: number };
}

/** The least of three: an interrupt may fall into the last reading of the clock. */
function leastOfThree(args: readonly string[], input = '') {
  return Math.min(...[1, 2, 3].map(() => burned(args, input).cpuMs));
}

t.test('a demand is met to a few microseconds, the start-up included', async (t) => {
  for (const demandMs of [20, 31.5, 60]) {
    const cpuMs = leastOfThree([String(demandMs)]);
    t.ok(cpuMs >= demandMs && cpuMs < demandMs + 0.03, `${cpuMs} of ${demandMs} ms`);
  }
});

t.test('sleeps, a child and standard input change nothing in that', async (t) => {
  const sleeps = ['20', '--sleep-ms', '5', '--at-ms', '15', '--sleep-ms', '5', '--at-ms', '12'];
  t.ok(leastOfThree(sleeps) < 20.1);
  t.ok(leastOfThree(['--stdin'], '20 --fork --print-start\nmore') < 20.1);
});

t.test('threads share the demand', async (t) => {
  const cpuMs = leastOfThree(['40', '--threads', '4']);
  t.ok(cpuMs >= 40 && cpuMs < 44, `${cpuMs} ms`);
});

t.test('a sleep is wall time, not CPU time', async (t) => {
  const before = performance.now();
  burned(['1', '--sleep-ms', '50', '--at-ms', '0.5']);
  t.ok(performance.now() - before >= 50);
});

t.test('wrong words are refused', async (t) => {
  for (const args of [
    [],
    ['x'],
    ['-1'],
    ['1', '--sleep-ms', '5'],
    ['1', '--what', '5'],
    ['1', '--threads', '0'],
  ]) {
    t.equal(spawnSync(burnPath, args).status, 2, args.join(' '));
  }
});
