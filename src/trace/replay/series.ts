/**
 * One line of slice.jsonl: how S and the queue delay went over the run. Times in milliseconds, `atMs` from the run's start.
 *
 *   slice   S became this (an arrival records the S it met; a recomputation records the new one)
 *   pickup  a FILTER worker took an invocation from the global queue: its queue delay, and O x S, the bound from which it is bypassed
 *
 * S comes from each invocation's own decisions, so the series needs no second channel to the daemon. Runs of equal S are
 * folded to their first sample; the last sample is kept, so that a chart knows how far S held.
 */
import type { ReplayPolicy } from '../../contracts/replay.js';
import type { Decision } from '../../contracts/scheduler.js';
import type { Duration, Instant } from '../../contracts/time.js';
import { between, toMs } from '../../contracts/time.js';
import type { RecordBase } from './record.js';
import { queueDelayOf } from './record.js';

export interface SliceRow {
  readonly policy: ReplayPolicy;
  readonly kind: 'slice';
  readonly atMs: number;
  readonly sliceMs: number;
}

export interface PickupRow {
  readonly policy: ReplayPolicy;
  readonly kind: 'pickup';
  readonly atMs: number;
  readonly id: string;
  readonly queueDelayMs: number;
  /** O x S; null when no S is known yet, or the bypass is off. */
  readonly limitMs: number | null;
  readonly bypassed: boolean;
}

export type SeriesRow = SliceRow | PickupRow;

/** Gathers samples while answers come in, so that the decisions themselves need not be kept. */
export class SeriesBuilder {
  readonly #policy: ReplayPolicy;
  readonly #base: RecordBase;
  readonly #slices: SliceRow[] = [];
  readonly #pickups: PickupRow[] = [];

  constructor(policy: ReplayPolicy, base: RecordBase) {
    this.#policy = policy;
    this.#base = base;
  }

  add(id: string, decisions: readonly Decision[]): void {
    // Under the others an arrival still records the daemon's S, but nothing is scheduled by it.
    if (this.#policy !== 'sfs') return;
    for (const decision of decisions) {
      const { kind } = decision;
      if (kind === 'arrived' || kind === 'sliced') this.#addSlice(decision.at, decision.value as Duration);
      const queueDelayMs = queueDelayOf(decision);
      if (queueDelayMs === null) continue;
      const bypassed = kind === 'bypassed';
      this.#pickups.push({
        policy: this.#policy,
        kind: 'pickup',
        atMs: this.#ms(decision.at),
        id,
        queueDelayMs,
        limitMs: bypassed ? toMs(decision.extra as Duration) : null,
        bypassed,
      });
    }
  }

  /** In the order of time. */
  rows(): readonly SeriesRow[] {
    const slices = folded([...this.#slices].sort(byTime));
    const pickups = [...this.#pickups].sort(byTime);
    let next = 0;
    let sliceMs: number | undefined;
    const limited = pickups.map((pickup) => {
      for (let row = slices[next]; row !== undefined && row.atMs <= pickup.atMs; row = slices[next]) {
        sliceMs = row.sliceMs;
        next += 1;
      }
      if (pickup.limitMs !== null || sliceMs === undefined) return pickup;
      const limitMs = sliceMs * this.#base.overloadFactor;
      return { ...pickup, limitMs: Number.isFinite(limitMs) ? limitMs : null };
    });
    return [...slices, ...limited].sort(byTime);
  }

  #addSlice(at: Instant, slice: Duration): void {
    this.#slices.push({ policy: this.#policy, kind: 'slice', atMs: this.#ms(at), sliceMs: toMs(slice) });
  }

  #ms(at: Instant): number {
    return toMs(between(this.#base.start, at));
  }
}

function byTime(left: SeriesRow, right: SeriesRow): number {
  return left.atMs - right.atMs;
}

function folded(slices: readonly SliceRow[]): readonly SliceRow[] {
  return slices.filter(
    (row, index) => index === slices.length - 1 || row.sliceMs !== slices[index - 1]?.sliceMs,
  );
}
