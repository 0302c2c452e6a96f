/**
 * One reading of /proc/PID/stat (or /proc/PID/task/TID/stat), proc_pid_stat(5):
 *
 *   pid (comm) state ppid pgrp session tty tpgid flags ... utime stime ... num_threads itrealvalue starttime ...
 *
 * comm is what the program calls itself: it may hold blanks, parentheses and line ends, so the fields start after the last `)`.
 * The numbers are found where they stand in the bytes: what is read at every poll allocates nothing.
 */
import type { Libc } from './libc.js';

/** Fields as proc_pid_stat(5) numbers them. */
const fieldState = 3;
const fieldParent = 4;
const fieldGroup = 5;
const fieldSession = 6;
const fieldFlags = 9;
const fieldMinorFaults = 10;
const fieldUserTime = 14;
const fieldSystemTime = 15;
const fieldThreads = 20;
const fieldStartTime = 22;

const blank = 0x20;
const closing = 0x29;
const zero = 0x30;

const stateRunning = 0x52; // R
const stateZombie = 0x5a; // Z
const stateDead = 0x58; // X

/** A comm of 64 bytes and 50 fields of 20 digits fit. */
const bytesMax = 2048;

const flagKernelThread = 0x00200000;

export class ProcStat {
  readonly #bytes = new Uint8Array(bytesMax);
  #length = 0;
  /** Where the state stands. */
  #start = 0;

  /** Reads again through a kept fd. 'gone': the task has ended (ESRCH), whoever has its number now. */
  read(libc: Libc, fd: number): 'ok' | 'gone' {
    const length = libc.pread(fd, this.#bytes, bytesMax);
    if (length <= 0) return 'gone';
    return this.#settle(length);
  }

  /** For text that was read elsewhere. */
  parse(text: Uint8Array): 'ok' | 'gone' {
    const length = Math.min(text.length, bytesMax);
    this.#bytes.set(text.subarray(0, length));
    return this.#settle(length);
  }

  /** The state's letter as a byte. */
  get state(): number {
    return this.#bytes[this.#start] ?? 0;
  }

  /** R: on a CPU or waiting for one. All else sleeps (S, D), is stopped (T, t), or has ended. */
  get isRunnable(): boolean {
    return this.state === stateRunning;
  }

  /** This one thread has ended. */
  get hasEnded(): boolean {
    const state = this.state;
    return state === stateZombie || state === stateDead;
  }

  /** The process has no living thread: a zombie leader may be outlived by its threads. */
  get ended(): boolean {
    return this.hasEnded && this.threads <= 1;
  }

  get parent(): number {
    return this.#number(fieldParent);
  }

  get processGroup(): number {
    return this.#number(fieldGroup);
  }

  get session(): number {
    return this.#number(fieldSession);
  }

  get isKernelThread(): boolean {
    return (this.#number(fieldFlags) & flagKernelThread) !== 0;
  }

  /** Of this task when read from /proc/PID/task/TID/stat. */
  get minorFaults(): number {
    return this.#number(fieldMinorFaults);
  }

  /** Clock ticks of 10 ms. */
  get userTicks(): number {
    return this.#number(fieldUserTime);
  }

  /** Clock ticks of 10 ms. */
  get systemTicks(): number {
    return this.#number(fieldSystemTime);
  }

  get threads(): number {
    return this.#number(fieldThreads);
  }

  /** Clock ticks since boot, as text: it may exceed 2^53. */
  get startTime(): string {
    const from = this.#offset(fieldStartTime);
    let to = from;
    while (to < this.#length && this.#bytes[to] !== blank) to++;
    return String.fromCharCode(...this.#bytes.subarray(from, to));
  }

  /** The same as a number: exact for some 2.8 million years of uptime. */
  get startTicks(): number {
    return this.#number(fieldStartTime);
  }

  #settle(length: number): 'ok' | 'gone' {
    const end = this.#bytes.lastIndexOf(closing, length - 1);
    if (end < 0 || end + 2 >= length) return 'gone';
    this.#length = length;
    this.#start = end + 2;
    return 'ok';
  }

  #number(field: number): number {
    let value = 0;
    let index = this.#offset(field);
    for (; index < this.#length; index++) {
      const digit = (this.#bytes[index] ?? blank) - zero;
      // tpgid alone may be negative, and is not read here.
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    return value;
  }

  #offset(field: number): number {
    let index = this.#start;
    for (let at = fieldState; at < field && index < this.#length; index++) {
      if (this.#bytes[index] === blank) at++;
    }
    return index;
  }
}
