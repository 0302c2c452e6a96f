/**
 * Which processes `protect.rules` name, found in /proc without starting anything.
 *
 * A name or a pattern has to be asked of every process of the host, which takes tens of microseconds for each. So whoever does not fit is
 * asked again at every tenth look only; who is new, and who is protected already, at each. The control plane is given back after each
 * `processesPerTurn`.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { ProtectRule } from '../contracts/config.js';
import { type CgroupLayout, groupsBelow, processesIn } from '../linux/cgroup-layout.js';

/** About 1 ms of work. */
const processesPerTurn = 48;
/** Of a host; further ones are not looked at. */
const processesMax = 32_768;
const unfitLooks = 10;
/** TASK_COMM_LEN, less its terminator. */
const kernelNameMax = 15;

export class ProtectRules {
  readonly #layout: CgroupLayout;
  readonly #groups: readonly string[];
  readonly #pidFiles: readonly string[];
  readonly #commands: ReadonlySet<string>;
  readonly #patterns: readonly RegExp[];
  /** Pids that did not fit; rebuilt at each look, so that it holds living ones only. */
  #unfit = new Set<number>();
  #look = 0;

  constructor(layout: CgroupLayout, rules: readonly ProtectRule[]) {
    this.#layout = layout;
    this.#groups = rules.flatMap(({ cgroup }) => cgroup ?? []);
    this.#pidFiles = rules.flatMap(({ pidFile }) => pidFile ?? []);
    this.#commands = new Set(rules.flatMap(({ command }) => command ?? []));
    this.#patterns = rules.flatMap(({ commandPattern }) =>
      commandPattern === undefined ? [] : new RegExp(commandPattern, 'u'),
    );
  }

  /** @param isKept protected already: asked at each look. */
  async find(isKept: (pid: number) => boolean): Promise<ReadonlySet<number>> {
    const found = new Set<number>();
    for (const file of this.#pidFiles) {
      const pid = pidIn(file);
      if (pid !== undefined) found.add(pid);
    }
    for (const path of this.#groups) {
      const directory = this.#layout.directoryOf(path);
      if (directory === undefined) continue;
      for (const group of groupsBelow(directory)) for (const pid of processesIn(group)) found.add(pid);
    }
    if (this.#commands.size > 0 || this.#patterns.length > 0) await this.#search(found, isKept);
    return found;
  }

  async #search(found: Set<number>, isKept: (pid: number) => boolean): Promise<void> {
    this.#look++;
    const unfit = new Set<number>();
    let asked = 0;
    for (const pid of livingPids()) {
      if (found.has(pid)) continue;
      const waits = this.#unfit.has(pid) && !isKept(pid) && (pid + this.#look) % unfitLooks !== 0;
      if (!waits && this.#fits(pid)) found.add(pid);
      else unfit.add(pid);
      if (waits || ++asked % processesPerTurn !== 0) continue;
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#unfit = unfit;
  }

  #fits(pid: number): boolean {
    const line = textOf(`/proc/${pid}/cmdline`);
    // A kernel thread, or one that has ended.
    if (line === '') return false;
    if (this.#commands.size > 0 && this.#hasName(pid)) return true;
    const words = line.replace(/\0$/, '').replaceAll('\0', ' ');
    return this.#patterns.some((pattern) => pattern.test(words));
  }

  #hasName(pid: number): boolean {
    const name = textOf(`/proc/${pid}/comm`).trimEnd();
    if (this.#commands.has(name)) return true;
    if (name.length < kernelNameMax && !this.#couldBeRenamed(name)) return false;
    return this.#commands.has(programOf(pid));
  }

  /** A thread may call itself what it likes: its program's name is read for those that do not begin like any. */
  #couldBeRenamed(name: string): boolean {
    return ![...this.#commands].some((command) => command.slice(0, kernelNameMax) === name);
  }
}

function livingPids(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1)
    .slice(0, processesMax);
}

/** Name of the program's file; empty where it may not be read. */
function programOf(pid: number): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '');
  } catch {
    return '';
  }
}

function pidIn(file: string): number | undefined {
  const pid = Number.parseInt(textOf(file), 10);
  return pid > 1 ? pid : undefined;
}

/** Empty: it has ended, or was never there. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
