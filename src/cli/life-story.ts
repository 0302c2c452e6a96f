/**
 * Decisions to sentences. What `value` and `extra` mean for each kind is the table in contracts/scheduler.ts; this file is that
 * table in words.
 */
import type { DecisionBody, ExplanationBody } from '../contracts/http.js';
import { endReasons, lifeStates } from '../contracts/scheduler.js';
import { microsecondsText, timeText } from './quantities.js';

export interface Sentence {
  /** Since the invocation's arrival. */
  readonly afterMs: number;
  readonly text: string;
}

export function lifeStory(body: ExplanationBody): Sentence[] {
  return body.decisions.map((decision) => ({
    afterMs: decision.atMs - body.arrivedAtMs,
    text: sentence(decision, body),
  }));
}

function sentence(decision: DecisionBody, body: ExplanationBody): string {
  const { kind, worker, cpuMs, value, extra } = decision;
  const used = timeText(cpuMs);
  const isRanked = body.policy === 'gittins';
  switch (kind) {
    case 'arrived':
      return isRanked
        ? `Arrived: ${countText(extra)} waited in the queue, and it was expected to use ${microsecondsText(value)} of CPU.`
        : `Arrived: ${countText(extra)} waited in the queue before it, S was ${microsecondsText(value)}.`;
    case 'promoted':
      return `Promoted to SCHED_FIFO on worker ${worker} after a delay of ${microsecondsText(extra)}, with ${microsecondsText(value)} of its ${isRanked ? 'turn' : 'slice'} left.`;
    case 'demoted':
      return `Demoted after ${used} of CPU: its slice of ${microsecondsText(extra)} was used up, by ${microsecondsText(value)} too much. The fair scheduler runs it from here on.`;
    case 'blocked':
      return `Blocked after ${used} of CPU: all of its threads sleep. It gave its worker back and keeps ${microsecondsText(value)} of its slice.`;
    case 'woken':
      return `Woken after ${microsecondsText(extra)} asleep: it queues again with ${microsecondsText(value)} of its slice left.`;
    case 'bypassed':
      return `Bypassed: it had waited ${microsecondsText(value)}, which is at least O x S = ${microsecondsText(extra)}. The host was overloaded, so the fair scheduler got it for good.`;
    case 'preempted':
      return `Preempted after ${used} of CPU: an invocation that is expected to be done sooner took its worker. It waits again.`;
    case 'denied':
      return 'Denied: the kernel did not let us make it real-time. The fair scheduler runs it; `sfsd doctor` shows why.';
    case 'paused':
      return `FILTER paused: ${microsecondsText(value)} of this window were spent in SCHED_FIFO, all that the budget allows.`;
    case 'resumed':
      return `FILTER resumed after a pause of ${microsecondsText(value)}.`;
    case 'sliced':
      return `S became ${microsecondsText(value)}: invocations arrived every ${microsecondsText(extra)} on average.`;
    case 'ended':
      return `Ended: it ${endText(value)} after ${spentText(decision, body)}, while ${stateText(extra)}.`;
  }
}

/** One line: what happened to it and whether that is how SFS means it. */
export function verdict(body: ExplanationBody): string {
  const counts = new Map<string, number>();
  for (const { kind } of body.decisions) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const last = body.decisions.at(-1);
  const ended = last?.kind === 'ended' ? last : undefined;
  return `${pathText(counts, ended)}${timingText(body, ended)}`;
}

function pathText(counts: ReadonlyMap<string, number>, last: DecisionBody | undefined): string {
  const ended = last !== undefined;
  const had = (kind: string): boolean => (counts.get(kind) ?? 0) > 0;
  if (had('denied')) return 'it could not be made real-time and was left to the fair scheduler';
  if (had('bypassed')) return 'the host was overloaded, so it was left to the fair scheduler';
  if (had('demoted'))
    return `long: it used up its slice in FILTER and ${finish(last)} under the fair scheduler`;
  if (had('promoted')) {
    const sleeps = counts.get('blocked') ?? 0;
    const pauses = sleeps === 0 ? '' : `, asleep ${sleeps === 1 ? 'once' : `${sleeps} times`} in between`;
    return ended ? `short: it ran to its end in FILTER${pauses}` : `it is served by FILTER${pauses}`;
  }
  return ended
    ? 'it was never promoted: it ended before its turn, or its policy is cfs'
    : 'it has not been promoted yet: it waits for its turn, or its policy is cfs';
}

function timingText(body: ExplanationBody, ended: DecisionBody | undefined): string {
  if (ended === undefined) return '.';
  const turnaroundMs = body.result?.turnaroundMs ?? ended.atMs - body.arrivedAtMs;
  const cpuMs = spentMs(ended, body);
  const share = cpuMs > 0 && turnaroundMs > 0 ? ` (${Math.round((cpuMs / turnaroundMs) * 100)}%)` : '';
  return `; turnaround ${timeText(turnaroundMs)} for ${spentText(ended, body)}${share}.`;
}

/** The kernel's account of a function that the daemon launched; of others what was read last. */
function spentMs(ended: DecisionBody, body: ExplanationBody): number {
  return body.result?.cpuMs ?? ended.cpuMs;
}

/** A process that lives for less than a poll ends before its clock was ever read. */
function spentText(ended: DecisionBody, body: ExplanationBody): string {
  const cpuMs = spentMs(ended, body);
  return cpuMs === 0 ? 'too little CPU to be seen' : `${timeText(cpuMs)} of CPU`;
}

function finish(ended: DecisionBody | undefined): string {
  if (ended === undefined) return 'goes on';
  return endReasons[ended.value] === 'cancelled' ? 'was cancelled' : 'finished';
}

function countText(count: number): string {
  return count === 0 ? 'nobody' : count === 1 ? '1 invocation' : `${count} invocations`;
}

function endText(reason: number): string {
  const name = endReasons[reason];
  if (name === 'completed') return 'was reported completed';
  if (name === 'cancelled') return 'was cancelled';
  return 'exited';
}

function stateText(state: number): string {
  switch (lifeStates[state]) {
    case 'queued':
      return 'it waited in the queue';
    case 'filter':
      return 'it held a FILTER worker';
    case 'blocked':
      return 'it slept';
    default:
      return 'the fair scheduler ran it';
  }
}
