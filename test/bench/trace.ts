/**
 * A whole day of the Azure Functions 2019 trace is validated by the command that users run:
 *
 *   sfsd trace validate --json FOLDER        46,412 functions x (4 + 1,440) columns, and as many duration rows, made here from the seed
 *
 * Its time is from start to exit; its memory is the kernel's own account of the ended child, the largest resident set.
 */
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ValidationReport } from '../../src/trace/formats/report.js';
import { RandomStream } from '../../src/trace/workload/random.js';
import { BoundedChild, childFailed, root } from './bounded-child.js';
import { below, type Figure, type Measure, type MeasureContext } from './measure.js';

const dayRows = 46_412;
const dayMinutes = 1440;
const shortRows = 200;
const lifeMaxMs = 180_000;
const memoryMaxMb = 512;

export const traceMeasure: Measure = {
  name: 'trace',
  title: 'validation of a day of 46,412 functions',
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), 'sfsd-bench-'));
    try {
      return await measureDay(context, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function measureDay(context: MeasureContext, folder: string): Promise<readonly Figure[]> {
  const rows = context.short ? shortRows : dayRows;
  const bytes = await writeDay(folder, rows, context.seed);
  const status = join(folder, 'status');
  const started = performance.now();
  const report = await validate(folder, status);
  const seconds = (performance.now() - started) / 1000;
  if (!report.passed || report.functions !== rows) {
    throw new Error(`${report.functions} of ${rows} functions were read`);
  }
  const note = `${rows} x ${dayMinutes + 4}, ${(bytes / 1e6).toFixed(0)} MB, ${report.invocations} invocations`;
  const peakMb = Number(readFileSync(status, 'utf8')) / 1024;
  return [
    { line: 4, name: 'a day validated', value: seconds, unit: 's', bound: below(60), note },
    { line: 4, name: 'its largest resident set', value: peakMb, unit: 'MiB', bound: below(memoryMaxMb) },
  ];
}

async function validate(folder: string, status: string): Promise<ValidationReport> {
  const out = join(folder, 'report.json');
  writeFileSync(join(folder, 'measure.py'), measuringScript);
  const child = new BoundedChild({
    command: 'python3',
    args: [
      join(folder, 'measure.py'),
      out,
      status,
      join(root, 'bin', 'sfsd'),
      'trace',
      'validate',
      '--json',
      folder,
    ],
    lifeMaxMs,
  });
  const end = await child.ended;
  const report = readFileSync(out, 'utf8');
  if (report === '') throw childFailed('sfsd trace validate', end);
  return JSON.parse(report) as ValidationReport;
}

/** Node tells no child's resource usage; wait4 does, in KiB. */
const measuringScript = `import resource, subprocess, sys
with open(sys.argv[1], 'w') as out:
    code = subprocess.call(sys.argv[3:], stdout=out)
with open(sys.argv[2], 'w') as status:
    status.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
`;

async function writeDay(folder: string, rows: number, seed: number): Promise<number> {
  const random = new RandomStream(seed, 'day');
  const durations = `${durationHeader}\n${Array.from({ length: rows }, (_, row) => durationRow(row)).join('')}`;
  writeFileSync(join(folder, 'durations.csv'), durations);
  let bytes = durations.length;
  const file = createWriteStream(join(folder, 'invocations.csv'));
  await pipeline(
    Readable.from(
      (function* counts() {
        yield `HashOwner,HashApp,HashFunction,Trigger,${minutesText(String)}\n`;
        for (let row = 0; row < rows; row += 1) yield countRow(row, random);
      })(),
    ),
    file,
  );
  bytes += file.bytesWritten;
  return bytes;
}

function minutesText(cell: (minute: number) => string): string {
  return Array.from({ length: dayMinutes }, (_, index) => cell(index + 1)).join(',');
}

/** Hashes of the published length; eight functions an app. */
function keyOf(row: number): string {
  return [row >> 5, row >> 3, row].map((part) => part.toString(16).padStart(64, '0')).join(',');
}

/** Most minutes of most functions are 0, and some functions run at each. */
function countRow(row: number, random: RandomStream): string {
  const share = random.uniform() ** 4;
  const peak = 1 + random.below(40);
  return `${keyOf(row)},http,${minutesText(() => (random.uniform() < share ? String(random.below(peak)) : '0'))}\n`;
}

const durationHeader = `HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,${[
  0, 1, 25, 50, 75, 99, 100,
]
  .map((rank) => `percentile_Average_${rank}`)
  .join(',')}`;

function durationRow(row: number): string {
  const ms = 1 + (row % 1000);
  return `${keyOf(row)},${5 * ms},100,${ms}.0,${9 * ms}.0,${ms},${2 * ms},${4 * ms},${5 * ms},${6 * ms},${8 * ms},${9 * ms}\n`;
}
