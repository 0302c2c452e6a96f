/**
 * A real replay by the command that users run, for the measures that read its summary.json:
 *
 *   sfsd replay --durations table --scale 0.5 --count 400 --gaps poisson --load 1 --cores 2 --seed N --json --out FOLDER
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunSummary, Summary } from '../../src/trace/replay/comparison.js';
import { BoundedChild, childFailed, root } from './bounded-child.js';
import type { Figure, MeasureContext } from './measure.js';

const cores = 2;
const lifeMaxMs = 400_000;

export interface ReplayWishes {
  readonly gaps: 'poisson' | 'bursty';
  readonly load: number;
  /** Options beside these; absent: none. */
  readonly more?: Readonly<Record<string, string | number>>;
}

export async function realReplay(
  context: MeasureContext,
  { gaps, load, more = {} }: ReplayWishes,
): Promise<Summary> {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-bench-'));
  const size = context.short ? { count: 20, scale: 0.05 } : { count: 400, scale: 0.5 };
  const options = {
    durations: 'table',
    scale: size.scale,
    count: size.count,
    gaps,
    load,
    cores: Math.min(cores, context.cores),
    seed: context.seed,
    ...more,
    out: folder,
  };
  try {
    const child = new BoundedChild({
      command: join(root, 'bin', 'sfsd'),
      args: [
        'replay',
        '--json',
        ...Object.entries(options).flatMap(([key, value]) => [`--${key}`, String(value)]),
      ],
      lifeMaxMs,
    });
    const end = await child.ended;
    // 1: it ran, and some requests did not complete; the summary says how many.
    if (end.code !== 0 && end.code !== 1) throw childFailed('sfsd replay', end);
    try {
      return JSON.parse(readFileSync(join(folder, 'summary.json'), 'utf8')) as Summary;
    } catch {
      throw childFailed('sfsd replay', end);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function figure(
  line: number,
  name: string,
  value: number | null | undefined,
  unit: string,
  rest: Pick<Figure, 'bound' | 'across' | 'note'>,
): Figure {
  return { line, name, value: value ?? Number.NaN, unit, ...rest };
}

export function lost(run: RunSummary | null): number {
  return run === null ? Number.NaN : run.counts.requested - run.counts.completed;
}

export function meanText(of: { readonly mean: number } | null | undefined): string {
  return of?.mean.toFixed(1) ?? '-';
}
