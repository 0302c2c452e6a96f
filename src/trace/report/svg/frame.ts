/**
 * What every chart has: a title and description for screen readers, a grid, two labelled axes, a legend below the title. Colours are
 * CSS classes, so that light and dark follow the reader's setting; each kind of line also has its own dashes and each
 * kind of mark its own shape, so that nothing rests on colour alone.
 */
import { type Markup, markup } from '../markup.js';
import type { Scale } from './scale.js';

export const chartWidth = 760;
export const chartHeight = 330;

/** The plot's corners within the drawing. */
export const plot = { left: 64, right: 744, top: 34, bottom: 280 } as const;

export interface LegendEntry {
  readonly name: string;
  /** The swatch, drawn around (0, 0) and 24 wide. */
  readonly swatch: Markup;
}

export interface ChartFrame {
  /** Unique in the page. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly x: Scale;
  readonly y: Scale;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly legend: readonly LegendEntry[];
  readonly marks: Markup;
}

export function chart(frame: ChartFrame): Markup {
  const { name, title, description, marks } = frame;
  return markup`<svg class="chart" viewBox="0 0 ${chartWidth} ${chartHeight}" role="img" aria-labelledby="${name}-title ${name}-description">
<title id="${name}-title">${title}</title>
<desc id="${name}-description">${description}</desc>
${grid(frame)}
${marks}
${labels(frame)}
${legend(frame.legend)}
</svg>`;
}

/** Drawing units to a tenth: enough for any screen, and half the bytes. */
export function place(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}

export function lineSwatch(className: string): Markup {
  return markup`<path class="line ${className}" d="M-12 0H12" />`;
}

function grid({ x, y }: ChartFrame): Markup {
  const vertical = x.ticks.map(
    ({ value }) => markup`<path d="M${place(x.place(value))} ${plot.top}V${plot.bottom}" />`,
  );
  const horizontal = y.ticks.map(
    ({ value }) => markup`<path d="M${plot.left} ${place(y.place(value))}H${plot.right}" />`,
  );
  return markup`<g class="grid">${vertical}${horizontal}</g>
<path class="axis" d="M${plot.left} ${plot.top}V${plot.bottom}H${plot.right}" />`;
}

function labels({ x, y, xLabel, yLabel }: ChartFrame): Markup {
  const along = x.ticks
    .filter((tick) => tick.label !== '')
    .map(
      ({ value, label }) =>
        markup`<text x="${place(x.place(value))}" y="${plot.bottom + 17}" text-anchor="middle">${label}</text>`,
    );
  const up = y.ticks
    .filter((tick) => tick.label !== '')
    .map(
      ({ value, label }) =>
        markup`<text x="${plot.left - 8}" y="${place(y.place(value) + 4)}" text-anchor="end">${label}</text>`,
    );
  const middle = { x: (plot.left + plot.right) / 2, y: (plot.top + plot.bottom) / 2 };
  return markup`<g class="tick">${along}${up}</g>
<text class="label" x="${middle.x}" y="${plot.bottom + 40}" text-anchor="middle">${xLabel}</text>
<text class="label" transform="translate(14 ${middle.y}) rotate(-90)" text-anchor="middle">${yLabel}</text>`;
}

/** Width of a letter in the legend, about: SVG cannot measure text without a script. */
const letterWidth = 6.6;
const swatchWidth = 24;

function legend(entries: readonly LegendEntry[]): Markup {
  let left: number = plot.left + 4;
  const drawn = entries.map(({ name, swatch }) => {
    const at = left;
    left += swatchWidth + 8 + name.length * letterWidth + 22;
    return markup`<g transform="translate(${place(at + swatchWidth / 2)} 16)">${swatch}<text x="${swatchWidth / 2 + 8}" y="4">${name}</text></g>`;
  });
  return markup`<g class="legend">${drawn}</g>`;
}
