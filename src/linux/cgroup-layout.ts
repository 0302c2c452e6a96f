/**
 * Where the cgroup hierarchies of this host are mounted. Three layouts are met:
 *
 *   v1      each controller has its own tree               /sys/fs/cgroup/memory, /sys/fs/cgroup/pids, ...
 *   hybrid  the same, and an empty cgroup2 tree beside     ... and /sys/fs/cgroup/unified
 *   v2      one tree for all                               /sys/fs/cgroup
 *
 * A path such as `/openfaas-fn/hello` is relative to each tree's mount. Mounts are read once: a host does not change its layout
 * while it runs functions.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type CgroupVersion = 'v1' | 'hybrid' | 'v2' | 'none';

export interface ControllerTree {
  readonly mount: string;
  readonly version: 1 | 2;
}

/** Most groups visited below one path; a deeper tree is cut off. */
const groupsPerPathMax = 1024;

/** Where a path is looked for, in this order: trees that container managers fill come first. */
const searchOrder = ['pids', 'memory', 'cpu', 'cpuacct', 'freezer', 'systemd'];

export class CgroupLayout {
  readonly version: CgroupVersion;
  readonly #trees: ReadonlyMap<string, string>;
  readonly #unified: string | undefined;

  private constructor(trees: ReadonlyMap<string, string>, unified: string | undefined) {
    this.#trees = trees;
    this.#unified = unified;
    const withControllers = [...trees.keys()].some((name) => name !== 'systemd');
    if (unified === undefined) this.version = trees.size === 0 ? 'none' : 'v1';
    else this.version = withControllers ? 'hybrid' : 'v2';
  }

  /** @param options.root put before every mount point: for layouts rebuilt in a directory. */
  static detect(options: { readonly mountinfo?: string; readonly root?: string } = {}): CgroupLayout {
    const trees = new Map<string, string>();
    let unified: string | undefined;
    const mountinfo = options.mountinfo ?? readFileSync('/proc/self/mountinfo', 'utf8');
    for (const line of mountinfo.split('\n')) {
      const mount = parseMount(line);
      if (mount === undefined) continue;
      const point = join(options.root ?? '', mount.point);
      if (mount.type === 'cgroup2') unified ??= point;
      else for (const name of mount.controllers) if (!trees.has(name)) trees.set(name, point);
    }
    return new CgroupLayout(trees, unified);
  }

  /** The mount of the cgroup2 tree. */
  get unifiedPath(): string | undefined {
    return this.#unified;
  }

  /** The tree in which `controller` can be used; on cgroup2, when the root offers it. */
  tree(controller: string): ControllerTree | undefined {
    const mount = this.#trees.get(controller);
    if (mount !== undefined) return { mount, version: 1 };
    if (this.#unified === undefined) return undefined;
    const offered = readWords(join(this.#unified, 'cgroup.controllers'));
    return offered.includes(controller) ? { mount: this.#unified, version: 2 } : undefined;
  }

  controllerPath(controller: string): string | undefined {
    return this.tree(controller)?.mount;
  }

  /**
   * The directory of the group `path` in the first tree where it holds tasks, else the first where it exists at all.
   * Undefined: no tree has it, or the path is not below a mount.
   */
  directoryOf(path: string): string | undefined {
    if (!isGroupPath(path)) return undefined;
    const mounts = [
      ...(this.#unified === undefined ? [] : [this.#unified]),
      ...searchOrder.flatMap((name) => this.#trees.get(name) ?? []),
      ...this.#trees.values(),
    ];
    const directories = [...new Set(mounts)].map((mount) => join(mount, path)).filter(isDirectory);
    return directories.find((directory) => tasksBelow(directory).length > 0) ?? directories[0];
  }

  /** Thread ids in the group and all groups below it. Empty when it is gone. */
  tasksOf(path: string): number[] {
    const directory = this.directoryOf(path);
    return directory === undefined ? [] : tasksBelow(directory);
  }
}

/** Absolute, not the root, and without steps upwards. */
export function isGroupPath(path: string): boolean {
  if (!path.startsWith('/') || path.includes('\0')) return false;
  const steps = path.split('/').filter((step) => step !== '');
  return steps.length > 0 && !steps.includes('..') && !steps.includes('.');
}

/** Thread ids in a group's directory and below, once each. */
export function tasksBelow(directory: string): number[] {
  const tids = new Set<number>();
  for (const group of groupsBelow(directory)) {
    for (const tid of tasksIn(group)) tids.add(tid);
  }
  return [...tids];
}

/** Process ids directly in a group's directory; zombies are not listed by the kernel. */
export function processesIn(directory: string): number[] {
  return readNumbers(join(directory, 'cgroup.procs'));
}

/** The directory itself and all below it, parents first, at most `groupsPerPathMax`. */
export function groupsBelow(directory: string): string[] {
  const groups = [directory];
  for (let index = 0; index < groups.length && groups.length < groupsPerPathMax; index++) {
    const parent = groups[index] ?? directory;
    for (const name of subdirectories(parent)) groups.push(join(parent, name));
  }
  return groups.slice(0, groupsPerPathMax);
}

function tasksIn(directory: string): number[] {
  const unified = join(directory, 'cgroup.threads');
  return readNumbers(existsSync(unified) ? unified : join(directory, 'tasks'));
}

function subdirectories(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return []; // Removed between two looks.
  }
}

function readNumbers(file: string): number[] {
  return readWords(file).map(Number);
}

function readWords(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split(/\s+/)
      .filter((word) => word !== '');
  } catch {
    return []; // Removed between two looks: nothing is in it.
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

interface CgroupMount {
  readonly point: string;
  readonly type: 'cgroup' | 'cgroup2';
  readonly controllers: readonly string[];
}

/** One line of proc_pid_mountinfo(5): `36 35 98:0 /root /point options [tags] - type source superoptions`. */
function parseMount(line: string): CgroupMount | undefined {
  const [left, right] = line.split(' - ');
  const point = left?.split(' ')[4];
  const [type, , options] = right?.split(' ') ?? [];
  if (point === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return undefined;
  const controllers = (options ?? '')
    .split(',')
    .filter((option) => !mountFlags.has(option))
    .map((option) => (option === 'name=systemd' ? 'systemd' : option))
    .filter((option) => !option.includes('='));
  return { point: unescapeMount(point), type, controllers };
}

const mountFlags = new Set(['rw', 'ro', 'xattr', 'noprefix', 'clone_children', 'cpuset_v2_mode']);

/** Blanks and backslashes in a mount point are written as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
