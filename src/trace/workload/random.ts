/**
 * Seeded random numbers: xoshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), its state
 * filled by splitmix32 from the seed and a label. Our own, because Math.random cannot be seeded and a workload must be the same on
 * every host and Node release. Each purpose (durations, gaps, order) takes a stream by its own label: asking for other gaps does not
 * change the durations.
 */

const twoTo32 = 2 ** 32;
const twoTo53 = 2 ** 53;

export class RandomStream {
  readonly #state: Uint32Array;

  /** @param seed integer from 0 to 2^53 - 1. */
  constructor(seed: number, label: string) {
    let mixed = (seed >>> 0) ^ Math.imul(Math.floor(seed / twoTo32), 0x9e3779b9);
    for (const letter of label) mixed = Math.imul(mixed ^ (letter.codePointAt(0) ?? 0), 0x01000193);
    this.#state = new Uint32Array(4).map(() => {
      mixed = (mixed + 0x9e3779b9) | 0;
      let word = mixed ^ (mixed >>> 16);
      word = Math.imul(word, 0x21f0aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
      return word ^ (word >>> 15);
    });
    if (this.#state.every((word) => word === 0)) this.#state[0] = 1;
  }

  /** Uniform integer in [0, 2^32). */
  word(): number {
    const state = this.#state;
    const [a = 0, b = 0, c = 0, d = 0] = state;
    const scrambled = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    const third = c ^ a;
    const fourth = d ^ b;
    state[1] = b ^ third;
    state[0] = a ^ fourth;
    state[2] = third ^ (b << 9);
    state[3] = rotated(fourth, 11);
    return scrambled;
  }

  /** Uniform in [0, 1), with 53 random bits. */
  uniform(): number {
    const high = this.word() >>> 5;
    const low = this.word() >>> 6;
    return (high * 2 ** 26 + low) / twoTo53;
  }

  /** Uniform integer in [0, bound). The bias of the multiplication is below bound / 2^53. */
  below(bound: number): number {
    return Math.floor(this.uniform() * bound);
  }

  /** Exponential with mean 1. */
  exponential(): number {
    return -Math.log(1 - this.uniform());
  }

  /** Standard normal, by Box and Muller; the second value of each pair is not used, so that a draw has no hidden state. */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** Fisher and Yates, in place. */
  shuffle(list: unknown[]): void {
    for (let last = list.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      const kept = list[last];
      list[last] = list[other];
      list[other] = kept;
    }
  }
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
