/**
 * The way round CONFIG_RT_GROUP_SCHED on the v1 cpu tree: a thread in a child group without a real-time budget may not become
 * real-time (EPERM), and budgets for every container do not add up (children's sum may not exceed the parent's). So a thread is
 * moved, in the cpu tree only, to one group of ours that has a budget, and back again after its demotion:
 *
 *   1. homeOf: where it is   2. move to /sfsd-filter   3. sched_setscheduler   ...   4. sched_setscheduler back   5. giveBack
 *
 * Between 1 and 2 the caller writes down where it was: should we die, another brings it home. Step 4 comes before step 5, or the kernel
 * refuses the move (EINVAL). While it is there its group's cpu.shares and quota do not bind it; neither binds a real-time thread anyway.
 *
 * The group's budget is what FILTER may use and a little more. A smaller one would be used up before FILTER steps down, and the kernel
 * would stop everybody in the group for the rest of the second: where the parent cannot give it, the group is not used at all.
 *
 * The group is shared by all who promote: this daemon's two planes, and a private daemon beside the host's. So `close` sends
 * home only what is under the fair scheduler (born to a promoted thread and never found), and the last one to leave removes the group.
 *
 * On cgroup2 there is no such knob: real-time tasks must be in the root group, and what is not goes the way of mode eevdf.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupLayout } from './cgroup-layout.js';
import type { Libc } from './libc.js';

const groupName = 'sfsd-filter';

/** On top of FILTER's share: 93% of FILTER make 94% of the period. */
const shareSpare = 0.01;
const filterShareDefault = 0.93;
const periodUsDefault = 1_000_000;

/** Threads looked at in one sweep; more than that many cannot be left over, because groups are released first. */
const leftoversMax = 4096;

/** Threads that are refused before a group that could not be made is tried once more. */
const refusalsPerTry = 64;

const realTimePolicies = [1, 2];
const resetOnFork = 0x40000000;

export interface RtGroupOptions {
  readonly libc: Libc;
  readonly name?: string;
  /** FILTER's share of a core's time. */
  readonly filterShare?: number;
}

export class RtGroup {
  readonly #libc: Libc;
  readonly #mount: string;
  readonly #directory: string;
  readonly #filterShare: number;
  #ready: boolean | undefined;
  #refusals = 0;

  /** Nothing is made on the host before the first `homeOf`. */
  constructor(layout: CgroupLayout, options: RtGroupOptions) {
    const tree = layout.tree('cpu');
    this.#libc = options.libc;
    this.#mount = tree?.version === 1 ? tree.mount : '';
    this.#directory = join(this.#mount, options.name ?? groupName);
    this.#filterShare = options.filterShare ?? filterShareDefault;
  }

  /** The v1 cpu tree's mount; empty where there is none. */
  get mount(): string {
    return this.#mount;
  }

  get directory(): string {
    return this.#mount === '' ? '' : this.#directory;
  }

  /**
   * The group that the thread is in, when moving it to ours may help. undefined: it would not, because its group has a budget of its
   * own, or ours cannot be had.
   */
  homeOf(tid: number): string | undefined {
    if (this.#mount === '') return undefined;
    const home = cpuGroupOf(tid);
    // A path with steps upwards lies outside of our cgroup namespace: there would be no way back.
    if (home === undefined || home === '/' || home.includes('/..')) return undefined;
    if (this.#isOurs(home) || readNumber(join(this.#mount, home, 'cpu.rt_runtime_us')) !== 0)
      return undefined;
    return this.#prepare() ? home : undefined;
  }

  /** Moves the thread to our group; after `homeOf` said that it may. */
  take(tid: number): boolean {
    return this.#move(tid, this.#directory);
  }

  /** After its demotion. A home that was removed meanwhile, or takes it no more, is replaced by the root. */
  giveBack(tid: number, home: string): void {
    if (!this.#move(tid, join(this.#mount, home))) this.#move(tid, this.#mount);
  }

  /** Whether the thread is in our group: children born to promoted threads are. */
  holds(tid: number): boolean {
    if (this.#ready !== true) return false;
    const group = cpuGroupOf(tid);
    return group !== undefined && this.#isOurs(group);
  }

  /** Threads in our group that nobody holds there: born to promoted ones, and under the fair scheduler. */
  strays(): number[] {
    return this.#ready === true ? this.#fairTasks() : [];
  }

  close(): void {
    if (this.#ready !== true) return;
    for (const tid of this.#fairTasks()) this.#move(tid, this.#mount);
    this.#remove();
    this.#ready = undefined;
  }

  #isOurs(group: string): boolean {
    return join(this.#mount, group) === this.#directory;
  }

  #prepare(): boolean {
    // Another daemon may have left last, and removed it.
    if (this.#ready === true && !existsSync(this.#directory)) this.#ready = undefined;
    // A budget comes free some time after its group was removed.
    if (this.#ready === false && ++this.#refusals % refusalsPerTry === 0) this.#ready = undefined;
    this.#ready ??= this.#make();
    return this.#ready;
  }

  #make(): boolean {
    try {
      mkdirSync(this.#directory, { recursive: true });
    } catch {
      return false;
    }
    const period = readNumber(join(this.#directory, 'cpu.rt_period_us')) ?? periodUsDefault;
    const budget = Math.ceil(Math.min(1, this.#filterShare + shareSpare) * period);
    const file = join(this.#directory, 'cpu.rt_runtime_us');
    if ((readNumber(file) ?? 0) >= budget || tryWrite(file, budget)) return true;
    this.#remove();
    return false;
  }

  #remove(): void {
    try {
      rmdirSync(this.#directory);
    } catch {} // Others' threads are in it: they remove it.
  }

  #fairTasks(): number[] {
    return readTids(join(this.#directory, 'tasks'))
      .slice(0, leftoversMax)
      .filter((tid) => {
        const policy = this.#libc.schedGetscheduler(tid);
        return policy >= 0 && !realTimePolicies.includes(policy & ~resetOnFork);
      });
  }

  #move(tid: number, directory: string): boolean {
    return tryWrite(join(directory, 'tasks'), tid);
  }
}

/** The task's group in the v1 cpu tree, from /proc/TID/cgroup: `4:cpu,cpuacct:/path`. */
export function cpuGroupOf(tid: number | 'self'): string | undefined {
  try {
    for (const line of readFileSync(`/proc/${tid}/cgroup`, 'utf8').split('\n')) {
      const [, controllers, ...path] = line.split(':');
      if (controllers?.split(',').includes('cpu')) return path.join(':');
    }
  } catch {} // It has ended.
  return undefined;
}

function tryWrite(file: string, value: number): boolean {
  try {
    writeFileSync(file, String(value));
    return true;
  } catch {
    return false;
  }
}

function readNumber(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function readTids(file: string): number[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
  } catch {
    return [];
  }
}
