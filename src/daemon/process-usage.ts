/**
 * CPU time and memory of processes, read from /proc by pidusage in libuv's pool: the control plane goes on meanwhile, and no child
 * process is started but by `primeProcessUsage`.
 *
 * What its source says (4.1.0), and what follows:
 *
 *   usePs         on Linux /proc/uptime and /proc/PID/stat are read, unless the option or PIDUSAGE_USE_PS asks for `ps`: false here
 *   first call    starts `getconf` twice through a shell for the clock tick and the page size, and keeps the answers: `prime` it
 *   maxage        a pid's file stays open until it was not asked for during that time, checked every half of it: short here
 *   a pid's end   between the opening of its file and the first reading leaves the file open for good: closed here (see Abandoned)
 */
import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import pidusage from 'pidusage';

export interface ProcessUse {
  readonly cpuMs: number;
  /** Since the process's start. */
  readonly ageMs: number;
  readonly memoryBytes: number;
}

/** Those that have ended are absent. */
export type ReadProcesses = (pids: readonly number[]) => Promise<ReadonlyMap<number, ProcessUse>>;

/** Longer than between two rounds for a viewer, so that files stay open; short, so that few of dead processes do. */
const keptMs = 2000;
const options = { usePs: false, maxage: keptMs };
/** Pids that ended unread, and so at most as many files that nobody will close. */
const abandonedMax = 64;

/** Forks: to be done before anything is real-time. */
export async function primeProcessUsage(): Promise<void> {
  await pidusage(process.pid, options);
}

export class ProcessUsage {
  readonly #abandoned = new Abandoned();

  readonly read: ReadProcesses = async (pids) => {
    const found = new Map<number, ProcessUse>();
    const answers = await answersFor(pids);
    for (const pid of pids) {
      const answer = answers[pid];
      this.#abandoned.note(pid, answer !== undefined && answer !== null);
      if (answer === undefined || answer === null) continue;
      found.set(pid, { cpuMs: answer.ctime, ageMs: answer.elapsed, memoryBytes: answer.memory });
    }
    return found;
  };
}

type Answers = Readonly<Record<number, pidusage.Status | null | undefined>>;

/** Of several pids, those that are gone are left out; a single one that is gone is thrown. */
async function answersFor(pids: readonly number[]): Promise<Answers> {
  if (pids.length === 0) return {};
  try {
    return await pidusage([...pids], options);
  } catch {
    return {};
  }
}

/** Finds the files of processes that ended before they were read once. Files of those that were read are closed by their age. */
class Abandoned {
  readonly #unread = new Set<number>();
  #readBefore = new Set<number>();
  #readNow = new Set<number>();
  #turnedAt = 0;

  note(pid: number, isRead: boolean): void {
    this.#turn();
    if (isRead) {
      this.#readNow.add(pid);
      this.#unread.delete(pid);
    } else if (!this.#readNow.has(pid) && !this.#readBefore.has(pid)) this.#unread.add(pid);
    if (this.#unread.size < abandonedMax) return;
    closeStatFiles(this.#unread);
    this.#unread.clear();
  }

  /** Two generations, each longer than a file is kept: nothing that was read lately is forgotten. */
  #turn(): void {
    if (performance.now() - this.#turnedAt < 2 * keptMs) return;
    this.#turnedAt = performance.now();
    this.#readBefore = this.#readNow;
    this.#readNow = new Set();
  }
}

/** Only pidusage opens /proc/PID/stat; the kernel adapter reads /proc/PID/task/TID/stat. */
function closeStatFiles(pids: ReadonlySet<number>): void {
  for (const fd of readdirSync('/proc/self/fd')) {
    const pid = /^\/proc\/(\d+)\/stat(?: \(deleted\))?$/.exec(targetOf(fd))?.[1];
    if (pid !== undefined && pids.has(Number(pid))) closeSync(Number(fd));
  }
}

/** The folder itself is among what it lists, and is closed by now. */
function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
