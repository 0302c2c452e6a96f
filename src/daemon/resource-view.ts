/**
 * What each function's live invocations use: CPU, memory, how many.
 *
 *   look ──▶ younger than a second? ── yes ──▶ the last view
 *                  │ no
 *                  ▼
 *            one round: pids of live invocations, function by function in turn, at most `resourcePidsMax`
 *                  ▼
 *            read (process-usage.ts) ──▶ CPU time since the last round, or since its start ──▶ view
 *
 * There is no timer: when nobody looks, nothing is read; when many look, one round a second serves them. A look waits for a round that
 * is under way, but not long: status has to answer on a full host too, and then with what is known.
 */
import type { Invocation } from '../contracts/invocation.js';
import { type FunctionUse, type ResourceView, resourceFunctionsMax } from '../contracts/resources.js';
import { between, type Clock, type Instant, toMs } from '../contracts/time.js';
import type { ProcessUse, ReadProcesses } from './process-usage.js';

/** Processes read in one round: 0.05 to 0.1 ms of CPU time each were measured, so about 1% of one core at a round a second. */
export const resourcePidsMax = 128;
const roundIntervalMs = 1000;
const lookMaxMs = 100;

export interface ResourceViewOptions {
  readonly clock: Clock;
  readonly live: () => readonly Invocation[];
  readonly read: ReadProcesses;
}

interface Reading {
  readonly at: Instant;
  readonly uses: ReadonlyMap<number, ProcessUse>;
}

export class FunctionResources {
  readonly #options: ResourceViewOptions;
  #view: ResourceView | undefined;
  #before: Reading | undefined;
  #round: Promise<void> | undefined;

  constructor(options: ResourceViewOptions) {
    this.#options = options;
  }

  async look(): Promise<ResourceView> {
    const { clock } = this.#options;
    const isFresh = this.#view !== undefined && toMs(between(this.#view.at, clock.now())) < roundIntervalMs;
    if (!isFresh) {
      this.#round ??= this.#read().finally(() => {
        this.#round = undefined;
      });
      await atMost(lookMaxMs, this.#round);
    }
    return this.#view ?? summarise({ groups: new Map(), now: { at: clock.now(), uses: new Map() } });
  }

  async #read(): Promise<void> {
    const { clock, live, read } = this.#options;
    const groups = byFunction(live());
    const uses = await read(pidsInTurn(groups, resourcePidsMax));
    const now = { at: clock.now(), uses };
    this.#view = summarise({ groups, now, before: this.#before });
    this.#before = now;
  }
}

async function atMost(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

interface Group {
  instances: number;
  readonly pids: number[];
}

type Groups = ReadonlyMap<string, Group>;

export function byFunction(live: Iterable<Invocation>): Groups {
  const groups = new Map<string, Group>();
  for (const { functionName, group } of live) {
    const known = groups.get(functionName) ?? { instances: 0, pids: [] };
    groups.set(functionName, known);
    known.instances += 1;
    if (group.kind !== 'cgroup') known.pids.push(group.pid);
  }
  return groups;
}

/** The first of each function, then the second of each, and so on: no function with many instances hides the others. */
export function pidsInTurn(groups: Groups, max: number): readonly number[] {
  const chosen = new Set<number>();
  let waiting = [...groups.values()].filter(({ pids }) => pids.length > 0);
  for (let turn = 0; waiting.length > 0 && chosen.size < max; turn += 1) {
    for (const { pids } of waiting) {
      const pid = pids[turn];
      if (pid !== undefined && chosen.size < max) chosen.add(pid);
    }
    waiting = waiting.filter(({ pids }) => pids.length > turn + 1);
  }
  return [...chosen];
}

export interface Round {
  readonly groups: Groups;
  readonly now: Reading;
  readonly before?: Reading | undefined;
}

export function summarise({ groups, now, before }: Round): ResourceView {
  const all = [...groups].map(([functionName, group]) => ({
    functionName,
    ...useOf(group, { now, before }),
  }));
  all.sort((a, b) => b.cpuCores - a.cpuCores || b.memoryBytes - a.memoryBytes || b.instances - a.instances);
  const rest = all.slice(resourceFunctionsMax);
  const total = (field: keyof FunctionUse): number => rest.reduce((sum, use) => sum + use[field], 0);
  return {
    at: now.at,
    functions: all.slice(0, resourceFunctionsMax),
    others: {
      functions: rest.length,
      instances: total('instances'),
      measured: total('measured'),
      cpuCores: total('cpuCores'),
      memoryBytes: total('memoryBytes'),
    },
  };
}

function useOf(group: Group, { now, before }: Pick<Round, 'now' | 'before'>): FunctionUse {
  const use = { instances: group.instances, measured: 0, cpuCores: 0, memoryBytes: 0 };
  // Groups of threads of one process share its pid.
  for (const pid of new Set(group.pids)) {
    const read = now.uses.get(pid);
    if (read === undefined) continue;
    use.measured += 1;
    use.memoryBytes += read.memoryBytes;
    use.cpuCores += coresOf(read, { earlier: before?.uses.get(pid), elapsedMs: elapsedMs(now, before) });
  }
  return use;
}

function elapsedMs(now: Reading, before: Reading | undefined): number {
  return before === undefined ? 0 : toMs(between(before.at, now.at));
}

/** Since the last round; since its start, if the process is younger, was not read then, or has got the number of another. */
function coresOf(
  read: ProcessUse,
  { earlier, elapsedMs }: { readonly earlier: ProcessUse | undefined; readonly elapsedMs: number },
): number {
  const isSame = earlier !== undefined && earlier.ageMs <= read.ageMs && earlier.cpuMs <= read.cpuMs;
  if (isSame && elapsedMs > 0) return (read.cpuMs - earlier.cpuMs) / elapsedMs;
  return read.ageMs > 0 ? read.cpuMs / read.ageMs : 0;
}
