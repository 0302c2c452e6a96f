/**
 * `npm run bench`: every figure that the issue asks for, as one table.
 *
 *   npm run bench [-- [MEASURE...] [--runs N] [--seed N] [--short] [--json]]     a measure, or how its name begins
 *
 * Exit code: 0 all bounds hold, 1 one does not hold or a measure failed, 2 wrong usage.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { reasonOf } from '../../src/contracts/errors.js';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { endSignals } from './bounded-child.js';
import { describeMachine, machineText } from './machine.js';
import { measures, type Report, runMeasures } from './run-measures.js';
import { rowsTable } from './table.js';

const runsDefault = 3;

interface Wishes {
  readonly words: readonly string[];
  readonly runs: number;
  readonly seed: number;
  readonly short: boolean;
  readonly json: boolean;
}

const names = measures.map((measure) => measure.name);
const usage = `usage: npm run bench [-- [${names.join('|')}]... [--runs N] [--seed N] [--short] [--json]]`;

function parseWishes(): Wishes | string {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        runs: { type: 'string' },
        seed: { type: 'string', default: '1' },
        short: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return '';
    const runs = Number(values.runs ?? (values.short ? 1 : runsDefault));
    const seed = Number(values.seed);
    const unknown = positionals.find((word) => !names.some((name) => name.startsWith(word)));
    if (unknown !== undefined) return `no measure is called ${unknown}\n${usage}`;
    if (!Number.isInteger(runs) || runs < 1) return `--runs is a whole number from 1 on\n${usage}`;
    if (!Number.isInteger(seed) || seed < 0) return `--seed is a whole number\n${usage}`;
    return { words: positionals, runs, seed, short: values.short, json: values.json };
  } catch (thrown) {
    return `${reasonOf(thrown)}\n${usage}`;
  }
}

function isWhole({ rows, faults }: Report): boolean {
  return faults.length === 0 && rows.every((row) => row.holds !== false);
}

async function main(): Promise<number> {
  const wishes = parseWishes();
  if (wishes === '') {
    console.log(
      `${usage}\nA measure is named in full or by how its name begins. docs/bench.md says what each does.`,
    );
    return 0;
  }
  if (typeof wishes === 'string') {
    console.error(wishes);
    return 2;
  }
  const loaded = loadKoffiLibc();
  if (!loaded.ok) {
    console.error(loaded.reason);
    return 1;
  }
  const machine = describeMachine();
  const startedAt = new Date().toISOString();
  console.error(machineText(machine));
  const { runs, seed, short, json, words } = wishes;
  const selected = measures.filter(
    (measure) => words.length === 0 || words.some((word) => measure.name.startsWith(word)),
  );
  const say = (text: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
  const context = { libc: loaded.libc, short, cores: availableParallelism(), say };
  const ending = new AbortController();
  for (const signal of endSignals) process.once(signal, () => ending.abort(new Error(`${signal} came`)));
  const report = await runMeasures(selected, { runs, seed, context, signal: ending.signal });
  if (json) console.log(JSON.stringify({ machine, startedAt, runs, seed, short, ...report }, null, 2));
  else
    console.log(`${rowsTable(report.rows)}\n${machineText(machine)}; ${runs} runs${short ? ', short' : ''}`);
  for (const fault of report.faults) console.error(`${fault.measure} failed: ${fault.reason}`);
  return isWhole(report) ? 0 : 1;
}

process.exitCode = await main();
