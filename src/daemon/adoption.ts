/**
 * Processes that run already when the daemon starts and that the configuration wants managed (`adopt.rules`).
 *
 *   find    `ps` by ps-list, before anything is real-time: 9.0.0 starts `ps` twice, on every platform but Windows
 *   adopt   once the scheduling plane stands: each becomes an invocation of source `adopted`
 *
 * Between the two a pid may come to mean another process, so `find` takes its start time too, and leaves out what was born after it
 * had begun to look. Pid 1, kernel threads and this daemon are refused by `identify`.
 */
import type { Logger } from 'pino';
import psList, { type ProcessDescriptor } from 'ps-list';
import type { AdoptRule } from '../contracts/config.js';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { PolicyName } from '../contracts/invocation.js';
import type { SchedulingPlane } from '../contracts/scheduling-plane.js';
import { ClockReader } from '../linux/clock-reader.js';
import type { Libc } from '../linux/libc.js';
import { startTimeOf } from './peers.js';

/** Below one window of arrivals: all at once, they say nothing of the rate that sets S. */
export const adoptedMax = 64;
const source = 'adopted';
const functionNameMax = 256;
const clockBoottime = 7;
/** USER_HZ, the unit of a start time, the same on both machines. */
const ticksPerSecond = 100;

export interface Candidate {
  readonly pid: number;
  readonly startTime: string;
  readonly functionName: string;
  readonly policy?: PolicyName;
}

/** Expected failures (no `ps`) are a warning: the daemon starts without adopting. */
export async function findAdoptable(options: {
  readonly rules: readonly AdoptRule[];
  readonly libc: Libc;
  readonly log: Logger;
}): Promise<readonly Candidate[]> {
  const { rules, libc, log } = options;
  if (rules.length === 0) return [];
  const beganTicks = Math.floor((new ClockReader(libc).nanoseconds(clockBoottime) / 1e9) * ticksPerSecond);
  let processes: readonly ProcessDescriptor[];
  try {
    processes = await psList();
  } catch (thrown) {
    log.warn({ event: 'adoption_failed', reason: `ps-list: ${reasonOf(thrown)}` });
    return [];
  }
  const fitting = processes.flatMap((process) => candidateOf(process, rules, libc) ?? []);
  const found = fitting.filter(({ startTime }) => Number(startTime) <= beganTicks);
  if (found.length > adoptedMax)
    log.warn({ event: 'adoption_bounded', found: found.length, adopted: adoptedMax });
  return found.slice(0, adoptedMax);
}

function candidateOf(
  process: ProcessDescriptor,
  rules: readonly AdoptRule[],
  libc: Libc,
): Candidate | undefined {
  const rule = rules.find((rule) => fits(process, rule));
  if (rule === undefined) return undefined;
  const identity = startTimeOf(libc, process.pid);
  if (typeof identity === 'string') return undefined;
  const { policy } = rule;
  return {
    pid: process.pid,
    startTime: identity.startTime,
    functionName: rule.functionName ?? visible(process.name),
    ...(policy === undefined ? {} : { policy }),
  };
}

export function fits(
  { name, uid, cmd = '' }: Pick<ProcessDescriptor, 'name' | 'uid' | 'cmd'>,
  rule: AdoptRule,
): boolean {
  if (rule.name !== undefined && rule.name !== name) return false;
  if (rule.uid !== undefined && rule.uid !== uid) return false;
  return rule.commandHolds === undefined || cmd.includes(rule.commandHolds);
}

/** As the API wants a function's name: visible ASCII. */
function visible(name: string): string {
  return name.replace(/[^!-~]/g, '_').slice(0, functionNameMax) || 'unnamed';
}

/** One that cannot be registered is told of and does not keep the others out. */
export function adopt(
  candidates: readonly Candidate[],
  { plane, log }: { readonly plane: SchedulingPlane; readonly log: Logger },
): void {
  let adopted = 0;
  for (const { pid, startTime, functionName, policy } of candidates) {
    try {
      const reservation = plane.reserve(1);
      try {
        plane.register(
          {
            source,
            id: `${pid}-${startTime}`,
            functionName,
            group: { kind: 'process', pid, startTime },
            arrivedAt: plane.now(),
            ...(policy === undefined ? {} : { policy }),
          },
          reservation,
        );
        adopted += 1;
      } finally {
        reservation.release();
      }
    } catch (thrown) {
      if (!(thrown instanceof SfsdError)) throw thrown;
      log.warn({ event: 'adoption_refused', pid, functionName, reason: thrown.message });
    }
  }
  if (candidates.length > 0) log.info({ event: 'adopted', processes: adopted });
}
