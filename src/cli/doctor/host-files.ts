/** Files of the host that say what the kernel has. Each check takes the folder they are under, `/` on a host, so that every answer can be shown. */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Undefined: it is not there, or not for us. */
export function textOf(root: string, path: string): string | undefined {
  return bytesOf(root, path)?.toString().trim();
}

/** What the kernel was built with, `y` or `m`; `n`: it was not; undefined: nothing here tells. */
export function kernelOption(root: string, name: string): string | undefined {
  const packed = bytesOf(root, 'proc/config.gz');
  const text =
    packed === undefined ? textOf(root, `boot/config-${release()}`) : gunzipSync(packed).toString();
  if (text === undefined) return undefined;
  return new RegExp(`^CONFIG_${name}=(.*)$`, 'm').exec(text)?.[1] ?? 'n';
}

function bytesOf(root: string, path: string): Buffer | undefined {
  try {
    return readFileSync(join(root, path));
  } catch {
    return undefined;
  }
}
