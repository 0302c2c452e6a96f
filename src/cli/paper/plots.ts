/**
 * The plots of the page, from the charts of the replay report: the same figure for each host, so that simulated and real stand side by
 * side.
 */
import { rteOf, type Sample, turnaroundOf } from '../../trace/replay/metrics.js';
import { ascending, quantileOfSorted } from '../../trace/replay/statistics.js';
import { type Markup, markup, noMarkup } from '../../trace/report/markup.js';
import { type CdfLine, cdfChart } from '../../trace/report/svg/cdf.js';
import { chart, lineSwatch, place, plot } from '../../trace/report/svg/frame.js';
import { linearScale, logScale } from '../../trace/report/svg/scale.js';
import { timelineChart } from '../../trace/report/svg/timeline.js';
import { type Evidence, type Observed, type Pair, turnaroundQuantile } from './evidence.js';

/** Unique in the page. */
export interface PlotPlace {
  readonly name: string;
  /** Of the host, for the caption. */
  readonly host: string;
}

const xExtent = { from: plot.left, to: plot.right };
const yExtent = { from: plot.bottom, to: plot.top };
/** Below are the shortest functions; above, what no axis needs to show. */
const shortestMs = 1;

function secondsTick(value: number): string {
  return value >= 1000 ? `${value / 1000} s` : `${value} ms`;
}

function percentTick(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function figure(drawn: Markup, caption: string): Markup {
  return markup`<figure>${drawn}<figcaption>${caption}</figcaption></figure>`;
}

/** Beyond it, one request decides how much of the axis is empty. */
const axisEnd = 0.9995;

function turnaroundCdf(lines: readonly CdfLine[], { name, host }: PlotPlace, caption: string): Markup {
  const high = Math.max(...lines.map(({ values }) => quantileOfSorted(ascending(values), axisEnd)));
  const low = Math.min(...lines.map(({ values }) => quantileOfSorted(ascending(values), 0)));
  return figure(
    cdfChart({
      name,
      title: `Turnaround, ${host}`,
      description: 'Share of requests whose turnaround is at most x. Further left is better.',
      xLabel: 'turnaround, logarithmic',
      x: logScale({ low: Math.max(low, shortestMs), high }, xExtent, secondsTick),
      lines,
    }),
    `${host}: ${caption}`,
  );
}

function valuesOf(samples: readonly Sample[], value: (sample: Sample) => number): readonly number[] {
  return samples.map(value);
}

/** One line a load; fainter is lighter. */
export function turnaroundByLoad(
  pairs: ReadonlyMap<number, Pair>,
  policy: keyof Pair,
  at: PlotPlace,
): Markup {
  const lines = [...pairs].map(([load, pair]) => ({
    name: percentTick(load),
    className: `${policy} load${Math.round(load * 100)}`,
    values: valuesOf(pair[policy].samples, turnaroundOf),
  }));
  const caption = `turnaround under ${policy.toUpperCase()} by load.`;
  return lines.length === 0 ? noMarkup : turnaroundCdf(lines, at, caption);
}

export function rteByLoad(
  pairs: ReadonlyMap<number, Pair>,
  loads: readonly number[],
  { name, host }: PlotPlace,
): Markup {
  const lines = loads.flatMap((load) => {
    const pair = pairs.get(load);
    if (pair === undefined) return [];
    return (['cfs', 'sfs'] as const).map((policy) => ({
      name: `${policy.toUpperCase()} ${percentTick(load)}`,
      className: `${policy} load${Math.round(load * 100)}`,
      values: valuesOf(pair[policy].samples, rteOf),
    }));
  });
  if (lines.length === 0) return noMarkup;
  return figure(
    cdfChart({
      name,
      title: `RTE, ${host}`,
      description: 'Share of requests whose RTE is at most x. Further right is better.',
      xLabel: 'RTE = CPU time needed alone / turnaround',
      x: linearScale({ low: 0, high: 1 }, xExtent, String),
      lines,
      guides: [{ value: 0.95, label: '0.95' }],
    }),
    `${host}: run-time effectiveness. What lies right of 0.95 hardly waited.`,
  );
}

/** One quantile a line over the load. */
export function quantilesByLoad(
  pairs: ReadonlyMap<number, Pair>,
  quantiles: readonly { readonly q: number; readonly label: string }[],
  { name, host }: PlotPlace,
): Markup {
  const loads = [...pairs.keys()];
  const lines = (['cfs', 'sfs'] as const).flatMap((policy) =>
    quantiles.map(({ q, label }, index) => ({
      name: `${policy.toUpperCase()} ${label}`,
      className: `${policy} quantile${index}`,
      points: loads.map((load) => ({
        load,
        ms: turnaroundQuantile(pairs.get(load)?.[policy], q) ?? shortestMs,
      })),
    })),
  );
  const all = lines.flatMap(({ points }) => points.map(({ ms }) => ms));
  if (all.length === 0) return noMarkup;
  const x = linearScale({ low: Math.min(...loads), high: Math.max(...loads) }, xExtent, percentTick);
  const y = logScale({ low: Math.min(...all), high: Math.max(...all) }, yExtent, secondsTick);
  const marks = lines.map(({ className, points }) => {
    const path = points.map(({ load, ms }) => `${place(x.place(load))} ${place(y.place(ms))}`).join('L');
    return markup`<path class="line ${className}" d="M${path}" />`;
  });
  return figure(
    chart({
      name,
      title: `Turnaround by load, ${host}`,
      description: 'Quantiles of the turnaround under both policies against the load.',
      x,
      y,
      xLabel: 'load',
      yLabel: 'turnaround',
      legend: lines.map((line) => ({ name: line.name, swatch: lineSwatch(line.className) })),
      marks: markup`${marks}`,
    }),
    `${host}: turnaround against the load.`,
  );
}

export function fixedSlices({ plain, fixed }: Evidence, at: PlotPlace): Markup {
  const adaptive = plain.get(1)?.sfs;
  if (adaptive === undefined || fixed.size === 0) return noMarkup;
  const lines = [
    { name: 'adaptive S', className: 'sfs', values: valuesOf(adaptive.samples, turnaroundOf) },
    ...[...fixed].map(([slice, observed], index) => ({
      name: `${slice} ms`,
      className: `fixed fixed${index}`,
      values: valuesOf(observed.samples, turnaroundOf),
    })),
  ];
  return turnaroundCdf(lines, at, 'turnaround with adaptive and with fixed S, load 100%.');
}

export function timeline(
  observed: Observed | undefined,
  at: PlotPlace,
  caption: string,
  bypass = true,
): Markup {
  if (observed === undefined || observed.series.length === 0) return noMarkup;
  return figure(
    timelineChart({ name: at.name, series: observed.series, overloadFactor: bypass ? 3 : null }),
    `${at.host}: ${caption}`,
  );
}

export function bypassCdf({ spiky }: Evidence, at: PlotPlace): Markup {
  if (spiky === undefined) return noMarkup;
  const lines = [
    { name: 'with bypass', className: 'sfs', values: valuesOf(spiky.bypassOn.samples, turnaroundOf) },
    { name: 'without', className: 'fixed', values: valuesOf(spiky.bypassOff.samples, turnaroundOf) },
  ];
  return turnaroundCdf(lines, at, 'turnaround with and without the bypass.');
}

export function switchesCdf(
  switches: ReadonlyMap<number, readonly number[]>,
  { name, host }: PlotPlace,
): Markup {
  const lines = [...switches]
    .filter(([, ratios]) => ratios.length > 0)
    .map(([load, values]) => ({
      name: percentTick(load),
      className: `sfs load${Math.round(load * 100)}`,
      values,
    }));
  if (lines.length === 0) return noMarkup;
  return figure(
    cdfChart({
      name,
      title: `Context switches, ${host}`,
      description: 'Share of requests whose switches under CFS over those under SFS are at most x.',
      xLabel: '(CFS + 1) / (SFS + 1) context switches, logarithmic',
      x: logScale({ low: 0.1, high: 1000 }, xExtent, String),
      lines,
      guides: [
        { value: 1, label: '1' },
        { value: 10, label: '10' },
      ],
    }),
    `${host}: context switches of each request. Right of 1, CFS switched it more often.`,
  );
}

/** Beside the report's own style: loads differ in strength, quantiles in dashes, so that nothing rests on colour alone. */
export const plotStyle = `
.chart .load50 { stroke-opacity: 0.35; } .chart .load65 { stroke-opacity: 0.5; } .chart .load80 { stroke-opacity: 0.65; }
.chart .load90 { stroke-opacity: 0.8; } .chart .load100 { stroke-opacity: 1; }
.chart .load65.line { stroke-dasharray: 9 3 2 3; } .chart .load80.line { stroke-dasharray: 5 3; } .chart .load90.line { stroke-dasharray: 12 4; }
.chart .load50.line { stroke-dasharray: 2 3; } .chart .load100.line { stroke-dasharray: none; }
.chart .quantile0.line { stroke-dasharray: 2 3; } .chart .quantile1.line { stroke-dasharray: none; }
.chart .fixed { stroke: var(--cfs); } .chart .fixed0.line { stroke-dasharray: 2 3; } .chart .fixed1.line { stroke-dasharray: 6 3; }
.chart .fixed2.line { stroke-dasharray: 12 4; }
td.verdict { font-weight: 600; } td.claim { white-space: normal; min-width: 16rem; } .missed td.verdict { color: var(--limit); }
`;
