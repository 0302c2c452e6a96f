/**
 * Numbers for people: three significant digits at most, always with a unit, the same in the terminal and in report.html.
 * A figure that cannot be had is a dash, never a 0.
 */
export const noFigure = '–';

/** 0.43 ms, 8.4 ms, 68 ms, 1.26 s, 126 s: at most 7 characters. */
export function formatMs(value: number | null): string {
  if (value === null) return noFigure;
  const size = Math.abs(value);
  if (size < 0.995) return `${value.toFixed(2)} ms`;
  if (size < 9.95) return `${value.toFixed(1)} ms`;
  if (size < 999.5) return `${value.toFixed(0)} ms`;
  const seconds = value / 1000;
  return `${seconds.toFixed(size < 9_995 ? 2 : size < 99_950 ? 1 : 0)} s`;
}

/** 0.0%, 3.6%, 95%: one digit after the point below 10%. */
export function formatShare(share: number | null): string {
  if (share === null) return noFigure;
  const percent = share * 100;
  return `${percent.toFixed(Math.abs(percent) < 9.95 ? 1 : 0)}%`;
}

/** 1.30x. */
export function formatRatio(ratio: number | null): string {
  return ratio === null ? noFigure : `${ratio.toFixed(Math.abs(ratio) < 99.5 ? 2 : 0)}x`;
}

/** Counts that may be means: 7, 7.3, 0.05. */
export function formatCount(value: number | null): string {
  if (value === null) return noFigure;
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 99.5) return value.toFixed(0);
  return value.toFixed(size < 9.95 ? 2 : 1);
}
