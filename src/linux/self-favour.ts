/**
 * The daemon's own threads, and its spawner, where nothing may be real-time (mode eevdf): as far ahead under the fair scheduler as the kernel lets them. They
 * compete with the functions that they favour: beside 24 spinning threads at nice -15 the API was seen to answer after 2.5 s without it.
 *
 * Reset-on-fork, which needs no privilege to be set, keeps weight and slice from what is started later: a new spawner, or a late
 * thread, for which `raise` is called again.
 */
import { readdirSync } from 'node:fs';
import type { Libc } from './libc.js';

const attributeWords = 12;
const attributeBytes = 48;
const flagResetOnFork = 1;
const niceAhead = -20;
/** The shortest that there is: whoever wakes with it is picked first. */
const sliceNs = 100_000;

export class SelfFavour {
  readonly #libc: Libc;
  readonly #words = new Uint32Array(attributeWords);
  readonly #bytes = new Uint8Array(this.#words.buffer);

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /**
   * One call for each thread that is ahead already.
   * @param others processes of one thread.
   */
  raise(others: readonly number[]): void {
    for (const tid of [...readdirSync('/proc/self/task').map(Number), ...others]) {
      if (this.#libc.schedGetattr(tid, this.#bytes) < 0 || this.#words[6] === sliceNs) continue;
      const nice = (this.#words[4] ?? 0) | 0;
      // Without CAP_SYS_NICE a slice is all that can be had.
      if (this.#set(tid, niceAhead) < 0) this.#set(tid, nice);
    }
  }

  #set(tid: number, nice: number): number {
    this.#words.fill(0);
    this.#words[0] = attributeBytes;
    this.#words[2] = flagResetOnFork;
    this.#words[4] = nice;
    this.#words[6] = sliceNs;
    return this.#libc.schedSetattr(tid, this.#bytes);
  }
}
