/**
 * The policy's rules again, as simple and slow as they can be written: whole histories, plain arrays, no shared code.
 */
import type { ModelEvent } from '../scheduler/model-kernel.js';

export interface Counted {
  /** The arrival's own time. */
  readonly at: number;
  /** When it came to be counted. */
  readonly countedAt: number;
  /** Among those counted at one time, the lower is first. */
  readonly order: number;
}

export interface NaiveSliceRule {
  readonly window: number;
  readonly workers: number;
  readonly sliceInitial: number;
  readonly sliceMin: number;
  readonly sliceMax: number;
  readonly gapMax: number;
}

/** S from all arrivals there ever were. */
export function naiveSlice(arrivals: readonly Counted[], rule: NaiveSliceRule): number {
  const inOrder = [...arrivals].sort(
    (left, right) => left.countedAt - right.countedAt || left.order - right.order,
  );
  const gaps = inOrder.slice(1).map((arrival, index) => {
    const latestBefore = Math.max(...inOrder.slice(0, index + 1).map((earlier) => earlier.at));
    return Math.min(rule.gapMax, Math.max(0, arrival.at - latestBefore));
  });
  const windows = Math.floor(gaps.length / rule.window);
  if (windows === 0) return rule.sliceInitial;
  const last = gaps.slice((windows - 1) * rule.window, windows * rule.window);
  const mean = last.reduce((total, gap) => total + gap, 0) / rule.window;
  return Math.min(rule.sliceMax, Math.max(rule.sliceMin, Math.round(mean * rule.workers)));
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** When at least one group was promoted, by the kernel's own account. */
export function busySpans(events: readonly ModelEvent[], until: number): Span[] {
  const promoted = new Set<number>();
  const spans: Span[] = [];
  let since = 0;
  for (const event of events) {
    const before = promoted.size;
    if (event.kind === 'promote') promoted.add(event.pid);
    if (event.kind === 'pause' || event.kind === 'demote' || event.kind === 'exit')
      promoted.delete(event.pid);
    if (before === 0 && promoted.size > 0) since = event.at;
    if (before > 0 && promoted.size === 0) spans.push({ from: since, to: event.at });
  }
  if (promoted.size > 0) spans.push({ from: since, to: until });
  return spans;
}

/** Time that the spans cover between two instants; they do not overlap. */
export function usedIn(spans: readonly Span[], from: number, to: number): number {
  return spans.reduce(
    (total, span) => total + Math.max(0, Math.min(span.to, to) - Math.max(span.from, from)),
    0,
  );
}

/** The most busy time in any window: the worst window ends with a span or starts with one. */
export function busiestWindow(spans: readonly Span[], window: number): number {
  const starts = spans.flatMap((span) => [span.from, span.to - window]);
  return Math.max(0, ...starts.map((start) => usedIn(spans, start, start + window)));
}
