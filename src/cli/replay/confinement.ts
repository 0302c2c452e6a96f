/**
 * --cores: a daemon started from here, and every function it starts, runs on the first so many cores only. Children inherit the
 * affinity of the thread that starts them, so ours is narrowed for the length of the start; no helper program is needed.
 */
import { availableParallelism } from 'node:os';
import { SfsdError } from '../../contracts/errors.js';
import { loadKoffiLibc } from '../../linux/koffi-libc.js';

const maskBytes = 128;

export async function confined<Result>(
  cores: number | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (cores === undefined || cores >= availableParallelism()) return work();
  const loaded = loadKoffiLibc();
  if (!loaded.ok)
    throw new SfsdError('SFSD_ERR_KERNEL', { call: 'sched_setaffinity', reason: loaded.reason });
  const { libc } = loaded;
  const before = new Uint8Array(maskBytes);
  check(libc.schedGetaffinity(0, before));
  check(libc.schedSetaffinity(0, firstCores(before, cores)));
  try {
    return await work();
  } finally {
    check(libc.schedSetaffinity(0, before));
  }
}

/** The first `count` of the CPUs in a mask. */
export function firstCores(mask: Uint8Array, count: number): Uint8Array {
  const chosen = new Uint8Array(mask.length);
  let left = count;
  for (let cpu = 0; cpu < mask.length * 8 && left > 0; cpu++) {
    const bit = 1 << (cpu % 8);
    const byte = Math.floor(cpu / 8);
    if (((mask[byte] ?? 0) & bit) === 0) continue;
    chosen[byte] = (chosen[byte] ?? 0) | bit;
    left -= 1;
  }
  return chosen;
}

function check(result: number): void {
  if (result < 0)
    throw new SfsdError('SFSD_ERR_KERNEL', { call: 'sched_setaffinity', reason: `errno ${-result}` });
}
