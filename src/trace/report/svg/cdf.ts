/**
 * Cumulative distributions of several samples in one chart: the share of requests at or below x.
 */
import { ascending, quantileOfSorted } from '../../replay/statistics.js';
import { type Markup, markup } from '../markup.js';
import { chart, lineSwatch, place, plot } from './frame.js';
import type { Scale } from './scale.js';
import { linearScale } from './scale.js';

export interface CdfLine {
  readonly name: string;
  /** `ideal`, `cfs` or `sfs`: how the line is drawn. */
  readonly className: string;
  readonly values: readonly number[];
}

export interface CdfChart {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly xLabel: string;
  readonly x: Scale;
  readonly lines: readonly CdfLine[];
  /** Values of x worth a line of their own. */
  readonly guides?: readonly { readonly value: number; readonly label: string }[];
}

/** More points than this on one line are more than its pixels: it is drawn through as many quantiles. */
const pointsMax = 700;

export function cdfChart(options: CdfChart): Markup {
  const y = linearScale(
    { low: 0, high: 1 },
    { from: plot.bottom, to: plot.top },
    (share) => `${Math.round(share * 100)}%`,
  );
  const { name, title, description, xLabel, x, lines, guides = [] } = options;
  const drawn = lines
    .filter((line) => line.values.length > 0)
    .map((line) => markup`<path class="line ${line.className}" d="${path(line.values, x, y)}" />`);
  const marks = markup`${guides.map((guide) => guideLine(guide, x))}${drawn}`;
  return chart({
    name,
    title,
    description,
    x,
    y,
    xLabel,
    yLabel: 'share of requests',
    legend: lines.map((line) => ({ name: line.name, swatch: lineSwatch(line.className) })),
    marks,
  });
}

function path(values: readonly number[], x: Scale, y: Scale): string {
  const sorted = ascending(values);
  const points =
    sorted.length <= pointsMax
      ? sorted
      : Array.from({ length: pointsMax }, (_, index) => quantileOfSorted(sorted, index / (pointsMax - 1)));
  let text = `M${place(x.place(points[0] ?? 0))} ${place(y.place(0))}`;
  points.forEach((value, index) => {
    text += `H${place(x.place(value))}V${place(y.place((index + 1) / points.length))}`;
  });
  return text;
}

function guideLine({ value, label }: { readonly value: number; readonly label: string }, x: Scale): Markup {
  const at = x.place(value);
  return markup`<path class="guide" d="M${place(at)} ${plot.top}V${plot.bottom}" /><text class="note" x="${place(at - 4)}" y="${plot.top + 12}" text-anchor="end">${label}</text>`;
}
