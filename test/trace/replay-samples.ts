/**
 * Small workloads, outcomes and records for the tests of replay and report. Times in milliseconds.
 */

import { invocationKey } from '../../src/contracts/invocation.js';
import type { ReplayOutcome, ReplayPolicy } from '../../src/contracts/replay.js';
import type { Decision, DecisionKind } from '../../src/contracts/scheduler.js';
import { after, duration, fromMs, type Instant, instant } from '../../src/contracts/time.js';
import type { SummaryContext } from '../../src/trace/replay/comparison.js';
import type { RequestRecord } from '../../src/trace/replay/record.js';
import type { ReplayRun } from '../../src/trace/replay/replay.js';
import type { Workload, WorkloadHeader, WorkloadRequest } from '../../src/trace/workload/workload.js';

export function sampleHeader(changes: Partial<WorkloadHeader> = {}): WorkloadHeader {
  return {
    format: 'sfsd-workload',
    version: 1,
    requests: 3,
    seed: 7,
    source: 'table',
    gaps: 'poisson',
    durationScale: 0.5,
    cores: 2,
    loadTarget: 1,
    loadRealised: 1.003,
    demandMean: fromMs(100),
    gapCv: 1.02,
    shortBelow: fromMs(200),
    ...changes,
  };
}

export interface SampleRequest {
  readonly arrivalMs: number;
  readonly demandMs?: number;
  readonly sleepMs?: number;
  readonly functionName?: string;
}

export function sampleWorkload(samples: readonly SampleRequest[]): Workload {
  const requests = samples.map(
    ({ arrivalMs, demandMs = 10, sleepMs = 0, functionName = 'burn-1' }, index): WorkloadRequest => ({
      id: `r${index}`,
      functionName,
      application: 'burn',
      arrival: fromMs(arrivalMs),
      demand: fromMs(demandMs),
      sleeps: sleepMs === 0 ? [] : [{ at: fromMs(1), length: fromMs(sleepMs) }],
    }),
  );
  return { header: sampleHeader({ requests: requests.length }), requests };
}

export function sampleOutcome(arrivedAt: Instant, turnaroundMs: number, cpuMs = turnaroundMs): ReplayOutcome {
  return {
    exit: { kind: 'exited', code: 0 },
    enqueuedAt: after(arrivedAt, fromMs(0.5)),
    startedAt: after(arrivedAt, fromMs(1)),
    endedAt: after(arrivedAt, fromMs(turnaroundMs)),
    cpuTime: fromMs(cpuMs),
    voluntarySwitches: 1,
    involuntarySwitches: 2,
    decisions: [],
  };
}

export function sampleDecision(
  kind: DecisionKind,
  atMs: number,
  { valueMs = 0, extraMs = 0 }: { readonly valueMs?: number; readonly extraMs?: number } = {},
): Decision {
  return {
    kind,
    at: instant(atMs * 1000),
    key: invocationKey(1),
    worker: 0,
    cpuTime: duration(0),
    value: valueMs * 1000,
    extra: extraMs * 1000,
  };
}

export function sampleRecord(changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    policy: 'sfs',
    id: 'r0',
    functionName: 'burn-1',
    application: 'burn',
    fate: 'completed',
    exit: 'exited 0',
    errorCode: null,
    refusedBy: null,
    arrivalMs: 0,
    enqueueMs: 0.5,
    pickupMs: null,
    firstRunMs: 1,
    endMs: 20,
    turnaroundMs: 20,
    idealMs: 10,
    demandMs: 10,
    cpuMs: 10,
    path: 'filter',
    predictedMs: null,
    sliceMs: null,
    queueDelayMs: null,
    demotions: 0,
    blocks: 0,
    bypassed: false,
    voluntarySwitches: 1,
    involuntarySwitches: 2,
    lagMs: 0.1,
    ...changes,
  };
}

export function sampleRun(policy: ReplayPolicy, records: readonly Partial<RequestRecord>[]): ReplayRun {
  return {
    policy,
    workload: sampleHeader({ requests: records.length }),
    records: records.map((changes, index) => sampleRecord({ id: `r${index}`, policy, ...changes })),
    series: [],
    issued: records.filter((record) => record.refusedBy !== 'generator').length,
    spanMs: 100,
    elapsedMs: 150,
    overloadFactor: 3,
  };
}

export const sampleContext: SummaryContext = {
  host: {
    kernel: '6.1.0-31-amd64',
    cpuModel: 'Example CPU',
    cores: 2,
    memoryBytes: 8 * 2 ** 30,
    node: '20.20.0',
    sfsd: '0.1.0',
    roundRobinQuantumMs: 100,
  },
  command: 'sfsd replay --seed 7',
  createdAt: '2026-01-02T03:04:05.000Z',
};

/**
 * Two short and one long function. Under CFS 40, 60 and 500 ms, under SFS 15, 25 and 600 ms, where IDEAL is 10, 20 and 300.
 * Excess removed of the short ones: (50 - 20) / (50 - 15) = 0.857.
 */
export function samplePair(): readonly ReplayRun[] {
  const ideal = [
    { idealMs: 10, demandMs: 10 },
    { idealMs: 20, demandMs: 20 },
    { idealMs: 300, demandMs: 300 },
  ];
  const under = (policy: ReplayPolicy, turnarounds: readonly number[], involuntary: number) =>
    sampleRun(
      policy,
      ideal.map((times, index) => ({
        ...times,
        arrivalMs: index * 50,
        cpuMs: times.demandMs,
        turnaroundMs: turnarounds[index] ?? 0,
        endMs: index * 50 + (turnarounds[index] ?? 0),
        path: policy === 'cfs' ? 'cfs' : times.idealMs < 200 ? 'filter' : 'filter+cfs',
        involuntarySwitches: involuntary,
        functionName: `burn-${index}`,
      })),
    );
  return [under('cfs', [40, 60, 500], 8), under('sfs', [15, 25, 600], 3)];
}
