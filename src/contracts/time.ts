/**
 * Time as every room sees it: integer microseconds, branded so that an instant cannot be added to an instant.
 * All casts between numbers and the two brands live in this file. A double holds microseconds exactly for 285 years.
 */

declare const instantBrand: unique symbol;
declare const durationBrand: unique symbol;

/** A point on the host's CLOCK_MONOTONIC, in integer microseconds. */
export type Instant = number & { readonly [instantBrand]: true };

/** A length of time, in integer microseconds; may be negative where a difference is. */
export type Duration = number & { readonly [durationBrand]: true };

/** Monotonic time. Real in linux/, simulated in tests and in the simulator. */
export interface Clock {
  now(): Instant;
}

/** A steady pace, shared by all that keep it. */
export interface Tick {
  /** `work` is called at each tick, first at the next one. @returns how to leave; idempotent. */
  join(work: () => void): () => void;
}

export const noTime = 0 as Duration;

/** @param microseconds integer or not: rounded to the nearest microsecond. */
export function instant(microseconds: number): Instant {
  return Math.round(microseconds) as Instant;
}

/** @param microseconds integer or not: rounded to the nearest microsecond. */
export function duration(microseconds: number): Duration {
  return Math.round(microseconds) as Duration;
}

export function fromMs(milliseconds: number): Duration {
  return Math.round(milliseconds * 1000) as Duration;
}

export function toMs(time: Duration): number {
  return time / 1000;
}

export function after(start: Instant, length: Duration): Instant {
  return (start + length) as Instant;
}

/** `later - earlier`. */
export function between(earlier: Instant, later: Instant): Duration {
  return (later - earlier) as Duration;
}

export function sum(left: Duration, right: Duration): Duration {
  return (left + right) as Duration;
}

export function difference(left: Duration, right: Duration): Duration {
  return (left - right) as Duration;
}

export function scaled(time: Duration, factor: number): Duration {
  return Math.round(time * factor) as Duration;
}

export function clampDuration(
  time: Duration,
  bounds: { readonly min: Duration; readonly max: Duration },
): Duration {
  return time < bounds.min ? bounds.min : time > bounds.max ? bounds.max : time;
}

export function earliest(left: Instant | undefined, right: Instant | undefined): Instant | undefined {
  if (left === undefined) return right;
  if (right === undefined) return left;
  return left < right ? left : right;
}
