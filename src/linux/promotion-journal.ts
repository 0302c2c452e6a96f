/**
 * The scheduling thread's hand in the journal of promoted tasks: plain stores into mapped memory, no system call and no allocation.
 *
 *   enter ─▶ [ setNice │ setBound │ setHome ]* ─▶ leave
 *
 * Each is called before the call it stands for, and `leave` after everything has been undone: native/guard/journal.h. The store of an entry's
 * state is atomic, so that neither compiler nor processor lets it pass those of its fields.
 *
 * Free entries are a stack: the lowest numbers are used again and again, and the pages beyond them are never touched.
 */
import { assert } from '../contracts/errors.js';
import {
  entryFlags,
  entryFree,
  entryHeld,
  journalAffinityBytes,
  journalBytes,
  journalEntryBytes,
  journalHeaderBytes,
  journalHomeBytes,
  journalOffsets,
} from './journal-layout.js';

/** What is written of a task at its promotion. */
export interface JournalTask {
  readonly pid: number;
  readonly tid: number;
  /** Clock ticks since boot. */
  readonly startTicks: number;
}

export interface JournalScheduling {
  readonly policy: number;
  readonly nice: number;
  readonly runtimeNs: number;
}

/** The entries of protected processes stand before all others: their writer is another thread. */
export interface JournalShare {
  readonly count: number;
  readonly priority: number;
}

const word = 4;
const half = 2 ** 32;
const { header, entry } = journalOffsets;
const encoder = new TextEncoder();

export class PromotionJournal {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #free: Int32Array;
  #freeCount: number;
  #used: number;
  readonly #priority: number;
  #epoch: number;

  /**
   * @param memory a journal that was made (journal-file.ts), with none of the share's entries held.
   * @param share the entries that are this writer's alone, and the real-time priority of what it promotes. Absent: all that are no
   * protected process's, at FILTER's priority.
   */
  constructor(memory: Uint8Array, share?: JournalShare) {
    this.#words = new Int32Array(memory.buffer, memory.byteOffset, memory.byteLength / word);
    this.#bytes = memory;
    const count = this.#words[header.entryCount / word] ?? 0;
    assert(memory.byteLength >= journalBytes(count), 'the journal is as long as it says');
    this.#used = this.#words[header.entriesUsed / word] ?? 0;
    const first = share === undefined ? this.#used : 0;
    this.#priority = share?.priority ?? this.#words[header.priority / word] ?? 0;
    const own = share?.count ?? count - first;
    this.#free = new Int32Array(own);
    for (let index = 0; index < own; index += 1) this.#free[index] = first + own - 1 - index;
    this.#freeCount = own;
    this.#epoch = this.#readEpoch();
  }

  /** Tasks on the list. */
  get held(): number {
    return this.#free.length - this.#freeCount;
  }

  /** Once for each turn of the loop. @returns whether a guard has demoted everything since the last. */
  beat(): boolean {
    const at = header.heartbeat / word;
    Atomics.store(this.#words, at, ((this.#words[at] ?? 0) + 1) | 0 || 1);
    return this.isOvertaken();
  }

  /** Whether a guard has demoted everything since this was asked last. */
  isOvertaken(): boolean {
    const epoch = this.#readEpoch();
    if (epoch === this.#epoch) return false;
    this.#epoch = epoch;
    return true;
  }

  /** @returns the entry's number; below 0: the journal is full. */
  enter(task: JournalTask, scheduling: JournalScheduling): number {
    if (this.#freeCount === 0) return -1;
    this.#freeCount -= 1;
    const index = this.#free[this.#freeCount] ?? 0;
    if (index >= this.#used) {
      this.#used = index + 1;
      Atomics.store(this.#words, header.entriesUsed / word, this.#used);
    }
    const words = this.#words;
    const at = this.#at(index);
    words[at + entry.flags / word] = 0;
    words[at + entry.pid / word] = task.pid;
    words[at + entry.tid / word] = task.tid;
    words[at + entry.startTime / word] = task.startTicks % half;
    words[at + entry.startTime / word + 1] = Math.floor(task.startTicks / half);
    words[at + entry.policy / word] = scheduling.policy;
    words[at + entry.nice / word] = scheduling.nice;
    words[at + entry.runtimeNs / word] = scheduling.runtimeNs % half;
    words[at + entry.runtimeNs / word + 1] = Math.floor(scheduling.runtimeNs / half);
    words[at + entry.epoch / word] = this.#epoch;
    words[at + entry.priority / word] = this.#priority;
    Atomics.store(words, at + entry.state / word, entryHeld);
    return index;
  }

  leave(index: number): void {
    Atomics.store(this.#words, this.#at(index) + entry.state / word, entryFree);
    this.#free[this.#freeCount] = index;
    this.#freeCount += 1;
  }

  /** Its nice value is about to be another one than it had, or is again what it was. */
  setNice(index: number, changed: boolean): void {
    this.#flag(index, entryFlags.nice, changed);
  }

  /** @param before the CPUs that it may run on otherwise. @returns false: they do not fit, and it must not be bound. */
  setBound(index: number, before: Uint8Array): boolean {
    for (let at = journalAffinityBytes; at < before.length; at += 1) if (before[at] !== 0) return false;
    const start = this.#byteAt(index) + entry.affinity;
    for (let at = 0; at < journalAffinityBytes; at += 1) this.#bytes[start + at] = before[at] ?? 0;
    this.#flag(index, entryFlags.bound, true);
    return true;
  }

  /** @param home its group in the cpu tree. @returns false: it does not fit, and the task must not be moved. */
  setHome(index: number, home: string): boolean {
    const start = this.#byteAt(index) + entry.home;
    const room = this.#bytes.subarray(start, start + journalHomeBytes - 1);
    const { read, written } = encoder.encodeInto(home, room);
    if (read < home.length) return false;
    this.#bytes[start + written] = 0;
    this.#flag(index, entryFlags.moved, true);
    return true;
  }

  #flag(index: number, flag: number, on: boolean): void {
    const at = this.#at(index) + entry.flags / word;
    const flags = this.#words[at] ?? 0;
    Atomics.store(this.#words, at, on ? flags | flag : flags & ~flag);
  }

  #readEpoch(): number {
    return Atomics.load(this.#words, header.epoch / word);
  }

  #byteAt(index: number): number {
    return journalHeaderBytes + index * journalEntryBytes;
  }

  #at(index: number): number {
    return this.#byteAt(index) / word;
  }
}
