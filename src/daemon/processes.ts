/**
 * What the API's rules on targets ask about processes that others started: the kernel's answers, from /proc.
 *
 * examine   1. take hold of the process (pidfd, kept stat file)  2. read whose it is by its number  3. read the kept stat file
 *           again: had the process ended meanwhile, step 2 might have read another's, and it fails
 */
import type { Processes, ProcessFacts } from '../api/ports.js';
import { openIdentity } from '../linux/identity.js';
import type { Libc } from '../linux/libc.js';
import { pidTranslator, type TranslatePid } from '../linux/pid-namespace.js';
import { ProcStat } from '../linux/proc-stat.js';
import { cgroupPaths, ProcText, uidOf } from '../linux/proc-text.js';

const init = 1;
const kernelThreadDaemon = 2;

export class HostProcesses implements Processes {
  readonly #libc: Libc;
  readonly #helperPids: () => readonly (number | undefined)[];
  readonly #text: ProcText;
  readonly #stat = new ProcStat();
  readonly #ownPid = process.pid;
  /** Where pid 1 and this daemon are: they do not move. */
  readonly #initCgroups: readonly string[];
  readonly #ownCgroups: readonly string[];

  /** @param helperPids of what the daemon started for itself: the spawner. */
  constructor(libc: Libc, helperPids: () => readonly (number | undefined)[]) {
    this.#libc = libc;
    this.#helperPids = helperPids;
    this.#text = new ProcText(libc);
    this.#initCgroups = this.#cgroupsOf(init);
    this.#ownCgroups = this.#cgroupsOf(process.pid);
  }

  isOurs(pid: number): boolean {
    return pid === this.#ownPid || this.#helperPids().includes(pid);
  }

  examine(pid: number, want: { readonly cgroups: boolean }): ReturnType<Processes['examine']> {
    const identity = openIdentity(this.#libc, pid);
    if (identity === 'gone') return 'gone';
    if (identity === 'denied') return this.#whyDenied(pid);
    try {
      const status = this.#text.read(`/proc/${pid}/status`);
      const cgroups = want.cgroups ? this.#cgroupsOf(pid) : [];
      if (this.#stat.read(this.#libc, identity.statFd) === 'gone') return 'gone';
      if (typeof status === 'number') return 'hidden';
      // Functions are children of the spawner: what is a child of ours is a helper.
      if (this.#stat.parent === process.pid) return 'ours';
      const uid = uidOf(status);
      const facts: ProcessFacts = { startTime: identity.startTime, cgroups };
      return uid === undefined ? facts : { ...facts, uid };
    } finally {
      this.#libc.close(identity.pidfd);
      this.#libc.close(identity.statFd);
    }
  }

  holds(cgroup: string): 'init' | 'ours' | undefined {
    const isBelow = (path: string) => path === cgroup || path.startsWith(`${cgroup}/`);
    if (this.#ownCgroups.some(isBelow)) return 'ours';
    return this.#initCgroups.some(isBelow) ? 'init' : undefined;
  }

  translator(peerPid: number): TranslatePid {
    return pidTranslator(this.#libc, peerPid);
  }

  #whyDenied(pid: number): 'ours' | 'kernel-thread' | 'hidden' {
    if (pid === process.pid) return 'ours';
    const text = this.#text.read(`/proc/${pid}/stat`);
    if (typeof text === 'number' || this.#stat.parse(Buffer.from(text, 'latin1')) === 'gone') return 'hidden';
    const isKernels = this.#stat.isKernelThread || this.#stat.parent === kernelThreadDaemon;
    return isKernels || pid === kernelThreadDaemon ? 'kernel-thread' : 'hidden';
  }

  #cgroupsOf(pid: number): readonly string[] {
    const text = this.#text.read(`/proc/${pid}/cgroup`);
    return typeof text === 'string' ? cgroupPaths(text) : [];
  }
}
