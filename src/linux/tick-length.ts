/**
 * The kernel's scheduler tick: how far a running task's CPU time lags behind when read from outside. sysconf(_SC_CLK_TCK) is 100
 * whatever the tick is, so the kernel's build configuration is asked.
 */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { gunzipSync } from 'node:zlib';
import { type Duration, duration } from '../contracts/time.js';

/** Debian's and Ubuntu's kernels tick 250 times a second. */
const ticksDefault = 250;

export function tickLength(): Duration {
  const config =
    readConfig(() => gunzipSync(readFileSync('/proc/config.gz')).toString('latin1')) ??
    readConfig(() => readFileSync(`/boot/config-${release()}`, 'latin1'));
  return duration(1_000_000 / (ticksIn(config ?? '') ?? ticksDefault));
}

/** CONFIG_HZ of a kernel's build configuration. */
export function ticksIn(config: string): number | undefined {
  const ticks = Number(/^CONFIG_HZ=(\d+)$/m.exec(config)?.[1] ?? 0);
  return ticks > 0 ? ticks : undefined;
}

function readConfig(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined; // Kernels may be built without it.
  }
}
