/**
 * Arrivals from counts per minute, as the Azure 2019 trace gives them.
 *
 * A minute with n invocations gets n gaps, rescaled to sum to exactly 60 s, so that n arrivals fall into it and no more. The
 * arrivals are the sums of the gaps before them: the first would always fall on the minute's first instant, in every function at
 * once, a burst that the trace does not have. So each minute is rotated by a random shift.
 */
import { type Duration, duration } from '../../contracts/time.js';
import type { RandomStream } from './random.js';

export const minuteLength = duration(60_000_000);

/** How arrivals lie inside a minute. */
export type WithinMinute = 'exponential' | 'uniform' | 'equidistant';

export const withinMinuteKinds: readonly WithinMinute[] = ['exponential', 'uniform', 'equidistant'];

export interface MinuteOptions {
  readonly within: WithinMinute;
  /** Rotate each minute at random; false for tests of the gaps themselves. */
  readonly shift: boolean;
}

/** `count` gaps in integer us that sum to exactly 60 s. */
export function minuteGaps(count: number, within: WithinMinute, random: RandomStream): readonly Duration[] {
  const weights = Array.from({ length: count }, () => {
    if (within === 'equidistant') return 1;
    return within === 'exponential' ? random.exponential() : random.uniform();
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let passed = 0;
  let placed = 0;
  return weights.map((weight, index) => {
    passed += weight;
    const end = index === count - 1 ? minuteLength : Math.round((minuteLength * passed) / total);
    const gap = duration(end - placed);
    placed = end;
    return gap;
  });
}

/** Offsets in [0, 60 s), ascending, exactly `count` of them. */
export function arrivalsInMinute(
  count: number,
  { within, shift }: MinuteOptions,
  random: RandomStream,
): readonly Duration[] {
  let offset = shift ? random.below(minuteLength) : 0;
  const offsets = minuteGaps(count, within, random).map((gap) => {
    const at = duration(offset % minuteLength);
    offset += gap;
    return at;
  });
  return offsets.sort((left, right) => left - right);
}

/** Arrivals of one function from the first minute's start: the count of every minute is kept exactly. */
export function arrivalsOf(
  counts: ArrayLike<number>,
  options: MinuteOptions,
  random: RandomStream,
): readonly Duration[] {
  const arrivals: Duration[] = [];
  for (let minute = 0; minute < counts.length; minute += 1) {
    for (const offset of arrivalsInMinute(counts[minute] ?? 0, options, random)) {
      arrivals.push(duration(minute * minuteLength + offset));
    }
  }
  return arrivals;
}
