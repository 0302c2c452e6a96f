/**
 * One cgroup for each running function instance: it carries the limits, and whatever the instance leaves behind (a double-forked
 * child is nobody's child) can still be found and killed in it.
 *
 *   acquire ──▶ in use ──▶ release ──▶ empty: pooled for the same function, or removed: the pool is full, or somebody was killed in it
 *                                 └──▶ not empty yet: draining, looked at again at each later acquire, release and close
 *
 * Groups are reused because making and removing one in each tree costs more than a short function runs.
 * `instance-cgroup.ts` says what a group is.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, SfsdError } from '../contracts/errors.js';
import { isRefusal, makeGroup, removeIfEmpty } from './cgroup-files.js';
import { type CgroupLayout, type ControllerTree, isGroupPath } from './cgroup-layout.js';
import { InstanceCgroup, type InstanceLimits } from './instance-cgroup.js';

/** Idle groups kept: of one function, and in all. */
const idlePerFunctionMax = 16;
const idleMax = 512;
/** Draining groups looked at in one call; the others have their turn later. */
const sweptPerCallMax = 8;
/** Names tried for one new group: leftovers of an earlier daemon may hold some. */
const namesTriedMax = 10_000;

/** A function may be called `tasks` or `..`: the prefix keeps its group apart from the kernel's files and the tree's own steps. */
const prefix = 'fn-';
const functionNamePattern = /^[-a-zA-Z0-9_.]{1,128}$/;

export class InstanceCgroups {
  /** Trees in which we may make no group. Without any, nothing carries limits or finds what an instance left behind. */
  readonly refusedMounts: readonly string[];
  readonly #parent: string;
  readonly #home: ControllerTree | undefined;
  readonly #memory: ControllerTree | undefined;
  readonly #pids: ControllerTree | undefined;
  /** Each tree once. */
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
    const unified: ControllerTree | undefined =
      layout.unifiedPath === undefined ? undefined : { mount: layout.unifiedPath, version: 2 };
    const trees = [unified, layout.tree('pids'), layout.tree('memory')];
    const offered = [...new Set(trees.flatMap((tree) => tree?.mount ?? []))];
    this.#mounts = offered.filter((mount) => this.#prepareParent(mount, mount === unified?.mount));
    this.refusedMounts = offered.filter((mount) => !this.#mounts.includes(mount));
    const usable = trees.map((tree) => (tree && this.#mounts.includes(tree.mount) ? tree : undefined));
    [, this.#pids, this.#memory] = usable;
    this.#home = usable.find((tree) => tree !== undefined);
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
    for (const group of this.#draining) group.remove();
    this.#draining.clear();
    this.#idle.clear();
    this.#idleCount = 0;
    for (const mount of this.#mounts) removeIfEmpty(join(mount, this.#parent));
  }

  #make(functionName: string): InstanceCgroup {
    for (let tries = 0; tries < namesTriedMax; tries++) {
      const name = `${prefix}${functionName}-${this.#nextNumber++}`;
      if (this.#mounts.some((mount) => existsSync(join(mount, this.#parent, name)))) continue;
      const home = this.#at(this.#home, name);
      if (home !== undefined) makeGroup(home.mount);
      return new InstanceCgroup({
        functionName,
        home,
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
    if (group.isEmpty()) this.#keepIdle(group);
    else this.#draining.add(group);
    this.#sweep();
  }

  #sweep(most = sweptPerCallMax): void {
    const held = this.#draining.size;
    let looked = 0;
    for (const group of this.#draining) {
      if (++looked > Math.min(most, held)) return;
      this.#draining.delete(group);
      if (group.isEmpty()) this.#keepIdle(group);
      else this.#draining.add(group); // Last in turn.
    }
  }

  #keepIdle(group: InstanceCgroup): void {
    const idle = this.#idle.get(group.functionName) ?? [];
    if (this.#closed || !group.reusable || idle.length >= idlePerFunctionMax || this.#idleCount >= idleMax) {
      group.remove();
      return;
    }
    idle.push(group);
    this.#idle.set(group.functionName, idle);
    this.#idleCount++;
  }

  /** Whether groups can be made there. */
  #prepareParent(mount: string, unified: boolean): boolean {
    const parent = join(mount, this.#parent);
    try {
      makeGroup(parent);
    } catch (thrown) {
      if (isRefusal(thrown)) return false;
      throw thrown;
    }
    for (const name of readdirSync(parent)) if (name.startsWith(prefix)) removeIfEmpty(join(parent, name));
    // On cgroup2 a controller reaches a group only when every group above hands it down.
    if (unified) for (const above of chain(mount, parent)) handDown(above);
    return true;
  }
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
