/**
 * Open-loop replay of a compiled workload under one policy.
 *
 *   1. Every request is made before the run, body included; its deadline is start + arrival, start = now + startDelay.
 *   2. Each is issued at its deadline, whatever became of the ones before: a slow host does not slow the load down. Latency
 *      counts from the deadline, so that what the generator is late by is not hidden (no coordinated omission).
 *   3. At most `inFlightMax` are unanswered at once; one beyond it is not sent, and is recorded as refused by the generator.
 *   4. After the last one, answers are awaited for `drainLimitMs`; what has not come by then is lost, and is ignored if it comes.
 *
 * requested = issued + refused by the generator; each request has exactly one record.
 *
 * Rejected: closed loop (the load adapts to the policy and hides it, DESIGN section 4); relative gaps (each delay
 * adds up).
 */
import { assert, SfsdError } from '../../contracts/errors.js';
import type { StatusBody } from '../../contracts/http.js';
import type { ReplayOutcome, ReplayPolicy, ReplayRequest, Submit } from '../../contracts/replay.js';
import type { Clock, Duration, Instant } from '../../contracts/time.js';
import { after, between, duration, fromMs, instant, noTime, toMs } from '../../contracts/time.js';
import type { Workload, WorkloadHeader, WorkloadRequest } from '../workload/workload.js';
import type { RequestRecord } from './record.js';
import { recordOf } from './record.js';
import type { SeriesRow } from './series.js';
import { SeriesBuilder } from './series.js';
import type { SleepUntil } from './wait.js';

/** CPU time of the daemon, as its status tells it. */
export type DaemonCpu = StatusBody['cpu'];

export interface ReplayProgress {
  readonly policy: ReplayPolicy;
  readonly requested: number;
  readonly issued: number;
  readonly answered: number;
  readonly refused: number;
  /** From the run's start; negative before it. */
  readonly elapsedMs: number;
  /** When the last request is due. */
  readonly spanMs: number;
}

export interface ReplayOptions {
  readonly workload: Workload;
  readonly policy: ReplayPolicy;
  readonly submit: Submit;
  readonly clock: Clock;
  readonly sleepUntil: SleepUntil;
  /** The registered function that stands for the request, and what goes to its standard input. */
  readonly callOf: (request: WorkloadRequest) => { readonly functionName: string; readonly body: Uint8Array };
  /** Between the call and the first arrival: time for connections and caches to settle. */
  readonly startDelay: Duration;
  readonly drainLimitMs: number;
  readonly inFlightMax: number;
  /** At most ten times a second, and once at the end. */
  readonly onProgress?: (progress: ReplayProgress) => void;
  /** The daemon's O, the paper's 3 when absent; Infinity when the bypass is off. */
  readonly overloadFactor?: number;
  /** Asked before the first request and after the last answer. */
  readonly daemonCpu?: () => Promise<DaemonCpu>;
  /** CPU time of this process so far; for the report. */
  readonly generatorCpuMs?: () => number;
}

/** Dotted configuration keys and their values. */
export type RunSettings = Readonly<Record<string, unknown>>;

export interface ReplayRun {
  readonly policy: ReplayPolicy;
  readonly workload: WorkloadHeader;
  /** In the order of arrival; one for each request. */
  readonly records: readonly RequestRecord[];
  readonly series: readonly SeriesRow[];
  /** Requests that were sent. */
  readonly issued: number;
  /** First to last deadline. */
  readonly spanMs: number;
  /** Start to the last answer, or to the drain limit. */
  readonly elapsedMs: number;
  readonly overloadFactor: number;
  readonly daemonCpu?: { readonly before: DaemonCpu; readonly after: DaemonCpu };
  readonly generatorCpuMs?: number;
  /** Of the daemon, beside its defaults; absent: it ran already. */
  readonly settings?: RunSettings;
}

const overloadFactorPaper = 3;
const progressEvery = fromMs(100);

export async function replay(options: ReplayOptions): Promise<ReplayRun> {
  const cpuBefore = await options.daemonCpu?.();
  const ownBefore = options.generatorCpuMs?.();
  const run = new Run(options);
  await run.issueAll();
  await run.drain();
  const finished = run.finish();
  const ownAfter = options.generatorCpuMs?.();
  const cpuAfter = await options.daemonCpu?.();
  return {
    ...finished,
    ...(cpuBefore !== undefined && cpuAfter !== undefined
      ? { daemonCpu: { before: cpuBefore, after: cpuAfter } }
      : {}),
    ...(ownBefore !== undefined && ownAfter !== undefined ? { generatorCpuMs: ownAfter - ownBefore } : {}),
  };
}

/** One request: made before the run, filled in by it. */
interface Slot {
  readonly request: WorkloadRequest;
  readonly message: ReplayRequest;
  lag: Duration;
  held: boolean;
  outcome: ReplayOutcome | undefined;
}

class Run {
  readonly #options: ReplayOptions;
  readonly #slots: readonly Slot[];
  readonly #start: Instant;
  readonly #allAnswered = new AbortController();
  #issued = 0;
  #answered = 0;
  #refused = 0;
  #issuing = true;
  #closed = false;
  #lastAnswerAt: Instant;
  #progressDue: Instant;

  constructor(options: ReplayOptions) {
    this.#options = options;
    // Bodies are made first: their cost must not eat up the start delay of a large workload.
    const calls = options.workload.requests.map((request) => ({ request, call: options.callOf(request) }));
    this.#start = after(options.clock.now(), options.startDelay);
    this.#slots = calls.map(({ request, call }) => ({
      request,
      message: {
        id: request.id,
        functionName: call.functionName,
        arrivedAt: after(this.#start, request.arrival),
        policy: options.policy,
        body: call.body,
      },
      lag: noTime,
      held: false,
      outcome: undefined,
    }));
    this.#lastAnswerAt = this.#start;
    this.#progressDue = instant(0);
  }

  async issueAll(): Promise<void> {
    const { clock, sleepUntil, inFlightMax } = this.#options;
    for (const slot of this.#slots) {
      await sleepUntil(slot.message.arrivedAt);
      slot.lag = between(slot.message.arrivedAt, clock.now());
      if (this.#issued - this.#answered >= inFlightMax) {
        slot.held = true;
        this.#refused += 1;
      } else {
        this.#issue(slot);
      }
      this.#progress();
    }
    this.#issuing = false;
    this.#settle();
  }

  async drain(): Promise<void> {
    const { clock, sleepUntil, drainLimitMs } = this.#options;
    const limit = after(clock.now(), fromMs(drainLimitMs));
    if (!this.#allAnswered.signal.aborted) await sleepUntil(limit, this.#allAnswered.signal);
    this.#closed = true;
    if (this.#answered < this.#issued) this.#lastAnswerAt = clock.now();
    this.#progressDue = instant(0);
    this.#progress();
  }

  finish(): ReplayRun {
    const { workload, policy, overloadFactor = overloadFactorPaper } = this.#options;
    const base = { start: this.#start, overloadFactor };
    const series = new SeriesBuilder(policy, base);
    const records = this.#slots.map(({ request, lag, held, outcome }) => {
      if (outcome !== undefined) series.add(request.id, outcome.decisions);
      return recordOf({ request, policy, lag, held, ...(outcome === undefined ? {} : { outcome }) }, base);
    });
    assert(this.#issued + this.#refused === workload.requests.length, 'every request was issued or refused');
    return {
      policy,
      workload: workload.header,
      records,
      series: series.rows(),
      issued: this.#issued,
      spanMs: this.#spanMs(),
      elapsedMs: toMs(between(this.#start, this.#lastAnswerAt)),
      overloadFactor,
    };
  }

  #issue(slot: Slot): void {
    this.#issued += 1;
    this.#options.submit(slot.message).then(
      (outcome) => this.#answer(slot, outcome),
      (thrown: unknown) => this.#answer(slot, brokenAnswer(thrown)),
    );
  }

  #answer(slot: Slot, outcome: ReplayOutcome): void {
    if (this.#closed) return;
    slot.outcome = outcome;
    this.#answered += 1;
    this.#lastAnswerAt = this.#options.clock.now();
    this.#progress();
    this.#settle();
  }

  #settle(): void {
    if (!this.#issuing && this.#answered === this.#issued) this.#allAnswered.abort();
  }

  #progress(): void {
    const { onProgress, clock, policy } = this.#options;
    if (onProgress === undefined) return;
    const now = clock.now();
    if (now < this.#progressDue) return;
    this.#progressDue = after(now, progressEvery);
    onProgress({
      policy,
      requested: this.#slots.length,
      issued: this.#issued,
      answered: this.#answered,
      refused: this.#refused,
      elapsedMs: toMs(between(this.#start, now)),
      spanMs: this.#spanMs(),
    });
  }

  #spanMs(): number {
    const last = this.#slots.at(-1);
    return last === undefined ? 0 : toMs(last.request.arrival);
  }
}

/** `Submit` never rejects; when it does all the same, the run goes on and the request counts as lost. */
function brokenAnswer(thrown: unknown): ReplayOutcome {
  const never = instant(0);
  return {
    exit: { kind: 'lost' },
    errorCode: thrown instanceof SfsdError ? thrown.code : 'SFSD_ERR_INTERNAL',
    enqueuedAt: never,
    startedAt: never,
    endedAt: never,
    cpuTime: duration(0),
    voluntarySwitches: 0,
    involuntarySwitches: 0,
    decisions: [],
  };
}
