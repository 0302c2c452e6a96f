/**
 * Who else is there: other sfsd daemons, and real-time processes that could keep ours from its cores. Listed by ps-list, which starts
 * `ps`: this is the command line's own process, not the daemon's.
 */
import { readdirSync, readFileSync } from 'node:fs';
import psList from 'ps-list';
import { reasonOf } from '../../contracts/errors.js';
import { degraded, type Finding, ok } from './finding.js';

/** The default of `priorities.scheduling`. */
const schedulingPriority = 25;
const realtimePolicies = [1, 2];
const kernelThreadDaemon = 2;
const namedMax = 5;
const generationsMax = 64;
/** Fields 40 and 41 of /proc/PID/stat, counted from the state, which is field 3. */
const priorityField = 37;
const policyField = 38;
const cliMain = '/dist/src/cli/main.js start';

export interface FoundProcess {
  readonly pid: number;
  readonly ppid: number;
  readonly name: string;
  readonly cmd?: string;
  /** The highest of its threads; 0: none is real-time. */
  readonly priority: number;
}

export async function processFinding(): Promise<Finding> {
  let listed: Awaited<ReturnType<typeof psList>>;
  try {
    listed = await psList();
  } catch (thrown) {
    return degraded(
      'processes',
      `they cannot be listed: ${reasonOf(thrown)}`,
      'Adoption at start (adopt.rules) finds nothing either: apt-get install -y --no-install-recommends procps',
    );
  }
  return judgeProcesses(listed.map((process) => ({ ...process, priority: priorityOf(process.pid) })));
}

export function judgeProcesses(processes: readonly FoundProcess[]): Finding {
  const daemons = processes.filter(({ cmd = '' }) => cmd.includes(cliMain) && !cmd.startsWith('timeout '));
  const foreign = processes
    .filter(({ priority }) => priority > 0)
    .filter(
      (process) =>
        !descendsFrom(process, { roots: [kernelThreadDaemon, ...daemons.map(({ pid }) => pid)], processes }),
    )
    .sort((a, b) => b.priority - a.priority);
  const fact = `${processes.length} processes, ${daemons.length} of them sfsd, ${foreign.length} others real-time`;
  if (daemons.length > 1)
    return degraded(
      'processes',
      `${fact}: sfsd is ${daemons.map(({ pid }) => pid).join(', ')}`,
      'Each keeps its own FILTER budget: together they may use more than the kernel grants, and are stalled by it.',
    );
  if (foreign.some(({ priority }) => priority >= schedulingPriority))
    return degraded(
      'processes',
      `${fact}: ${named(foreign)}`,
      'At or above the scheduling plane they delay slice ends for as long as they run.',
    );
  return ok('processes', foreign.length === 0 ? fact : `${fact}: ${named(foreign)}`);
}

/** The process itself included: a daemon, its spawner and its functions are one thing here, as are the kernel's threads. */
function descendsFrom(
  process: FoundProcess,
  family: { readonly roots: readonly number[]; readonly processes: readonly FoundProcess[] },
): boolean {
  let at: FoundProcess | undefined = process;
  for (let step = 0; at !== undefined && step < generationsMax; step += 1) {
    if (family.roots.includes(at.pid)) return true;
    const parent: number = at.ppid;
    at = family.processes.find(({ pid }) => pid === parent);
  }
  return false;
}

function named(processes: readonly FoundProcess[]): string {
  const names = processes
    .slice(0, namedMax)
    .map(({ name, pid, priority }) => `${name} ${pid} at ${priority}`);
  return `${names.join(', ')}${processes.length > namedMax ? ', ...' : ''}`;
}

function priorityOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return Math.max(0, ...threads.map((tid) => threadPriority(`/proc/${pid}/task/${tid}/stat`)));
  } catch {
    return 0;
  }
}

/** A thread that has ended meanwhile is none. */
function threadPriority(path: string): number {
  try {
    const text = readFileSync(path, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return realtimePolicies.includes(Number(fields[policyField])) ? Number(fields[priorityField]) : 0;
  } catch {
    return 0;
  }
}
