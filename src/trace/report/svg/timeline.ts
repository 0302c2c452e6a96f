/**
 * S, O x S and the queue delay of every pick-up over the run (the paper's figure 12). The y axis is logarithmic, because delays
 * span four decades; what lies below its floor is drawn on it.
 */
import type { PickupRow, SeriesRow, SliceRow } from '../../replay/series.js';
import { formatMs } from '../format.js';
import { type Markup, markup } from '../markup.js';
import { chart, lineSwatch, place, plot } from './frame.js';
import { linearScale, logScale, type Scale } from './scale.js';

export interface TimelineChart {
  readonly name: string;
  readonly series: readonly SeriesRow[];
  readonly overloadFactor: number | null;
}

/** Dots beyond this are thinned evenly; bypassed pick-ups are kept up to the same bound. */
const dotsMax = 2500;
const floorMs = 0.1;

export function timelineChart({ name, series, overloadFactor }: TimelineChart): Markup {
  const slices = series.filter((row) => row.kind === 'slice');
  const pickups = series.filter((row) => row.kind === 'pickup');
  const endMs = Math.max(1, ...edges(series));
  const highest = series.reduce((high, row) => Math.max(high, heightOf(row)), floorMs * 10);
  const x = linearScale({ low: 0, high: endMs / 1000 }, { from: plot.left, to: plot.right }, String);
  const y = logScale({ low: floorMs, high: highest }, { from: plot.bottom, to: plot.top }, (value) =>
    value === floorMs ? `≤ ${tickMs(value)}` : tickMs(value),
  );
  const area = { x, y, endMs };
  const bypassed = pickups.filter((row) => row.bypassed);
  const marks = markup`<g class="dots">${thinned(pickups.filter((row) => !row.bypassed)).map((row) => dot(row, area))}</g>
<path class="line limit" d="${limitPath(pickups, slices, overloadFactor, area)}" />
<path class="line slice" d="${stepPath(
    slices.map((row) => ({ atMs: row.atMs, value: row.sliceMs })),
    area,
  )}" />
<g class="crosses">${thinned(bypassed).map((row) => cross(row, area))}</g>`;
  const limitName = overloadFactor === null ? 'O x S' : `O x S (O = ${overloadFactor})`;
  return chart({
    name,
    title: 'S and queue delay over time under SFS',
    description: `${pickups.length} pick-ups, ${bypassed.length} of them bypassed because their queue delay reached O x S.`,
    x,
    y,
    xLabel: 'time since the first arrival (s)',
    yLabel: 'S, queue delay',
    legend: [
      { name: 'S', swatch: lineSwatch('slice') },
      { name: limitName, swatch: lineSwatch('limit') },
      { name: 'pick-up', swatch: markup`<g class="dots"><circle r="2.4" /></g>` },
      { name: 'bypassed pick-up', swatch: markup`<g class="crosses"><path d="M-4 -4L4 4M-4 4L4 -4" /></g>` },
    ],
    marks,
  });
}

interface Area {
  readonly x: Scale;
  readonly y: Scale;
  readonly endMs: number;
}

interface Step {
  readonly atMs: number;
  readonly value: number;
}

function edges(series: readonly SeriesRow[]): readonly number[] {
  const last = series.at(-1);
  return last === undefined ? [] : [last.atMs];
}

function heightOf(row: SeriesRow): number {
  return row.kind === 'slice' ? row.sliceMs : Math.max(row.queueDelayMs, row.limitMs ?? 0);
}

function tickMs(value: number): string {
  return value >= 1000 ? `${value / 1000} s` : `${value} ms`;
}

/** O x S from S itself; where O is unknown, from what the bypasses recorded. */
function limitPath(
  pickups: readonly PickupRow[],
  slices: readonly SliceRow[],
  overloadFactor: number | null,
  area: Area,
): string {
  const steps: readonly Step[] =
    overloadFactor === null
      ? pickups.flatMap((row) => (row.limitMs === null ? [] : [{ atMs: row.atMs, value: row.limitMs }]))
      : slices.map((row) => ({ atMs: row.atMs, value: row.sliceMs * overloadFactor }));
  return stepPath(steps, area);
}

function stepPath(steps: readonly Step[], { x, y, endMs }: Area): string {
  const [first] = steps;
  if (first === undefined) return 'M0 0';
  let text = `M${place(x.place(first.atMs / 1000))} ${place(y.place(first.value))}`;
  for (const step of steps.slice(1)) {
    text += `H${place(x.place(step.atMs / 1000))}V${place(y.place(step.value))}`;
  }
  return `${text}H${place(x.place(endMs / 1000))}`;
}

function thinned<Row>(rows: readonly Row[]): readonly Row[] {
  const every = Math.ceil(rows.length / dotsMax);
  return every <= 1 ? rows : rows.filter((_, index) => index % every === 0);
}

function dot(row: PickupRow, { x, y }: Area): Markup {
  return markup`<circle cx="${place(x.place(row.atMs / 1000))}" cy="${place(y.place(row.queueDelayMs))}" r="2.4" />`;
}

function cross(row: PickupRow, { x, y }: Area): Markup {
  const at = { x: x.place(row.atMs / 1000), y: y.place(row.queueDelayMs) };
  return markup`<path d="M${place(at.x - 4)} ${place(at.y - 4)}l8 8m0 -8l-8 8"><title>${row.id}: ${formatMs(row.queueDelayMs)}</title></path>`;
}
