/**
 * The way round CONFIG_RT_GROUP_SCHED on the v1 cpu tree: a thread in a child group without a real-time budget may not become
 * real-time (EPERM), and budgets for every container do not add up (children's sum may not exceed the parent's). So a thread is
 * moved, in the cpu tree only, to one group of ours that has a budget, and back again after its demotion:
 *
 *   1. move to /sfsd-filter    2. sched_setscheduler    ...    3. sched_setscheduler back    4. move to where it was
 *
 * Step 3 comes before step 4, or the kernel refuses the move (EINVAL). While it is there its group's cpu.shares and quota do not bind
 * it; neither binds a real-time thread anyway. On cgroup2 there is no such knob, and the invocation stays under the fair scheduler.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupLayout } from './cgroup-layout.js';

const groupName = 'sfsd-filter';

/** Tried in turn: other groups may hold a part of the parent's 950 ms in 1 s. The FILTER budget keeps below the first. */
const budgetsUs = [940_000, 700_000, 500_000, 250_000];

/** Threads moved out at close; more than that many cannot be left over, because groups are released first. */
const leftoversMax = 4096;

export class RtGroup {
  readonly #mount: string;
  readonly #directory: string;
  #ready: boolean | undefined;

  /** Nothing is made on the host before the first `take`. */
  constructor(layout: CgroupLayout, name: string = groupName) {
    const tree = layout.tree('cpu');
    this.#mount = tree?.version === 1 ? tree.mount : '';
    this.#directory = join(this.#mount, name);
  }

  /** The v1 cpu tree's mount; empty where there is none. */
  get mount(): string {
    return this.#mount;
  }

  get directory(): string {
    return this.#mount === '' ? '' : this.#directory;
  }

  /**
   * Moves the thread to our group. Returns the group it was in, or undefined when that cannot be done.
   * @param note told where it is before it is moved; false: it stays.
   */
  take(tid: number, note?: (home: string) => boolean): string | undefined {
    if (!this.#prepare()) return undefined;
    const home = this.#groupOf(tid);
    if (home === undefined || note?.(home) === false) return undefined;
    return this.#move(tid, this.#directory) ? home : undefined;
  }

  /** After its demotion. A home that was removed meanwhile is replaced by the root. */
  giveBack(tid: number, home: string): void {
    if (!this.#move(tid, join(this.#mount, home))) this.#move(tid, this.#mount);
  }

  /** Whether the thread is in our group: children born to promoted threads are. */
  holds(tid: number): boolean {
    return this.#ready === true && this.#isOurs(this.#groupOf(tid));
  }

  /** Whoever is still inside goes to the root. */
  close(): void {
    if (this.#ready !== true) return;
    for (const tid of readTids(join(this.#directory, 'tasks')).slice(0, leftoversMax))
      this.#move(tid, this.#mount);
    try {
      rmdirSync(this.#directory);
    } catch {} // Another daemon's threads are in it.
    this.#ready = undefined;
  }

  #isOurs(group: string | undefined): boolean {
    return group !== undefined && join(this.#mount, group) === this.#directory;
  }

  #prepare(): boolean {
    this.#ready ??= this.#mount !== '' && this.#make();
    return this.#ready;
  }

  #make(): boolean {
    try {
      mkdirSync(this.#directory, { recursive: true });
    } catch {
      return false;
    }
    return budgetsUs.some((budget) => tryWrite(join(this.#directory, 'cpu.rt_runtime_us'), budget));
  }

  /** The thread's group in the cpu tree, from /proc/TID/cgroup: `4:cpu,cpuacct:/path`. */
  #groupOf(tid: number): string | undefined {
    try {
      for (const line of readFileSync(`/proc/${tid}/cgroup`, 'utf8').split('\n')) {
        const [, controllers, ...path] = line.split(':');
        if (controllers?.split(',').includes('cpu')) return path.join(':');
      }
    } catch {} // It has ended.
    return undefined;
  }

  #move(tid: number, directory: string): boolean {
    return tryWrite(join(directory, 'tasks'), tid);
  }
}

function tryWrite(file: string, value: number): boolean {
  try {
    writeFileSync(file, String(value));
    return true;
  } catch {
    return false;
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
