/**
 * Two statuses to lines of text. Pure, so that the live view, `--once` and the tests draw the same thing. Lines are cut at the
 * width; workers and functions that do not fit the height are each counted in one line; at 80 x 24 everything but those fits.
 */
import type { StatusBody } from '../../contracts/http.js';
import type { SchedulerCounters } from '../../contracts/scheduler.js';
import { useHead, useRows } from '../function-use.js';
import { shareText, timeText } from '../quantities.js';
import { workerHead, workerRows } from '../status.js';

export interface TopView {
  readonly now: StatusBody;
  /** Absent: the first look, no rates yet. */
  readonly before?: StatusBody | undefined;
  readonly columns: number;
  readonly rows: number;
  /** Why `now` is old. */
  readonly trouble?: string | undefined;
}

export interface Rates {
  readonly elapsedMs: number;
  /** Per second. */
  readonly counters: Readonly<Record<keyof SchedulerCounters, number>>;
  /** Shares of the whole host. */
  readonly cpu: {
    readonly polling: number;
    readonly scheduling: number;
    readonly control: number;
    readonly spawner: number;
    readonly total: number;
  };
}

const shownCounters = [
  'arrivals',
  'promotions',
  'demotions',
  'bypasses',
  'blocks',
  'wakes',
  'completions',
  'denials',
] as const satisfies readonly (keyof SchedulerCounters)[];

export function ratesBetween(before: StatusBody, now: StatusBody): Rates {
  const elapsedMs = Math.max(1, now.uptimeMs - before.uptimeMs);
  const host = Math.max(1, now.cpu.elapsedMs - before.cpu.elapsedMs) * now.cpu.cores;
  const parts = {
    polling: (now.cpu.pollingMs - before.cpu.pollingMs) / host,
    scheduling: (now.cpu.schedulingMs - before.cpu.schedulingMs) / host,
    control: (now.cpu.controlMs - before.cpu.controlMs) / host,
    spawner: (now.cpu.spawnerMs - before.cpu.spawnerMs) / host,
  };
  const counters = { ...now.counters };
  for (const name of Object.keys(counters) as (keyof SchedulerCounters)[])
    counters[name] = ((now.counters[name] - before.counters[name]) * 1000) / elapsedMs;
  const total = parts.polling + parts.scheduling + parts.control + parts.spawner;
  return { elapsedMs, counters, cpu: { ...parts, total } };
}

export function topLines(view: TopView): string[] {
  const { now, before } = view;
  const rates = before === undefined ? undefined : ratesBetween(before, now);
  const top = [headLine(now), stateLine(now), budgetLine(now), ''];
  const bottom = ['', ...counterLines(now, rates), ...cpuLines(now, rates), loopLine(now)];
  if (view.trouble !== undefined) bottom.push('', `not answering: ${view.trouble}`);
  const room = view.rows - top.length - bottom.length - 1;
  const functions = functionLines(now, Math.max(2, Math.floor(room / 2) - 1));
  const workers = workerLines(now, Math.max(2, room - functions.length));
  return [...top, ...workers, ...functions, ...bottom].map((line) => cut(line, view.columns));
}

function headLine(now: StatusBody): string {
  const mode = now.modeReason === undefined ? now.mode : `${now.mode} (${now.modeReason})`;
  const stopping = now.stopping ? '   stopping' : '';
  return `sfsd ${now.version}   pid ${now.pid}   up ${timeText(now.uptimeMs)}   policy ${now.policy}   mode ${mode}${stopping}`;
}

function stateLine(now: StatusBody): string {
  return [
    ...(now.policy === 'gittins' ? [] : [`S ${timeText(now.sliceMs)}`]),
    `queue ${now.queueLength}`,
    `live ${now.live}/${now.liveMax}`,
    `blocked ${now.blocked}`,
    `functions ${now.functions.running} running of ${now.functions.registered}`,
  ].join('   ');
}

const barWidth = 30;

function budgetLine(now: StatusBody): string {
  const { usedShare, maxShare, paused } = now.budget;
  const filled = Math.round(Math.min(1, Math.max(0, usedShare)) * barWidth);
  const bar = `${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}`;
  return `budget [${bar}] ${shareText(usedShare)} of at most ${shareText(maxShare)}   ${paused ? 'PAUSED' : 'running'}`;
}

function workerLines(now: StatusBody, room: number): string[] {
  const rows = workerRows(now);
  const shown = rows.length <= room - 1 ? rows : rows.slice(0, Math.max(0, room - 2));
  const lines = [workerHead(now), ...shown].map((cells) => {
    const [id = '', name = '', ...times] = [...cells].reverse();
    const numbers = times.reverse().map((text, place) => text.padStart(place === 0 ? 6 : 10));
    return [...numbers, cut(name, 24).padEnd(24), id].join('  ').trimEnd();
  });
  if (shown.length === rows.length) return lines;
  const hidden = now.workers.slice(shown.length);
  const busy = hidden.filter((worker) => worker.invocation !== undefined).length;
  return [...lines, `        and ${hidden.length} more workers, ${busy} of them busy`];
}

/** At most `room` lines below an empty one; none while nothing runs. */
function functionLines(now: StatusBody, room: number): string[] {
  const rows = useRows(now, room - 1);
  if (rows.length === 0) return [];
  const lines = [[...useHead], ...rows].map(([cpu = '', memory = '', running = '', name = '']) =>
    `${cpu.padStart(8)}  ${memory.padStart(11)}  ${running.padStart(12)}  ${name}`.trimEnd(),
  );
  return ['', ...lines];
}

function counterLines({ policy }: StatusBody, rates: Rates | undefined): string[] {
  // Gittins bypasses nobody.
  const names = shownCounters.map((name) =>
    policy === 'gittins' && name === 'bypasses' ? 'preemptions' : name,
  );
  const cells = names.map((name) => {
    const rate = rates === undefined ? '-' : rates.counters[name].toFixed(1);
    return `${name.padEnd(11)}${rate.padStart(6)}`;
  });
  const half = shownCounters.length / 2;
  return [
    'per second',
    ...[cells.slice(0, half), cells.slice(half)].map((row) => `  ${row.join('  ').trimEnd()}`),
  ];
}

function cpuLines(now: StatusBody, rates: Rates | undefined): string[] {
  const part = (name: string, share: number | undefined): string =>
    `${name} ${share === undefined ? '-' : shareText(share)}`;
  const { cpu } = rates ?? {};
  return [
    `daemon CPU, of ${now.cpu.cores} cores: ${part('now', cpu?.total)}   since start ${shareText(now.cpu.hostShare)}`,
    `  ${part('polling', cpu?.polling)}   ${part('scheduling', cpu?.scheduling)}   ${part('control', cpu?.control)}   ${part('spawner', cpu?.spawner)}`,
  ];
}

function loopLine(now: StatusBody): string {
  const { loop } = now;
  return `loop late: p50 ${timeText(loop.lateP50Ms)}   p99 ${timeText(loop.lateP99Ms)}   max ${timeText(loop.lateMaxMs)}`;
}

function cut(line: string, columns: number): string {
  return line.length <= columns ? line : `${line.slice(0, Math.max(0, columns - 1))}…`;
}
