/**
 * What a measure is, and what it says: figures, each with the line of the issue that asks for it and the bound that it must keep.
 *
 *   measure.run(context) -> figures of one run;  combine(runs) -> rows, one for each name, in the order of the first run
 */
import type { Libc } from '../../src/linux/libc.js';
import { quantile } from '../../src/trace/replay/statistics.js';

export interface Bound {
  readonly kind: 'below' | 'atMost' | 'atLeast';
  readonly value: number;
}

/** One value of one run. */
export interface Figure {
  /** Of "Must hold" in the issue, 1 to 6. */
  readonly line: number;
  /** Unique among the figures of all measures. */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Absent: reported only. */
  readonly bound?: Bound;
  /** How runs become one value. Default `median`; `worst` for what must never happen at all. */
  readonly across?: 'median' | 'worst';
  readonly note?: string;
}

/** One value over all runs. */
export interface Row extends Omit<Figure, 'across'> {
  readonly measure: string;
  readonly runs: readonly number[];
  /** Absent: there is no bound. */
  readonly holds?: boolean;
}

export interface MeasureContext {
  readonly libc: Libc;
  /** A few seconds instead of what the issue asks for: to see that it works, not how fast it is. */
  readonly short: boolean;
  /** Differs from run to run. */
  readonly seed: number;
  readonly cores: number;
  say(text: string): void;
}

export interface Measure {
  /** The word that selects it. */
  readonly name: string;
  readonly title: string;
  run(context: MeasureContext): Promise<readonly Figure[]>;
}

export function below(value: number): Bound {
  return { kind: 'below', value };
}

export function atMost(value: number): Bound {
  return { kind: 'atMost', value };
}

export function atLeast(value: number): Bound {
  return { kind: 'atLeast', value };
}

export function holds(value: number, bound: Bound): boolean {
  switch (bound.kind) {
    case 'below':
      return value < bound.value;
    case 'atMost':
      return value <= bound.value;
    case 'atLeast':
      return value >= bound.value;
  }
}

export function combine(measure: string, runs: readonly (readonly Figure[])[]): readonly Row[] {
  const names = new Set(runs.flat().map((figure) => figure.name));
  return [...names].flatMap((name) => {
    const figures = runs.flatMap((run) => run.filter((figure) => figure.name === name));
    const first = figures[0];
    return first === undefined ? [] : [rowOf(measure, first, figures)];
  });
}

function rowOf(measure: string, first: Figure, figures: readonly Figure[]): Row {
  const { across = 'median', ...rest } = first;
  const runs = figures.map((figure) => figure.value);
  const value = across === 'median' ? (quantile(runs, 0.5) ?? Number.NaN) : worst(runs, first.bound);
  return {
    ...rest,
    measure,
    value,
    runs,
    ...(first.bound === undefined ? {} : { holds: holds(value, first.bound) }),
  };
}

function worst(values: readonly number[], bound: Bound | undefined): number {
  return bound?.kind === 'atLeast' ? Math.min(...values) : Math.max(...values);
}
