/**
 * One line of requests.jsonl: what became of one request under one policy. All times are milliseconds from the run's start (the
 * intended arrival of the earliest request), except those named as lengths; null where the request never got that far.
 *
 *   arrival      intended arrival; turnaround and queue delay count from here
 *   enqueue      the daemon had the request
 *   firstRun     its program's image was in place
 *   pickup       a FILTER worker first looked at it: promoted it, left it to the fair scheduler, or was denied
 *   end          its exit was seen;   turnaround = end - arrival
 *
 *   path         filter      in FILTER until it ended
 *                filter+cfs  in FILTER first, then under the fair scheduler: slice used up, or bypassed after a wake
 *                bypass      left to the fair scheduler at its first pick-up (overload)
 *                denied      the kernel refused real-time priority
 *                cfs         never picked up: the cfs policy, or it ended while queued
 *
 * A flat record with nulls, not optional fields: each line has the same columns, and so has requests.csv.
 */
import type { ExitStatus } from '../../contracts/function.js';
import type { ReplayOutcome, ReplayPolicy } from '../../contracts/replay.js';
import type { Decision } from '../../contracts/scheduler.js';
import type { Duration, Instant } from '../../contracts/time.js';
import { after, between, toMs } from '../../contracts/time.js';
import type { Application, WorkloadRequest } from '../workload/workload.js';
import { sleepTotal } from '../workload/workload.js';

export type Path = 'filter' | 'filter+cfs' | 'bypass' | 'cfs' | 'denied';
export const paths: readonly Path[] = ['filter', 'filter+cfs', 'bypass', 'cfs', 'denied'];

/** completed: exit code 0. failed: any other end. refused: never started, for want of room. lost: no answer by the drain limit. */
export type Fate = 'completed' | 'failed' | 'refused' | 'lost';
export const fates: readonly Fate[] = ['completed', 'failed', 'refused', 'lost'];

export interface RequestRecord {
  readonly policy: ReplayPolicy;
  readonly id: string;
  readonly functionName: string;
  readonly application: Application;
  readonly fate: Fate;
  /** For example `exited 0`, `signalled SIGKILL`, `timeout`; `refused` and `lost` for requests that have no exit. */
  readonly exit: string;
  /** An SfsdError code; null when there was none. */
  readonly errorCode: string | null;
  /** `generator`: its bound on requests in flight; the request was never sent. */
  readonly refusedBy: 'generator' | 'daemon' | null;
  readonly arrivalMs: number;
  readonly enqueueMs: number | null;
  readonly pickupMs: number | null;
  readonly firstRunMs: number | null;
  readonly endMs: number | null;
  readonly turnaroundMs: number | null;
  /** Turnaround alone on an idle host: demand + sleeps. */
  readonly idealMs: number;
  /** CPU time needed alone. */
  readonly demandMs: number;
  /** CPU time that it used. */
  readonly cpuMs: number | null;
  readonly path: Path | null;
  /** CPU time that the policy expected at its arrival; null: SFS expects nothing. */
  readonly predictedMs: number | null;
  /** S at the first pick-up. */
  readonly sliceMs: number | null;
  /** At the first pick-up. */
  readonly queueDelayMs: number | null;
  readonly demotions: number;
  readonly blocks: number;
  readonly bypassed: boolean;
  readonly voluntarySwitches: number | null;
  readonly involuntarySwitches: number | null;
  /** Issued minus intended: how late the generator was. */
  readonly lagMs: number;
}

/** What the generator knows of one request once the run is over. */
export interface Issued {
  readonly request: WorkloadRequest;
  readonly policy: ReplayPolicy;
  readonly lag: Duration;
  /** Absent: no answer by the drain limit. */
  readonly outcome?: ReplayOutcome;
  /** The bound on requests in flight was reached: it was not sent. */
  readonly held: boolean;
}

/** Codes that say "no room": the request had no effect and a later one may pass. */
const refusals: ReadonlySet<string> = new Set([
  'SFSD_ERR_QUEUE_FULL',
  'SFSD_ERR_FUNCTION_BUSY',
  'SFSD_ERR_STOPPING',
]);

export interface RecordBase {
  /** Time 0 of the run. */
  readonly start: Instant;
  /** O, to tell S from O x S in a bypass. */
  readonly overloadFactor: number;
}

export function recordOf(issued: Issued, base: RecordBase): RequestRecord {
  const { request, policy, lag, outcome } = issued;
  const fate = fateOf(issued);
  const known = {
    policy,
    id: request.id,
    functionName: request.functionName,
    application: request.application,
    fate,
    arrivalMs: toMs(request.arrival),
    idealMs: toMs(idealOf(request)),
    demandMs: toMs(request.demand),
    lagMs: toMs(lag),
  };
  if (outcome === undefined || fate === 'refused' || fate === 'lost') {
    const refusedBy = fate !== 'refused' ? null : issued.held ? 'generator' : 'daemon';
    return { ...known, ...nothingRan, exit: fate, errorCode: outcome?.errorCode ?? null, refusedBy };
  }
  const at = (time: Instant): number | null => (time === 0 ? null : toMs(between(base.start, time)));
  const arrivedAt = after(base.start, request.arrival);
  return {
    ...known,
    ...fateInScheduler(outcome.decisions, base),
    // FIFO's and RR's slices never end, Gittins' end at a bucket: they are no S.
    ...(policy === 'sfs' || policy === 'cfs' ? {} : { sliceMs: null }),
    predictedMs: policy === 'gittins' ? predictionOf(outcome.decisions) : null,
    exit: exitText(outcome.exit),
    errorCode: outcome.errorCode ?? null,
    refusedBy: null,
    enqueueMs: at(outcome.enqueuedAt),
    firstRunMs: at(outcome.startedAt),
    endMs: at(outcome.endedAt),
    turnaroundMs: outcome.endedAt === 0 ? null : toMs(between(arrivedAt, outcome.endedAt)),
    cpuMs: toMs(outcome.cpuTime),
    voluntarySwitches: outcome.voluntarySwitches,
    involuntarySwitches: outcome.involuntarySwitches,
  };
}

/** Turnaround on an idle host with a core of its own. */
export function idealOf(request: WorkloadRequest): Duration {
  return (request.demand + sleepTotal(request)) as Duration;
}

export function exitText(exit: ExitStatus): string {
  if (exit.kind === 'exited') return `exited ${exit.code}`;
  if (exit.kind === 'signalled') return `signalled ${exit.signal}`;
  return exit.kind;
}

const nothingRan = {
  enqueueMs: null,
  pickupMs: null,
  firstRunMs: null,
  endMs: null,
  turnaroundMs: null,
  cpuMs: null,
  path: null,
  predictedMs: null,
  sliceMs: null,
  queueDelayMs: null,
  demotions: 0,
  blocks: 0,
  bypassed: false,
  voluntarySwitches: null,
  involuntarySwitches: null,
} as const;

function fateOf({ outcome, held }: Issued): Fate {
  if (held) return 'refused';
  if (outcome === undefined) return 'lost';
  const { errorCode } = outcome;
  if (errorCode !== undefined && refusals.has(errorCode)) return 'refused';
  if (outcome.exit.kind === 'lost') return 'lost';
  if (errorCode !== undefined) return 'failed';
  return outcome.exit.kind === 'exited' && outcome.exit.code === 0 ? 'completed' : 'failed';
}

/** The life of one request as the decision table in contracts/scheduler.ts tells it. */
function fateInScheduler(decisions: readonly Decision[], base: RecordBase) {
  let pickup: Decision | undefined;
  let promotions = 0;
  let demotions = 0;
  let blocks = 0;
  let bypassed = false;
  let denied = false;
  for (const decision of decisions) {
    const { kind } = decision;
    if (kind === 'promoted') promotions += 1;
    else if (kind === 'demoted') demotions += 1;
    else if (kind === 'blocked') blocks += 1;
    else if (kind === 'bypassed') bypassed = true;
    else if (kind === 'denied') denied = true;
    if (kind === 'promoted' || kind === 'bypassed' || kind === 'denied') pickup ??= decision;
  }
  const demoted = demotions > 0 || bypassed;
  const path: Path = denied
    ? 'denied'
    : promotions === 0
      ? bypassed
        ? 'bypass'
        : 'cfs'
      : demoted
        ? 'filter+cfs'
        : 'filter';
  return {
    path,
    pickupMs: pickup === undefined ? null : toMs(between(base.start, pickup.at)),
    sliceMs: pickup === undefined ? null : sliceAt(pickup, base.overloadFactor),
    queueDelayMs: pickup === undefined ? null : queueDelayOf(pickup),
    demotions,
    blocks,
    bypassed,
  };
}

function predictionOf(decisions: readonly Decision[]): number | null {
  const arrived = decisions.find(({ kind }) => kind === 'arrived');
  return arrived === undefined ? null : toMs(arrived.value as Duration);
}

/** At a first promotion the slice left is all of S; a bypass records O x S. */
function sliceAt(pickup: Decision, overloadFactor: number): number | null {
  if (pickup.kind === 'promoted') return toMs(pickup.value as Duration);
  if (pickup.kind === 'bypassed') return toMs(pickup.extra as Duration) / overloadFactor;
  return null;
}

/** null: a denial does not record it. */
export function queueDelayOf(pickup: Decision): number | null {
  if (pickup.kind === 'promoted') return toMs(pickup.extra as Duration);
  if (pickup.kind === 'bypassed') return toMs(pickup.value as Duration);
  return null;
}
