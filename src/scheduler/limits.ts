/**
 * Constants of the policy that no operator sets.
 */
import { type Duration, duration, type Instant, instant } from '../contracts/time.js';

/** Later than every instant: a timer that is not set. */
export const never: Instant = instant(Number.POSITIVE_INFINITY);

/**
 * An unused slice up to this is not worth another turn, and no slice timer is shorter. A promotion and its demotion cost
 * some microseconds a thread and two switches; half a millisecond keeps that near 1%, and half of it is the most by which a
 * slice may end late (1 ms at the 99th percentile).
 */
export const sliceRest: Duration = duration(500);
