/**
 * The two ways in which a group of processes is found: by descent, and by cgroup.
 *
 * Descent reads /proc/PID/task/TID/children, which lists the living and unreaped children of one thread. A process whose parent died is
 * adopted by another and vanishes from the tree: it is no member any more.
 */
import { join } from 'node:path';
import { type CgroupLayout, groupsBelow, isGroupPath, processesIn } from './cgroup-layout.js';
import type { Libc } from './libc.js';
import type { MemberProcess } from './member-process.js';
import type { Membership, ProcessSet } from './process-set.js';
import type { TrackingTools } from './tracked-tasks.js';

/** Bytes of one children list: about 2,000 children of one thread; more are not followed. */
const childrenBytesMax = 16_384;
const accountBytesMax = 512;
const blank = 0x20;
const zero = 0x30;

export class Descendants implements Membership {
  readonly hasLeader = true;
  readonly #tools: TrackingTools;
  readonly #text: Uint8Array;

  /** @param text `childrenBuffer()`, shared by all groups of a kernel. */
  constructor(tools: TrackingTools, text: Uint8Array) {
    this.#tools = tools;
    this.#text = text;
  }

  find(set: ProcessSet): void {
    // The list grows while it is walked: that is the walk down the tree.
    for (let index = 0; index < set.members.length; index++) {
      const member = set.members[index];
      if (member !== undefined && set.isKept(member)) this.#keepChildren(set, member);
    }
  }

  accountNs(): number {
    return -1;
  }

  close(): void {}

  #keepChildren(set: ProcessSet, member: MemberProcess): void {
    const { libc } = this.#tools;
    for (const task of member.tasks) {
      if (task.childrenFd < 0)
        task.childrenFd = libc.open(`/proc/${member.pid}/task/${task.tid}/children`, 0);
      if (task.childrenFd < 0) continue;
      const length = libc.pread(task.childrenFd, this.#text, this.#text.length);
      let pid = 0;
      for (let index = 0; index < length; index++) {
        const byte = this.#text[index] ?? blank;
        if (byte !== blank) {
          pid = pid * 10 + byte - zero;
          continue;
        }
        // Each number is followed by a blank: one that the buffer cut off is not taken.
        set.keep(pid, member.pid);
        pid = 0;
      }
    }
  }
}

export function childrenBuffer(): Uint8Array {
  return new Uint8Array(childrenBytesMax);
}

export class CgroupProcesses implements Membership {
  readonly hasLeader = false;
  readonly #tools: TrackingTools;
  readonly #directory: string;
  readonly #accountFd: number;
  readonly #accountUnitNs: number;
  readonly #text = new Uint8Array(accountBytesMax);

  private constructor(
    tools: TrackingTools,
    directory: string,
    account: { readonly fd: number; readonly unitNs: number },
  ) {
    this.#tools = tools;
    this.#directory = directory;
    this.#accountFd = account.fd;
    this.#accountUnitNs = account.unitNs;
  }

  static open(tools: TrackingTools, layout: CgroupLayout, path: string): CgroupProcesses | 'gone' | 'denied' {
    if (!isGroupPath(path)) return 'denied';
    const directory = layout.directoryOf(path);
    if (directory === undefined) return 'gone';
    return new CgroupProcesses(tools, directory, openAccount(tools.libc, layout, { path, directory }));
  }

  find(set: ProcessSet): void {
    for (const group of groupsBelow(this.#directory)) {
      for (const pid of processesIn(group)) {
        if (pid !== 1) set.keep(pid, 0);
      }
    }
  }

  accountNs(): number {
    if (this.#accountFd < 0) return -1;
    const length = this.#tools.libc.pread(this.#accountFd, this.#text, accountBytesMax);
    // `usage_usec 123\n...` or `123\n`: the first number.
    let value = 0;
    let digits = 0;
    for (let index = 0; index < length; index++) {
      const digit = (this.#text[index] ?? blank) - zero;
      if (digit >= 0 && digit <= 9) {
        value = value * 10 + digit;
        digits++;
      } else if (digits > 0) break;
    }
    return digits === 0 ? -1 : value * this.#accountUnitNs;
  }

  close(): void {
    if (this.#accountFd >= 0) this.#tools.libc.close(this.#accountFd);
  }
}

/**
 * cgroup2 keeps CPU time for every group; on v1 cpuacct does, but not where it is mounted together with cpu: a promoted thread
 * may have been moved within that tree. Then the members' clocks are summed.
 */
function openAccount(
  libc: Libc,
  layout: CgroupLayout,
  group: { readonly path: string; readonly directory: string },
): { readonly fd: number; readonly unitNs: number } {
  const unified = layout.unifiedPath;
  if (unified !== undefined && group.directory.startsWith(unified)) {
    return { fd: libc.open(join(group.directory, 'cpu.stat'), 0), unitNs: 1000 };
  }
  const accounts = layout.controllerPath('cpuacct');
  if (accounts === undefined || accounts === layout.controllerPath('cpu')) return { fd: -1, unitNs: 1 };
  // The path exists in the tree of cpuacct, but the tasks may not be in it: then nothing would ever be charged.
  const directory = join(accounts, group.path);
  const inIt = groupsBelow(directory).some((below) => processesIn(below).length > 0);
  return { fd: inIt ? libc.open(join(directory, 'cpuacct.usage'), 0) : -1, unitNs: 1 };
}
