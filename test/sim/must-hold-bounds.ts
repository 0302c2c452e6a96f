/** What SFS must achieve in simulation, and the check that it does. */
import type { Test } from 'tap';
import type { Interval, PolicySummary } from '../../src/cli/simulate/figures.js';

export interface Bounds {
  /** Share of requests with RTE >= 0.95, at least. */
  readonly rteShare: number;
  /** Mean of short functions over IDEAL, at most. */
  readonly shortOverIdeal: number;
  /** Mean of long functions over CFS, at most. */
  readonly longOverCfs: number;
}

export const boundsAt = {
  full: { rteShare: 0.8, shortOverIdeal: 1.1, longOverCfs: 1.15 },
  four5ths: { rteShare: 0.9, shortOverIdeal: 1.1, longOverCfs: 1.15 },
} as const satisfies Readonly<Record<string, Bounds>>;

/** The unfavourable end of each interval must lie within the bounds. */
export function check(t: Test, sfs: PolicySummary, bounds: Bounds): void {
  const { rteAtLeast095: rte } = sfs;
  const short = sfs.overIdeal.short;
  const long = sfs.overCfs.long;
  if (rte === null || short === null || long === null) {
    t.fail('there are figures');
    return;
  }
  t.comment(`RTE >= 0.95: ${text(rte)}, short / IDEAL: ${text(short)}, long / CFS: ${text(long)}`);
  t.ok(rte.low >= bounds.rteShare, `RTE >= 0.95: ${text(rte)}`);
  t.ok(short.high <= bounds.shortOverIdeal, `short / IDEAL: ${text(short)}`);
  t.ok(long.high <= bounds.longOverCfs, `long / CFS: ${text(long)}`);
}

function text({ mean, low, high }: Interval): string {
  return `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}
