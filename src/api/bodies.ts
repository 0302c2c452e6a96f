/**
 * From what the daemon knows to the bodies of contracts/http.ts: instants and durations become milliseconds, bytes base64.
 */
import type { ExitStatus, LaunchOutcome } from '../contracts/function.js';
import type { DecisionBody, ExplanationBody, ResultBody, StatusBody } from '../contracts/http.js';
import type { PolicyName } from '../contracts/invocation.js';
import type { ResourceView } from '../contracts/resources.js';
import type { Decision } from '../contracts/scheduler.js';
import type { Explanation, SchedulingStatus, WorkerStatus } from '../contracts/scheduling-plane.js';
import { between, type Instant, toMs } from '../contracts/time.js';
import type { ApiPorts } from './ports.js';

export function exitText(exit: ExitStatus): string {
  switch (exit.kind) {
    case 'exited':
      return `exited ${exit.code}`;
    case 'signalled':
      return `signalled ${exit.signal}`;
    default:
      return exit.kind;
  }
}

export function turnaroundMs(outcome: LaunchOutcome): number {
  return toMs(between(outcome.arrivedAt, outcome.endedAt));
}

/** One finished run of a function, as the routes hand it around. */
export interface FinishedRun {
  readonly source: string;
  readonly id: string;
  readonly functionName: string;
  readonly ownerUid: number | undefined;
  /** When the daemon had the whole request. */
  readonly enqueuedAt: Instant;
  readonly outcome: LaunchOutcome;
}

export function resultBody(run: FinishedRun, decisions: readonly DecisionBody[]): ResultBody {
  const { outcome } = run;
  return {
    id: run.id,
    source: run.source,
    functionName: run.functionName,
    exit: exitText(outcome.exit),
    stdoutBase64: base64(outcome.stdout),
    stderrBase64: base64(outcome.stderr),
    truncated: outcome.truncated,
    arrivedAtMs: atMs(outcome.arrivedAt),
    enqueuedAtMs: atMs(run.enqueuedAt),
    startedAtMs: atMs(outcome.startedAt),
    endedAtMs: atMs(outcome.endedAt),
    turnaroundMs: turnaroundMs(outcome),
    cpuMs: outcome.cpuMs,
    voluntarySwitches: outcome.voluntarySwitches,
    involuntarySwitches: outcome.involuntarySwitches,
    rssMaxBytes: outcome.rssMaxBytes,
    decisions,
  };
}

export function decisionBody(decision: Decision): DecisionBody {
  return {
    kind: decision.kind,
    atMs: atMs(decision.at),
    worker: decision.worker,
    cpuMs: toMs(decision.cpuTime),
    value: decision.value,
    extra: decision.extra,
  };
}

export function explanationBody(
  { invocation, state, decisions, incomplete }: Explanation,
  defaultPolicy: PolicyName,
  result: ResultBody | undefined,
): ExplanationBody {
  return {
    id: invocation.id,
    source: invocation.source,
    functionName: invocation.functionName,
    policy: invocation.policy ?? defaultPolicy,
    state,
    arrivedAtMs: atMs(invocation.arrivedAt),
    ...(result === undefined ? {} : { result }),
    decisions: decisions.map(decisionBody),
    incomplete,
  };
}

export function statusBody(ports: ApiPorts, resources: ResourceView): StatusBody {
  const status = ports.plane.status();
  const now = ports.plane.now();
  return {
    version: ports.version,
    pid: process.pid,
    uptimeMs: process.uptime() * 1000,
    stopping: ports.stopping(),
    mode: status.mode,
    ...(status.modeReason === undefined ? {} : { modeReason: status.modeReason }),
    targets: status.targets,
    protection: ports.protection(),
    policy: status.defaultPolicy,
    sliceMs: toMs(status.slice),
    workers: status.workers.map((worker) => workerBody(worker, now)),
    queueLength: status.queueLength,
    live: status.live,
    liveMax: status.liveMax,
    blocked: status.blocked,
    budget: { paused: status.paused, usedShare: status.budgetUsed, maxShare: status.budgetShare },
    counters: { ...status.counters },
    decisionsLost: status.decisionsLost,
    loop: loopBody(status),
    cpu: cpuBody(status),
    functions: { registered: ports.functions.list().length, running: ports.functions.runningCount() },
    store: ports.store.status(),
    ffi: ports.ffi,
    guard: ports.guard(),
    resources: { atMs: atMs(resources.at), functions: resources.functions, others: resources.others },
  };
}

function workerBody({ worker, invocation }: WorkerStatus, now: Instant): StatusBody['workers'][number] {
  if (invocation === undefined) return { worker };
  const { id, source, functionName, since, rank } = invocation;
  const forMs = toMs(between(since, now));
  const rankMs = rank === undefined ? {} : { rankMs: toMs(rank) };
  return { worker, invocation: { id, source, functionName, forMs, ...rankMs } };
}

function loopBody({ loop }: SchedulingStatus): StatusBody['loop'] {
  return {
    samples: loop.samples,
    lateP50Ms: toMs(loop.lateP50),
    lateP99Ms: toMs(loop.lateP99),
    lateMaxMs: toMs(loop.lateMax),
  };
}

function cpuBody({ cpu }: SchedulingStatus): StatusBody['cpu'] {
  const used = cpu.polling + cpu.scheduling + cpu.control + cpu.spawner;
  const all = cpu.elapsed * cpu.cores;
  return {
    cores: cpu.cores,
    elapsedMs: toMs(cpu.elapsed),
    pollingMs: toMs(cpu.polling),
    schedulingMs: toMs(cpu.scheduling),
    controlMs: toMs(cpu.control),
    spawnerMs: toMs(cpu.spawner),
    hostShare: all > 0 ? used / all : 0,
  };
}

function atMs(at: Instant): number {
  return at / 1000;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
