/**
 * Scales: from a value to a place on an axis, with the ticks that label it. Values beyond an end are drawn at that end.
 */
export interface Tick {
  readonly value: number;
  /** Empty: a grid line without a label. */
  readonly label: string;
}

export interface Scale {
  readonly ticks: readonly Tick[];
  place(value: number): number;
}

/** Ends of the axis in drawing units; `from` may lie beyond `to` (the y axis points up). */
export interface Extent {
  readonly from: number;
  readonly to: number;
}

export interface Range {
  readonly low: number;
  readonly high: number;
}

export function linearScale(
  { low, high }: Range,
  { from, to }: Extent,
  label: (value: number) => string,
): Scale {
  const step = roundStep((high - low) / ticksAbout);
  const ticks: Tick[] = [];
  // Counted in steps, not added up: 0.1 added ten times is not 1.
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) {
    const value = Number((index * step).toPrecision(12));
    ticks.push({ value, label: label(value) });
  }
  return {
    ticks,
    place: (value) => from + ((clamped(value, { low, high }) - low) / (high - low)) * (to - from),
  };
}

/** The range is widened to the next 1, 2 or 5. Labels at 1, 2 and 5 up to three decades, at the decades beyond. */
export function logScale(range: Range, { from, to }: Extent, label: (value: number) => string): Scale {
  const low = roundedTo125(range.low, 'down');
  const high = Math.max(roundedTo125(range.high, 'up'), low * 10);
  const crowded = Math.log10(high / low) > 3;
  const ticks: Tick[] = [];
  for (let decade = Math.floor(Math.log10(low) + 1e-9); 10 ** decade <= high * 1.000001; decade += 1) {
    for (const digit of [1, 2, 5]) {
      const value = Number((digit * 10 ** decade).toPrecision(3));
      if (value < low * 0.999999 || value > high * 1.000001) continue;
      ticks.push({ value, label: crowded && digit !== 1 ? '' : label(value) });
    }
  }
  const width = Math.log(high / low);
  return {
    ticks,
    place: (value) => from + (Math.log(clamped(value, { low, high }) / low) / width) * (to - from),
  };
}

const ticksAbout = 6;

/** The nearest of 1, 2, 5 times a power of ten from above. */
function roundStep(step: number): number {
  return step > 0 ? roundedTo125(step, 'up') : 1;
}

function roundedTo125(value: number, direction: 'up' | 'down'): number {
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const digit = value / decade;
  const steps = [1, 2, 5, 10];
  const found =
    direction === 'up'
      ? steps.find((step) => step >= digit - 1e-9)
      : steps.findLast((step) => step <= digit + 1e-9);
  return Number(((found ?? 1) * decade).toPrecision(3));
}

function clamped(value: number, { low, high }: Range): number {
  return Math.min(Math.max(value, low), high);
}
