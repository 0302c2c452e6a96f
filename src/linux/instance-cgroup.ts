/**
 * The cgroup of one running function instance.
 *
 * Every member is in the group's home. That is a directory of the cgroup2 tree where one is mounted, even one without controllers
 * beside v1 trees: a member can be born in it. Joining any group later, by a write to cgroup.procs, takes the kernel's
 * cgroup_threadgroup_rwsem for writing, and so waits for an RCU grace period, which on a host full of FIFO work takes up to a second.
 * Without cgroup2 the home is a directory of the pids tree. The v1 trees of limits are joined, by a write, only under a limit.
 *
 * A group in which somebody was killed is not used again. Linux counts the writes to cgroup.kill, and some versions (6.18 for one)
 * kill whoever is born in a group when its count is not that of the parent's group. So a leader that SIGKILL ended counts, too: who
 * knows how that was sent.
 *
 * Limits are written only when they differ from what the group has. Whether a group is empty is read through a kept descriptor,
 * once in each use: when its leader has been reaped and nobody is left, nobody can come.
 */
import { Buffer } from 'node:buffer';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { SfsdError } from '../contracts/errors.js';
import { makeGroup, readIfThere, removeIfEmpty, write, writeIfThere } from './cgroup-files.js';
import { type ControllerTree, processesIn } from './cgroup-layout.js';

export interface InstanceLimits {
  readonly memoryMaxBytes?: number;
  readonly pidsMax?: number;
}

/** Rounds of reading and killing; with no new forks allowed one round suffices, the rest is for what came in between. */
const killRoundsMax = 64;
export interface InstanceParts {
  readonly functionName: string;
  /** The group's own directory in the tree where all members are, and in the tree of each controller. */
  readonly home: ControllerTree | undefined;
  readonly memory: ControllerTree | undefined;
  readonly pids: ControllerTree | undefined;
  readonly takeBack: (group: InstanceCgroup) => void;
}

export class InstanceCgroup {
  readonly functionName: string;
  readonly #parts: InstanceParts;
  /** Of this use. */
  #limits: InstanceLimits = {};
  /** What is written in the group. */
  #memoryMax: number | undefined;
  #pidsMax: number | undefined;
  #oomKillsBefore = 0;
  #held = false;
  #vacated = false;
  #retired = false;
  #populationFd: number | undefined;
  /** `populated 0`, or the first pids. */
  readonly #population = Buffer.alloc(64);

  constructor(parts: InstanceParts) {
    this.#parts = parts;
    this.functionName = parts.functionName;
  }

  /** The cgroup2 directory in which members are to be born (CLONE_INTO_CGROUP); undefined when none is mounted. */
  get birthplace(): string | undefined {
    const { home } = this.#parts;
    return home?.version === 2 ? home.mount : undefined;
  }

  /** Files to which a member writes its pid, or 0 for itself, to join what it was not born in. */
  get procsFiles(): readonly string[] {
    const { home, memory, pids } = this.#parts;
    const joined = new Set<string>();
    if (home?.version === 1) joined.add(home.mount);
    if (pids?.version === 1 && this.#limits.pidsMax !== undefined) joined.add(pids.mount);
    if (memory?.version === 1 && this.#limits.memoryMaxBytes !== undefined) joined.add(memory.mount);
    return [...joined].map((directory) => join(directory, 'cgroup.procs'));
  }

  /** A new use under these limits. For InstanceCgroups. */
  start(limits: InstanceLimits): void {
    this.#limitMemory(limits.memoryMaxBytes);
    this.#limitPids(limits.pidsMax);
    this.#limits = limits;
    this.#oomKillsBefore = this.#oomKillsEver();
    this.#held = true;
    this.#vacated = false;
  }

  pids(): number[] {
    const { home } = this.#parts;
    return home === undefined ? [] : processesIn(home.mount);
  }

  /** Whether nobody is in it, or in a group that a member made below it. */
  isEmpty(): boolean {
    const { home } = this.#parts;
    if (this.#vacated || home === undefined) return true;
    const file = home.version === 2 ? 'cgroup.events' : 'cgroup.procs';
    try {
      this.#populationFd ??= openSync(join(home.mount, file), 'r');
      const into = this.#population;
      const text = into.toString('latin1', 0, readSync(this.#populationFd, into, 0, into.length, 0));
      return home.version === 2 ? text.includes('populated 0') : text === '';
    } catch {
      // Someone removed the group; or descriptors have run out, and it is not known.
      return !existsSync(home.mount);
    }
  }

  /** Whether it may have another use. */
  get reusable(): boolean {
    return !this.#retired;
  }

  /** This use is its last. */
  retire(): void {
    this.#retired = true;
  }

  /** Call it once the leader has been reaped: what it left behind is killed. */
  killLeftovers(): void {
    if (this.isEmpty()) this.#vacated = true;
    else this.kill();
  }

  /** SIGKILL to every member. Those killed vanish from `pids()` soon after, not at once. */
  kill(): void {
    const { home } = this.#parts;
    if (home === undefined) return;
    this.retire();
    const killFile = join(home.mount, 'cgroup.kill');
    if (existsSync(killFile)) {
      write(killFile, '1');
      return;
    }
    // Linux before 5.14. Nothing new is born from here on, so that reading and killing comes to an end.
    writeIfThere(join(home.mount, 'cgroup.freeze'), '1');
    if (home.version === 1 && this.#parts.pids !== undefined) this.#limitPids(0);
    const killed = new Set<number>();
    for (let round = 0; round < killRoundsMax; round++) {
      const fresh = this.pids().filter((pid) => !killed.has(pid));
      if (fresh.length === 0) return;
      for (const pid of fresh) {
        killed.add(pid);
        killQuietly(pid);
      }
    }
  }

  /** How many members the kernel killed for want of memory since `acquire`. 0 without a memory limit. */
  oomKills(): number {
    return this.#oomKillsEver() - this.#oomKillsBefore;
  }

  /** Gives the group back. Members still in it keep it from being reused. */
  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#parts.takeBack(this);
  }

  /** For InstanceCgroups. */
  remove(): void {
    if (this.#populationFd !== undefined) closeSync(this.#populationFd);
    this.#populationFd = undefined;
    const { home, memory, pids } = this.#parts;
    for (const tree of [memory, pids, home]) if (tree !== undefined) removeIfEmpty(tree.mount);
  }

  #limitMemory(max: number | undefined): void {
    if (max === this.#memoryMax) return;
    const tree = this.#parts.memory;
    if (tree === undefined) throw unavailable('memory');
    if (max === undefined && !this.#holdsAll(tree)) return;
    makeGroup(tree.mount);
    if (tree.version === 2) {
      write(join(tree.mount, 'memory.max'), String(max ?? 'max'));
      writeIfThere(join(tree.mount, 'memory.swap.max'), max === undefined ? 'max' : '0');
    } else {
      // memory + swap may never be below memory: open it first, close it last.
      const both = join(tree.mount, 'memory.memsw.limit_in_bytes');
      writeIfThere(both, '-1');
      write(join(tree.mount, 'memory.limit_in_bytes'), String(max ?? -1));
      if (max !== undefined) writeIfThere(both, String(max));
    }
    this.#memoryMax = max;
  }

  #limitPids(max: number | undefined): void {
    if (max === this.#pidsMax) return;
    const tree = this.#parts.pids;
    if (tree === undefined) throw unavailable('pids');
    if (max === undefined && !this.#holdsAll(tree)) return;
    makeGroup(tree.mount);
    write(join(tree.mount, 'pids.max'), String(max ?? 'max'));
    this.#pidsMax = max;
  }

  /** Whether members are in this tree's group without joining it: then its limits bind a use that asks for none, too. */
  #holdsAll(tree: ControllerTree): boolean {
    return tree.mount === this.#parts.home?.mount;
  }

  #oomKillsEver(): number {
    const tree = this.#parts.memory;
    if (tree === undefined || this.#limits.memoryMaxBytes === undefined) return 0;
    const file = join(tree.mount, tree.version === 2 ? 'memory.events' : 'memory.oom_control');
    return Number(/^oom_kill (\d+)$/m.exec(readIfThere(file))?.[1] ?? 0);
  }
}

function unavailable(controller: string): SfsdError {
  return new SfsdError('SFSD_ERR_KERNEL', {
    call: `a limit by the ${controller} controller`,
    reason: 'no cgroup tree of this host offers it to us',
  });
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {} // It ended by itself.
}
