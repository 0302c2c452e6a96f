/**
 * `sfsd status`: what the daemon is doing right now, once.
 */
import type { Command } from 'commander';
import type { StatusBody } from '../contracts/http.js';
import { withClient } from './connect.js';
import { type CliContext, commonOptions, daemonAddress, printJson, withDaemon, withJson } from './context.js';
import { useHead, useRows } from './function-use.js';
import { shareText, timeText } from './quantities.js';
import { paint } from './terminal.js';

export function addStatusCommand(program: Command, context: CliContext): void {
  const command = program
    .command('status')
    .description('show the daemon’s slice, queue, FILTER workers, budget and counters')
    .addHelpText('after', '\nExamples:\n  sfsd status\n  sfsd status --json | jq .sliceMs')
    .action(async () => {
      const status = await withClient(daemonAddress(command, context), (client) => client.status());
      if (commonOptions(command).json) printJson(context, status);
      else await printStatus(context, status);
    });
  withJson(withDaemon(command));
}

async function printStatus(context: CliContext, status: StatusBody): Promise<void> {
  const { textTable } = await import('./text-table.js');
  const { terminal } = context;
  const { columns } = terminal.size();
  const head = `sfsd ${status.version}, pid ${status.pid}, up ${timeText(status.uptimeMs)}`;
  terminal.out(`${paint(terminal, 'bold', head)}${status.stopping ? ', stopping' : ''}\n\n`);
  terminal.out(textTable({ rows: facts(status), columns }));
  terminal.out(
    `\n${textTable({ head: workerHead(status), rows: workerRows(status), right: [0, 1], columns })}`,
  );
  const use = useRows(status);
  if (use.length > 0) terminal.out(`\n${textTable({ head: useHead, rows: use, right: [0, 1, 2], columns })}`);
}

/** Which FFI makes the kernel calls, and why not the one that was configured. */
export function ffiText({ ffi }: StatusBody): string {
  const used =
    ffi.control === ffi.scheduling ? ffi.control : `${ffi.control}, scheduling by ${ffi.scheduling}`;
  return ffi.reason === undefined ? used : `${used}; ${ffi.configured} was configured: ${ffi.reason}`;
}

export function guardText({ guard }: StatusBody): string {
  if (guard.state === 'off') return `off: ${guard.reason ?? 'so configured'}`;
  const seen = `${guard.tasks} of at most ${guard.tasksMax} threads on its list`;
  return `${guard.state}, ${seen}, ${guard.stalls} stalls, ${guard.demoted} demoted, ${guard.restarts} restarts`;
}

/** With a rank where the policy has one. */
export function workerHead(status: StatusBody): string[] {
  const rank = isRanked(status) ? ['rank'] : [];
  return ['worker', 'for', ...rank, 'function', 'invocation'];
}

function isRanked({ policy }: StatusBody): boolean {
  return policy === 'gittins';
}

/** One row per FILTER worker. */
export function workerRows(status: StatusBody): string[][] {
  const rankOf = (rankMs: number | undefined) =>
    isRanked(status) ? [rankMs === undefined ? '' : timeText(Math.max(0, rankMs))] : [];
  return status.workers.map(({ worker, invocation }) =>
    invocation === undefined
      ? [String(worker), '', ...rankOf(undefined), 'idle', '']
      : [
          String(worker),
          timeText(invocation.forMs),
          ...rankOf(invocation.rankMs),
          invocation.functionName,
          `${invocation.source}/${invocation.id}`,
        ],
  );
}

function facts(status: StatusBody): string[][] {
  const { counters, cpu, loop } = status;
  const share = (ms: number): string => shareText(cpu.elapsedMs > 0 ? ms / (cpu.elapsedMs * cpu.cores) : 0);
  return [
    ['mode', status.modeReason === undefined ? status.mode : `${status.mode}: ${status.modeReason}`],
    ...targetRows(status),
    ...protectionRows(status),
    ['policy', status.policy],
    ['FFI', ffiText(status)],
    ['guard', guardText(status)],
    ...(isRanked(status) ? [] : [['slice S', timeText(status.sliceMs)]]),
    ['queue', `${status.queueLength} waiting, ${status.blocked} blocked`],
    ['live', `${status.live} of at most ${status.liveMax}`],
    ['functions', `${status.functions.registered} registered, ${status.functions.running} running`],
    ['budget', budgetText(status)],
    [
      'since start',
      `${counters.arrivals} arrivals, ${counters.completions} completions, ${counters.bypasses} bypasses`,
    ],
    [
      '',
      `${counters.promotions} promotions, ${counters.demotions} demotions, ${counters.blocks} blocks, ${counters.wakes} wakes, ${counters.denials} denials`,
    ],
    ['daemon CPU', `${shareText(cpu.hostShare)} of ${cpu.cores} cores since start`],
    [
      '',
      `polling ${share(cpu.pollingMs)}, scheduling ${share(cpu.schedulingMs)}, control ${share(cpu.controlMs)}, spawner ${share(cpu.spawnerMs)}`,
    ],
    [
      'loop late',
      `p50 ${timeText(loop.lateP50Ms)}, p99 ${timeText(loop.lateP99Ms)}, max ${timeText(loop.lateMaxMs)} over ${loop.samples} waits`,
    ],
    ...(status.decisionsLost === 0 ? [] : [['decisions', `${status.decisionsLost} lost by the log`]]),
  ];
}

/** Targets that could not be promoted as the mode says. */
function targetRows({ targets }: StatusBody): string[][] {
  return targets.map(({ way, reason, targets: count }, index) => [
    index === 0 ? 'targets' : '',
    `${count} ${wayTexts[way]}: ${reasonTexts[reason]}`,
  ]);
}

const wayTexts: Readonly<Record<StatusBody['targets'][number]['way'], string>> = {
  cgroup: 'promoted in a cpu cgroup of ours',
  eevdf: 'with a weight and a slice instead',
  denied: 'left alone',
};

const reasonTexts: Readonly<Record<StatusBody['targets'][number]['reason'], string>> = {
  'cpu-group': 'no real-time budget in their cpu cgroup',
  privilege: 'another user’s, and CAP_SYS_NICE is missing',
  'user-namespace': 'in another user namespace, and CAP_SYS_NICE is missing',
  foreign: 'real-time already',
  hidden: '/proc does not show them',
};

function protectionRows({ protection }: StatusBody): string[][] {
  const { processes, threads, cpuCores } = protection;
  if (processes === 0) return [];
  return [['protected', `${processes} processes, ${threads} threads, using ${cpuCores.toFixed(2)} cores`]];
}

export function budgetText(status: StatusBody): string {
  const { usedShare, maxShare, paused } = status.budget;
  return `${shareText(usedShare)} of the window used, at most ${shareText(maxShare)}${paused ? ', paused' : ''}`;
}
