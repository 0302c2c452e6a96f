/**
 * The daemon's side of the guard: starts the C program, starts it again when it was killed, and tells of it. What the two share is the
 * journal alone: native/guard/journal.h.
 *
 *   start ─▶ guard (a session of its own, no child of the spawner's) ─▶ watching
 *   killed ─▶ a new one, at once the first time, then after a delay that doubles up to `restartDelayMaxMs`
 *   close ─▶ `closing` in the journal ─▶ it ends with its next look, once the list is empty
 *
 * Invocations go on while there is none: only a second failure, of the daemon itself, would need it, and after that one ExecStopPost and
 * the next start still demote what is on the list.
 */
import { type ChildProcess, spawn as startProcess } from 'node:child_process';
import type { Logger } from 'pino';
import { reasonOf } from '../../contracts/errors.js';
import type { GuardBody } from '../../contracts/http.js';
import type { JournalFile } from '../../linux/journal-file.js';
import {
  entryHeld,
  guardStates,
  journalEntryBytes,
  journalHeaderBytes,
  journalOffsets,
} from '../../linux/journal-layout.js';
import type { Libc } from '../../linux/libc.js';
import { withoutResetOnFork } from '../../linux/realtime-fork.js';

export interface GuardOptions {
  readonly libc: Libc;
  /** The C program. */
  readonly programPath: string;
  readonly journal: JournalFile;
  readonly priority: number;
  readonly stallMs: number;
  readonly log: Logger;
}

const stableMs = 5_000;
const restartDelayMinMs = 50;
const restartDelayMaxMs = 1_000;
const readyMaxMs = 2_000;
const readyPollMs = 2;
/** A look is 100 ms at most. */
const endMaxMs = 1_000;
const { header, entry } = journalOffsets;

interface Life {
  readonly process: ChildProcess;
  readonly bornAtMs: number;
}

export class Guard {
  readonly #options: GuardOptions;
  readonly #words: Uint32Array;
  #life: Life | undefined;
  #restart: NodeJS.Timeout | undefined;
  #restartDelayMs = 0;
  #restarts = 0;
  #closing = false;
  #whenEnded: (() => void) | undefined;

  private constructor(options: GuardOptions) {
    this.#options = options;
    const { memory } = options.journal;
    this.#words = new Uint32Array(memory.buffer, memory.byteOffset, memory.byteLength / 4);
  }

  /** Resolves once it watches. When it cannot be started that is logged, and tried again. */
  static async start(options: GuardOptions): Promise<Guard> {
    const guard = new Guard(options);
    guard.#begin();
    for (let waitedMs = 0; waitedMs < readyMaxMs && !guard.#watches(); waitedMs += readyPollMs)
      await new Promise((resolve) => setTimeout(resolve, readyPollMs));
    return guard;
  }

  get pid(): number | undefined {
    return this.#life?.process.pid;
  }

  status(): GuardBody {
    const { journal } = this.#options;
    const read = (offset: number) => Atomics.load(this.#words, offset / 4);
    const pid = this.#watches() ? this.pid : undefined;
    const stalled = read(header.guardState) === guardStates.stalled;
    return {
      state: pid === undefined ? 'missing' : stalled ? 'stalled' : 'watching',
      ...(pid === undefined ? {} : { pid }),
      epoch: read(header.epoch),
      tasks: this.#tasks(read(header.entriesUsed)),
      tasksMax: read(header.entryCount),
      demoted: read(header.demoted),
      stalls: read(header.stalls),
      restarts: this.#restarts,
      journal: journal.path,
    };
  }

  /** After the last demotion. Bounded; whatever is on the list still is demoted at our end. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    Atomics.store(this.#words, header.closing / 4, 1);
    if (this.#life === undefined) return;
    let deadline: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#whenEnded = resolve;
      deadline = setTimeout(resolve, endMaxMs);
    });
    clearTimeout(deadline);
  }

  #watches(): boolean {
    const { pid } = this;
    return pid !== undefined && Atomics.load(this.#words, header.guardPid / 4) === pid;
  }

  #tasks(used: number): number {
    let held = 0;
    for (let index = 0; index < used; index += 1) {
      const at = (journalHeaderBytes + index * journalEntryBytes + entry.state) / 4;
      if (this.#words[at] === entryHeld) held += 1;
    }
    return held;
  }

  #begin(): void {
    const { libc, programPath, priority, stallMs, journal } = this.#options;
    const args = [
      '--priority',
      String(priority),
      '--stall-ms',
      String(stallMs),
      '--daemon',
      String(process.pid),
    ];
    const child = withoutResetOnFork(libc, () =>
      startProcess(programPath, args, {
        cwd: '/',
        env: {},
        stdio: ['ignore', 'ignore', 'inherit', journal.fd],
        detached: true,
      }),
    );
    child.unref();
    const life: Life = { process: child, bornAtMs: performance.now() };
    this.#life = life;
    child.on('error', (error) => this.#ended(life, reasonOf(error)));
    child.on('exit', (code, signal) =>
      this.#ended(life, signal === null ? `exit code ${code}` : `signal ${signal}`),
    );
  }

  #ended(life: Life, reason: string): void {
    if (this.#life !== life) return;
    this.#life = undefined;
    this.#whenEnded?.();
    if (this.#closing) return;
    const stable = performance.now() - life.bornAtMs >= stableMs;
    const delayMs = stable ? 0 : this.#restartDelayMs;
    this.#options.log.error({ event: 'guard_lost', pid: life.process.pid, reason, restartInMs: delayMs });
    this.#beginAfter(delayMs);
  }

  #beginAfter(delayMs: number): void {
    this.#restartDelayMs = Math.min(Math.max(restartDelayMinMs, 2 * delayMs), restartDelayMaxMs);
    this.#restart = setTimeout(() => {
      this.#restarts += 1;
      try {
        this.#begin();
      } catch (thrown) {
        // Descriptors may have run out, and may come back.
        this.#options.log.error({ event: 'guard_not_started', reason: reasonOf(thrown) });
        this.#beginAfter(this.#restartDelayMs);
      }
    }, delayMs).unref();
  }
}
