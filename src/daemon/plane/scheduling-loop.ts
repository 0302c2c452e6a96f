/**
 * The scheduling plane's loop, apart from the thread that runs it.
 *
 *   1. sleep in one kernel wait until the nearest of: a message (eventfd), an exit (pidfd), the policy's next instant
 *   2. beat once for the guard. If one has demoted everything meanwhile, we were stopped or stalled: what is held goes back to the queue
 *   3. exits first: they free workers for what comes next
 *   4. messages from the ring, at most `messagesPerTurn`, so that a flood of submissions cannot hold up a slice end
 *   5. one tick of the policy: it does all that is due and says when to be called again
 *   6. publish the view; charge the CPU time since the last turn, the sleep's own included, to polling (the policy polled /proc) or to scheduling
 *
 * An error ends the loop, and the policy is drained on the way out, so that a crash here leaves no task real-time.
 */

import type { EndReason, InvocationKey } from '../../contracts/invocation.js';
import {
  type Admission,
  type DecisionLog,
  endReasons,
  lifeStates,
  type Scheduler,
} from '../../contracts/scheduler.js';
import {
  after,
  between,
  type Clock,
  type Duration,
  difference,
  fromMs,
  type Instant,
  instant,
  noTime,
} from '../../contracts/time.js';

import type { PlaneState } from './plane-state.js';
import type { SubmissionReader } from './submission-ring.js';

/** Taken from the ring between two ticks. 256 messages cost about 1 ms at most. */
const messagesPerTurn = 256;
/**
 * A thread that sleeps in a system call cannot be ended from outside: without a bound a main thread that fails and cannot even ring
 * would wait for it. Well below the second after which a loop counts as stalled; each idle turn costs a quarter of a millisecond.
 */
const waitMax = fromMs(400);

export interface LoopPorts {
  readonly clock: Clock;
  readonly scheduler: Scheduler & { setWorkers(count: number): void; takeBack(): void };
  readonly reader: SubmissionReader;
  readonly log: DecisionLog;
  readonly state: PlaneState;
  /** Sleeps until `until` (undefined: until an event); returns how many events are ready. */
  wait(until: Instant | undefined): number;
  /** The invocation whose group has ended by event `index`, undefined when the event is something else. */
  endedAt(index: number): InvocationKey | undefined;
  /** Says that the loop turns. True: everything was demoted by a guard since the last. */
  beat(): boolean;
  /** Nothing lives and nothing was said for a whole wait: time for what would be in the way later. */
  rest(): void;
  /** Called once, when status can be read and messages will be taken. */
  ready(): void;
  /** CPU time of this thread. */
  cpuTime(): Duration;
}

/** Runs until a stop message. */
export function runSchedulingLoop(ports: LoopPorts): void {
  try {
    ports.state.publish(ports.scheduler.view);
    ports.ready();
    let next: Instant | undefined;
    let stopped = false;
    let backlog = false;
    let charged = ports.cpuTime();
    while (!stopped) {
      const events = sleep(ports, { until: next, backlog });
      const pollsBefore = ports.scheduler.view.counters.polls;
      if (ports.beat()) ports.scheduler.takeBack();
      for (let index = 0; index < events; index += 1) {
        const key = ports.endedAt(index);
        if (key !== undefined) ports.scheduler.end(key, 'exited');
      }
      const taken = takeMessages(ports);
      stopped = taken === 'stop';
      backlog = taken === 'more';
      const idle = events === 0 && next === undefined;
      next = ports.scheduler.tick();
      ports.state.publish(ports.scheduler.view);
      const used = ports.cpuTime();
      charge(ports, { spent: difference(used, charged), pollsBefore });
      charged = used;
      if (idle && next === undefined) ports.rest();
    }
  } finally {
    ports.scheduler.drain();
    ports.state.publish(ports.scheduler.view);
  }
}

function sleep(
  ports: LoopPorts,
  { until, backlog }: { until: Instant | undefined; backlog: boolean },
): number {
  if (backlog || !ports.reader.fallAsleep()) return ports.wait(instant(0));
  const longest = after(ports.clock.now(), waitMax);
  const events = ports.wait(until === undefined || until > longest ? longest : until);
  ports.reader.wakeUp();
  if (events > 0 || until === undefined) return events;
  const late = between(until, ports.clock.now());
  if (late >= 0) ports.state.recordLateness(late);
  return events;
}

function takeMessages({ reader, scheduler, clock, log }: LoopPorts): 'all' | 'more' | 'stop' {
  for (let taken = 0; taken < messagesPerTurn; taken += 1) {
    const message = reader.next();
    if (message === undefined) return 'all';
    switch (message.type) {
      case 'submit':
      case 'begin': {
        const { submission } = message;
        const answer = message.type === 'submit' ? scheduler.submit(submission) : scheduler.begin(submission);
        if (answer !== 'ok') refuse({ log, at: clock.now(), key: submission.key, answer });
        break;
      }
      case 'end':
        scheduler.end(message.key, message.reason);
        break;
      case 'workers':
        scheduler.setWorkers(message.count);
        break;
      case 'stop':
        return 'stop';
    }
  }
  return 'more';
}

/** A submission that the policy did not take ends at once, so that the control plane gives its place back. */
function refuse(refusal: {
  readonly log: DecisionLog;
  readonly at: Instant;
  readonly key: InvocationKey;
  readonly answer: Exclude<Admission, 'ok'>;
}): void {
  const { log, at, key, answer } = refusal;
  const reason: EndReason = answer === 'gone' ? 'exited' : 'cancelled';
  if (answer === 'denied') log.record('denied', at, key, -1, noTime, 0, 0);
  log.record('ended', at, key, -1, noTime, endReasons.indexOf(reason), lifeStates.indexOf('fair'));
}

function charge(ports: LoopPorts, turn: { readonly spent: Duration; readonly pollsBefore: number }): void {
  const polled = ports.scheduler.view.counters.polls > turn.pollsBefore;
  const name = polled ? 'polling' : 'scheduling';
  ports.state.set(name, ports.state.get(name) + turn.spent);
  ports.state.set('turns', ports.state.get('turns') + 1);
}
