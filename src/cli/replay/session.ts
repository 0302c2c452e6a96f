/**
 * One whole replay.
 *
 *   1. workload    read or generated; every policy runs it identically
 *   2. daemon      a private one, or the one on --socket; policies that need one of their own (daemon-groups.ts) get it after it
 *   3. functions   the programs that the workload needs are registered
 *   4. calibrate   IDEAL: each kind of request alone on the idle host, through the same path
 *   5. replay      open loop, once under each policy, with a pause between them
 *   6. compare     table, run folder, report.html
 *
 * What was acquired is released in reverse order, also on a failure and on Ctrl-C; results are written only when all runs ended.
 */
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, reasonOf, SfsdError } from '../../contracts/errors.js';
import { isRealTime } from '../../contracts/modes.js';
import type { ReplayPolicy, Submit } from '../../contracts/replay.js';
import type { Clock, Instant } from '../../contracts/time.js';
import { fromMs } from '../../contracts/time.js';
import { loadKoffiLibc } from '../../linux/koffi-libc.js';
import { MonotonicClock } from '../../linux/monotonic-clock.js';
import { writeWorkload } from '../../trace/formats/json-lines.js';
import { type ReplayRun, replay } from '../../trace/replay/replay.js';
import { type SleepUntil, sleepUntilOn } from '../../trace/replay/wait.js';
import { bodyOf, type Calibration } from '../../trace/workload/calibrate.js';
import type { Workload } from '../../trace/workload/workload.js';
import { SfsdClient } from '../client.js';
import { type CliContext, exitCodes } from '../context.js';
import { InvocationStreamClient } from '../invocation-stream.js';
import { shareText, timeText } from '../quantities.js';
import { calibrateHost, calibrationLines, withCalibration } from './calibration.js';
import { confined } from './confinement.js';
import { daemonGroups } from './daemon-groups.js';
import { raiseGenerator } from './generator-priority.js';
import { busyShare } from './host.js';
import { Interrupted, Interruption } from './interruption.js';
import { type Past, pastOf } from './past.js';
import type { ReplayPlan } from './plan.js';
import { PrivateDaemon } from './private-daemon.js';
import { createProgress, type Progress } from './progress.js';
import { reportRuns } from './results.js';
import { submitOver } from './submit.js';
import { deleteFunctions, type NameOf, namesOf, registerFunctions } from './workload-functions.js';
import { loadWorkload } from './workload-source.js';

/** Unanswered requests, and connections to carry them. */
const inFlightMax = 1000;
const startDelayMs = 500;
/** The daemon's own defaults. */
const sliceMinMs = 2;
const sliceMaxMs = 1000;
/** After the last arrival: a full host needs a while for its last long functions. */
const drainLimitMs = 120_000;
/** For the host to settle, and to see whether it is idle. */
const settleMs = 500;
const busyShareWarned = 0.1;
/** Beside the results, so that the same requests can be run again. */
const workloadFile = 'workload.jsonl';

export async function runReplay(plan: ReplayPlan, context: CliContext): Promise<void> {
  const interruption = new Interruption();
  const progress = createProgress({ stderr: process.stderr, environment: context.terminal.environment });
  let past: Past | undefined;
  const folder = plan.outFolder ?? join('out', `replay-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  try {
    const workload = await loadWorkload(plan.source);
    // Made now: a folder that cannot be written must not show after the run.
    await makeFolder(folder);
    progress.step(workloadText(workload, plan.policies));
    const { signal } = interruption;
    const tell = (text: string): void => context.terminal.err(text);
    const settings = {
      'scheduler.sliceInitialMs': learnedSliceMs(workload, plan),
      ...(plan.cores === undefined ? {} : { 'scheduler.workers': plan.cores }),
      ...plan.settings,
    };
    const replayed: Replayed[] = [];
    const nameOf = namesOf(workload, { apart: plan.policies.includes('gittins') });
    for (const group of daemonGroups(plan.policies, settings)) {
      const isLearned = group.policies.includes('gittins') && plan.settings['store.path'] === undefined;
      past = isLearned ? await pastOf(plan.source, nameOf) : undefined;
      const part = { ...plan, ...group, settings: { ...group.settings, ...past?.settings } };
      replayed.push(
        await withDaemon({ plan: part, folder, signal, tell }, (socketPath) =>
          runPolicies({
            plan: part,
            workload,
            socketPath,
            progress,
            signal,
            nameOf,
            calibration: replayed[0]?.calibration,
          }),
        ),
      );
    }
    const runs = replayed.flatMap((part) => part.runs);
    const doubts = [...new Set(replayed.flatMap((part) => part.doubts))];
    progress.stop();
    await writeWorkload(join(folder, workloadFile), workload);
    await reportRuns({ runs, doubts, folder, plan }, context);
  } catch (thrown) {
    progress.stop();
    await rmdir(folder).catch(() => undefined);
    if (!(thrown instanceof Interrupted)) throw thrown;
    context.terminal.err(`${thrown.message}: the replay was stopped, no results were written\n`);
    context.exitWith(exitCodes.failed);
  } finally {
    past?.remove();
    interruption.release();
  }
}

/**
 * S starts where a host that serves this workload has it: mean inter-arrival time x c. A cold daemon would judge the first N
 * requests by a guess, and a replay is too short for that not to show; `--set scheduler.sliceInitialMs=20` replays a cold start.
 */
function learnedSliceMs({ header, requests }: Workload, { settings }: ReplayPlan): number {
  const workers = settings['scheduler.workers'];
  const last = requests.at(-1);
  const meanGapMs =
    last === undefined || requests.length < 2 ? 0 : last.arrival / 1000 / (requests.length - 1);
  return Math.min(
    Math.max(meanGapMs * (typeof workers === 'number' ? workers : header.cores), sliceMinMs),
    sliceMaxMs,
  );
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file: folder, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

interface DaemonNeed {
  readonly plan: ReplayPlan;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly tell: (text: string) => void;
}

async function withDaemon<Result>(
  { plan, folder, signal, tell }: DaemonNeed,
  work: (socketPath: string) => Promise<Result>,
): Promise<Result> {
  if (plan.socket !== undefined) return work(plan.socket);
  const settings = { 'log.level': 'info', ...plan.settings };
  const daemon = await confined(plan.cores, () => PrivateDaemon.start({ settings, signal, tell }));
  try {
    return await work(daemon.socketPath);
  } catch (thrown) {
    if (!daemon.running || isUnreachable(thrown)) tell(daemon.logTail());
    throw thrown;
  } finally {
    await daemon.stop({
      keepLogAs: plan.keepLog ? join(folder, `daemon-${plan.policies.join('-')}.log`) : undefined,
    });
  }
}

function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof SfsdError && thrown.code === 'SFSD_ERR_DAEMON_UNREACHABLE';
}

interface Bench {
  readonly plan: ReplayPlan;
  readonly workload: Workload;
  readonly socketPath: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly nameOf: NameOf;
  /** Of this host, when it is known already. */
  readonly calibration: Calibration | undefined;
}

interface Replayed {
  readonly calibration: Calibration;
  readonly runs: readonly ReplayRun[];
  /** What makes the figures doubtful, beside what they show themselves. */
  readonly doubts: readonly string[];
}

async function runPolicies(bench: Bench): Promise<Replayed> {
  const { plan, workload, socketPath, progress, signal, nameOf } = bench;
  const loaded = loadKoffiLibc();
  const libc = loaded.ok ? loaded.libc : undefined;
  const clock = libc === undefined ? hrtimeClock : new MonotonicClock(libc);
  const client = new SfsdClient({ socketPath });
  let stream: InvocationStreamClient | undefined;
  const doubts: string[] = [];
  const doubt = (text: string): void => {
    doubts.push(text);
    progress.step(`warning: ${text}`);
  };
  const raised = raiseGenerator(libc);
  if (!raised.raised) doubt(`the load generator stays at normal priority: ${raised.reason}`);
  try {
    if (plan.policies.some((policy) => policy !== 'cfs')) await expectRealTime(client);
    await registerFunctions(client, workload, nameOf);
    stream = await InvocationStreamClient.open(socketPath);
    const submit = submitOver(stream, Date.now().toString(36));
    const calibration = bench.calibration ?? (await calibrated({ ...bench, submit, clock, doubt }));
    const runs: ReplayRun[] = [];
    for (const policy of plan.policies) {
      if (runs.length > 0 || bench.calibration !== undefined) await settle(`the run under ${policy}`, doubt);
      progress.step(`replaying under ${policy}: ${timeText(spanMs(workload))} of arrivals`);
      const run = await replay({
        workload,
        policy,
        submit,
        clock,
        sleepUntil: abortable(sleepUntilOn(clock), signal),
        callOf: (request) => ({
          functionName: nameOf(request),
          body: bodyOf(request, calibration),
        }),
        startDelay: fromMs(startDelayMs),
        drainLimitMs,
        inFlightMax,
        onProgress: (at) => progress.replay(at),
        overloadFactor: overloadFactor(plan),
        daemonCpu: async () => (await client.status()).cpu,
        generatorCpuMs,
      });
      signal.throwIfAborted();
      progress.stop();
      runs.push({
        ...run,
        records: withCalibration(run.records, { workload, calibration }),
        ...(plan.socket === undefined ? { settings: plan.settings } : {}),
      });
    }
    return { runs, doubts, calibration };
  } finally {
    raised.lower();
    stream?.close();
    await (plan.socket === undefined
      ? undefined
      : deleteFunctions(client, workload, nameOf).catch(() => undefined));
    await client.close();
  }
}

async function calibrated(
  on: Bench & {
    readonly submit: Submit;
    readonly clock: Clock;
    readonly doubt: (text: string) => void;
  },
): Promise<Calibration> {
  const { workload, submit, clock, signal, progress, doubt } = on;
  await settle('calibration', doubt);
  progress.step('calibrating: each kind of request alone');
  const calibration = await calibrateHost({ workload, submit, clock, signal });
  for (const line of calibrationLines(calibration)) progress.step(line);
  return calibration;
}

/** A daemon that may promote nothing leaves all to the fair scheduler: its SFS would be CFS under another name. */
async function expectRealTime(client: SfsdClient): Promise<void> {
  const { mode, modeReason } = await client.status();
  if (!isRealTime(mode))
    throw new SfsdError('SFSD_ERR_PERMISSION', {
      reason: `${modeReason ?? 'the daemon does not say why'}; only --policy cfs can be replayed`,
    });
}

async function settle(before: string, doubt: (text: string) => void): Promise<void> {
  const busy = await busyShare(settleMs);
  if (busy > busyShareWarned) doubt(`the host was ${shareText(busy)} busy with other work before ${before}`);
}

/** The daemon's O, when this replay set it; 0 turns the bypass off. */
function overloadFactor({ settings }: ReplayPlan): number {
  const value = settings['scheduler.overloadFactor'];
  if (value === 0) return Number.POSITIVE_INFINITY;
  return typeof value === 'number' ? value : 3;
}

/** A replay has no stop of its own: its waits end with the signal's reason instead. */
function abortable(sleepUntil: SleepUntil, stop: AbortSignal): SleepUntil {
  return async (deadline, signal) => {
    stop.throwIfAborted();
    const either = signal === undefined ? stop : AbortSignal.any([stop, signal]);
    await sleepUntil(deadline, either);
    stop.throwIfAborted();
  };
}

const hrtimeClock: Clock = {
  now: () => Number(process.hrtime.bigint() / 1000n) as Instant,
};

function generatorCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function spanMs(workload: Workload): number {
  const last = workload.requests.at(-1);
  assert(last !== undefined, 'a workload has requests');
  return last.arrival / 1000;
}

function workloadText({ header, requests }: Workload, policies: readonly ReplayPolicy[]): string {
  const load = `load ${header.loadRealised.toFixed(2)} on ${header.cores} cores`;
  return `${requests.length} invocations from ${header.source}, ${header.gaps} gaps, ${load}, under ${policies.join(' and ')}`;
}
