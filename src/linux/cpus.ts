/**
 * The CPUs that FILTER may use: online, in our cpuset, in our affinity, without the reserved ones. sched_getaffinity answers all but the
 * last in one call, and follows hotplug and cpuset changes, so it can be asked again at every poll.
 *
 * Reserved are the lowest numbers, where interrupts land by default; one CPU always remains.
 */
import type { Libc } from './libc.js';

/** 8192 CPUs, the most that a kernel can be built for. */
export const affinityBytes = 1024;

export class UsableCpus {
  readonly #libc: Libc;
  readonly #reserve: number;
  readonly #mask = new Uint8Array(affinityBytes);
  readonly #seen = new Uint8Array(affinityBytes);
  #numbers: readonly number[] = [];

  constructor(libc: Libc, options: { readonly reserve: number }) {
    this.#libc = libc;
    this.#reserve = options.reserve;
    this.refresh();
  }

  /** In rising order; never empty. */
  get numbers(): readonly number[] {
    return this.#numbers;
  }

  get count(): number {
    return this.#numbers.length;
  }

  /** Looks again; true when the CPUs have changed. To be called on a thread that is not pinned. */
  refresh(): boolean {
    this.#mask.fill(0);
    if (this.#libc.schedGetaffinity(0, this.#mask) < 0) return false;
    if (this.#numbers.length > 0 && this.#isAsSeen()) return false;
    this.#seen.set(this.#mask);
    const allowed = cpusIn(this.#mask);
    this.#numbers = allowed.slice(Math.min(this.#reserve, allowed.length - 1));
    return true;
  }

  #isAsSeen(): boolean {
    for (let index = 0; index < affinityBytes; index++) {
      if (this.#mask[index] !== this.#seen[index]) return false;
    }
    return true;
  }
}

/** CPU numbers of an affinity mask, least significant bit first. */
export function cpusIn(mask: Uint8Array): number[] {
  const numbers: number[] = [];
  for (let cpu = 0; cpu < mask.length * 8; cpu++) {
    if (((mask[cpu >> 3] ?? 0) & (1 << (cpu & 7))) !== 0) numbers.push(cpu);
  }
  return numbers;
}

/** The mask of one CPU, for binding an invocation to a worker's core. */
export function maskOf(cpu: number): Uint8Array {
  const mask = new Uint8Array(affinityBytes);
  mask[cpu >> 3] = 1 << (cpu & 7);
  return mask;
}
