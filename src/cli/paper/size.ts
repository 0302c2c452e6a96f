/**
 * How large a rerun of the paper's evaluation is. The paper's own: 49,712 requests (section II-C) on 12 cores (sections VIII-A, B) and on
 * 72 (section VIII-C).
 */
export interface PaperSize {
  /** Of each simulation with the fluid fair class. */
  readonly requests: number;
  /** Of each simulation slice by slice, which alone counts context switches. */
  readonly requestsSliceExact: number;
  /** Of each replay on this host. */
  readonly requestsReal: number;
}

export const fullSize: PaperSize = { requests: 49_712, requestsSliceExact: 10_000, requestsReal: 300 };
/** Shows that the command works; its figures are of too few requests to mean anything. */
export const quickSize: PaperSize = { requests: 300, requestsSliceExact: 150, requestsReal: 20 };

export const simulatedCores = [12, 72] as const;
/** Figures 7 and 8. */
export const loadsPlain = [0.5, 0.65, 0.8, 0.9, 1] as const;
/** Figures 14 and 16. */
export const loadsBlocking = [0.8, 0.9, 1] as const;
/** Context switches of figure 16. */
export const loadsSwitches = [0.8, 1] as const;
/** Where figure 7 names shares under CFS: the fluid class is checked slice by slice. */
export const loadsSliceExact = [0.65, 0.8] as const;
export const loadsReal = [0.8, 1] as const;
/** Figure 11. */
export const slicesFixedMs = [50, 100, 200] as const;
/** Figure 12: the host has room but for the spikes (spikes.ts). */
export const loadSpiky = 0.8;
/** As the paper's functions md and sa, two in five, of which each waits for a file (section VIII-C). */
export const sleepShare = 0.4;
/** Halves what the replays take; the shares of Table I stay. */
export const durationScaleReal = 0.5;
/** Log-normal, on each duration: Table I gives buckets, not single durations. */
export const sigma = 0.5;
export const seed = 1;
