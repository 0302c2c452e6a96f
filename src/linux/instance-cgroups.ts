/**
 * One cgroup for each running function instance: it carries the limits, and whatever the instance leaves behind (a double-forked
 * child is nobody's child) can still be found and killed in it.
 *
 *   acquire ──▶ in use ──▶ release ──▶ empty: pooled for the same function, or removed when the pool is full
 *                                 └──▶ not empty yet: draining, looked at again at each later acquire, release and close
 *
 * Groups are reused because making and removing one in each tree costs more than a short function runs.
 * A group is one directory on cgroup2, and one in the memory and one in the pids tree on v1; limits are written only when they
 * differ from what the group has.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, reasonOf, SfsdError } from '../contracts/errors.js';
import { type CgroupLayout, type ControllerTree, isGroupPath, processesIn } from './cgroup-layout.js';

export interface InstanceLimits {
  readonly memoryMaxBytes?: number;
  readonly pidsMax?: number;
}

/** Idle groups kept: of one function, and in all. */
const idlePerFunctionMax = 16;
const idleMax = 512;
/** Draining groups looked at in one call; the others have their turn later. */
const sweptPerCallMax = 8;
/** Rounds of reading and killing; with no new forks allowed one round suffices, the rest is for what came in between. */
const killRoundsMax = 64;
/** Names tried for one new group: leftovers of an earlier daemon may hold some. */
const namesTriedMax = 10_000;

/** A function may be called `tasks` or `..`: the prefix keeps its group apart from the kernel's files and the tree's own steps. */
const prefix = 'fn-';
const functionNamePattern = /^[-a-zA-Z0-9_.]{1,128}$/;

export class InstanceCgroups {
  readonly #parent: string;
  readonly #memory: ControllerTree | undefined;
  readonly #pids: ControllerTree | undefined;
  readonly #mounts: readonly string[];
  readonly #idle = new Map<string, InstanceCgroup[]>();
  readonly #draining = new Set<InstanceCgroup>();
  #idleCount = 0;
  #nextNumber = 1;
  #closed = false;

  /** @param options.parent this daemon's own group, for example `/sfsd`; one daemon only. */
  constructor(layout: CgroupLayout, options: { readonly parent: string }) {
    assert(isGroupPath(options.parent), 'the parent of instance cgroups is an absolute path below the root');
    this.#parent = options.parent;
    this.#memory = layout.tree('memory');
    this.#pids = layout.tree('pids');
    const mounts = [this.#pids, this.#memory].flatMap((tree) => (tree === undefined ? [] : [tree.mount]));
    if (mounts.length === 0 && layout.unifiedPath !== undefined) mounts.push(layout.unifiedPath);
    this.#mounts = [...new Set(mounts)];
    for (const mount of this.#mounts) this.#prepareParent(mount, mount === layout.unifiedPath);
  }

  /** Throws SFSD_ERR_KERNEL when a group cannot be made or a limit cannot be set; nothing is left behind then. */
  acquire(functionName: string, limits: InstanceLimits): InstanceCgroup {
    assert(!this.#closed, 'no group is acquired after close');
    assert(functionNamePattern.test(functionName), 'a function name holds only [-a-zA-Z0-9_.]');
    this.#sweep();
    const idle = this.#idle.get(functionName)?.pop();
    if (idle !== undefined) this.#idleCount--;
    const group = idle ?? this.#make(functionName);
    try {
      group.start(limits);
    } catch (thrown) {
      group.remove();
      throw thrown;
    }
    return group;
  }

  /** Removes all our empty groups, at stop. What still holds tasks is left to whoever kills them. */
  close(): void {
    this.#closed = true;
    this.#sweep(Number.POSITIVE_INFINITY);
    for (const groups of this.#idle.values()) for (const group of groups) group.remove();
    this.#idle.clear();
    this.#idleCount = 0;
    for (const mount of this.#mounts) removeIfEmpty(join(mount, this.#parent));
  }

  #make(functionName: string): InstanceCgroup {
    for (let tries = 0; tries < namesTriedMax; tries++) {
      const name = `${prefix}${functionName}-${this.#nextNumber++}`;
      const directories = this.#mounts.map((mount) => join(mount, this.#parent, name));
      if (directories.some((directory) => existsSync(directory))) continue;
      for (const directory of directories) make(directory);
      return new InstanceCgroup({
        functionName,
        directories,
        memory: this.#at(this.#memory, name),
        pids: this.#at(this.#pids, name),
        takeBack: (group) => this.#takeBack(group),
      });
    }
    throw new SfsdError('SFSD_ERR_KERNEL', {
      call: 'mkdir',
      reason: 'every name tried is taken by a leftover',
    });
  }

  #at(tree: ControllerTree | undefined, name: string): ControllerTree | undefined {
    return tree && { mount: join(tree.mount, this.#parent, name), version: tree.version };
  }

  /** The one given back is looked at first: most are empty by then. */
  #takeBack(group: InstanceCgroup): void {
    if (group.pids().length > 0) this.#draining.add(group);
    else this.#keepIdle(group);
    this.#sweep();
  }

  #sweep(most = sweptPerCallMax): void {
    const held = this.#draining.size;
    let looked = 0;
    for (const group of this.#draining) {
      if (++looked > Math.min(most, held)) return;
      this.#draining.delete(group);
      if (group.pids().length > 0) {
        this.#draining.add(group); // Last in turn.
        continue;
      }
      this.#keepIdle(group);
    }
  }

  #keepIdle(group: InstanceCgroup): void {
    const idle = this.#idle.get(group.functionName) ?? [];
    if (this.#closed || idle.length >= idlePerFunctionMax || this.#idleCount >= idleMax) {
      group.remove();
      return;
    }
    idle.push(group);
    this.#idle.set(group.functionName, idle);
    this.#idleCount++;
  }

  #prepareParent(mount: string, unified: boolean): void {
    const parent = join(mount, this.#parent);
    make(parent);
    for (const name of readdirSync(parent)) if (name.startsWith(prefix)) removeIfEmpty(join(parent, name));
    // On cgroup2 a controller reaches a group only when every group above hands it down.
    if (unified) for (const above of chain(mount, parent)) handDown(above);
  }
}

interface InstanceParts {
  readonly functionName: string;
  readonly directories: readonly string[];
  /** The group's own directory in the tree of each controller. */
  readonly memory: ControllerTree | undefined;
  readonly pids: ControllerTree | undefined;
  readonly takeBack: (group: InstanceCgroup) => void;
}

export class InstanceCgroup {
  readonly functionName: string;
  /** Files to which a process writes its pid, or 0 for itself, to join. */
  readonly procsFiles: readonly string[];
  readonly #parts: InstanceParts;
  #memoryMax: number | undefined;
  #pidsMax: number | undefined;
  #oomKillsBefore = 0;
  #held = false;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
    this.functionName = parts.functionName;
    this.procsFiles = parts.directories.map((directory) => join(directory, 'cgroup.procs'));
  }

  /** A new use under these limits. For InstanceCgroups. */
  start(limits: InstanceLimits): void {
    this.#limitMemory(limits.memoryMaxBytes);
    this.#limitPids(limits.pidsMax);
    this.#oomKillsBefore = this.#oomKillsEver();
    this.#held = true;
  }

  pids(): number[] {
    const pids = new Set(this.#parts.directories.flatMap(processesIn));
    return [...pids];
  }

  /** SIGKILL to every member. Those killed vanish from `pids()` soon after, not at once. */
  kill(): void {
    const [first] = this.#parts.directories;
    if (first !== undefined && existsSync(join(first, 'cgroup.kill'))) {
      write(join(first, 'cgroup.kill'), '1');
      return;
    }
    // Nothing new is born from here on, so that reading and killing comes to an end.
    if (this.#parts.pids !== undefined) this.#limitPids(0);
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

  /** How many members the kernel killed for want of memory since `acquire`. */
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
    for (const directory of this.#parts.directories) removeIfEmpty(directory);
  }

  #limitMemory(max: number | undefined): void {
    if (max === this.#memoryMax) return;
    const tree = this.#parts.memory;
    if (tree === undefined) throw unavailable('memory');
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
    write(join(tree.mount, 'pids.max'), String(max ?? 'max'));
    this.#pidsMax = max;
  }

  #oomKillsEver(): number {
    const tree = this.#parts.memory;
    if (tree === undefined) return 0;
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

/** `mount`, and each group from there to `group`. */
function chain(mount: string, group: string): string[] {
  const groups = [group];
  for (let above = group; above !== mount && above !== '/'; ) {
    above = dirname(above);
    groups.unshift(above);
  }
  return groups;
}

/** A group that offers no such controller, or has tasks of its own, refuses; a limit that is then asked for fails with its name. */
function handDown(group: string): void {
  for (const controller of ['memory', 'pids']) {
    try {
      writeFileSync(join(group, 'cgroup.subtree_control'), `+${controller}`);
    } catch {}
  }
}

function make(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
  } catch (thrown) {
    throw new SfsdError(
      'SFSD_ERR_KERNEL',
      { call: `mkdir ${directory}`, reason: reasonOf(thrown) },
      { cause: thrown },
    );
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (thrown) {
    throw new SfsdError(
      'SFSD_ERR_KERNEL',
      { call: `write ${file}`, reason: reasonOf(thrown) },
      { cause: thrown },
    );
  }
}

function writeIfThere(file: string, text: string): void {
  if (existsSync(file)) write(file, text);
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {} // Not empty, or gone already.
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {} // It ended by itself.
}
