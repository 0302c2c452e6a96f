/**
 * A damaged database is kept for whoever wants to look into it, under a name that says when it was found:
 *
 *   sfsd.db  ->  sfsd.db.damaged-20260131T235959.123Z      its write-ahead log goes with it, under the same name and `-wal`
 *
 * The newest `damagedMax` are kept, so that a host with a dying disk does not fill it with them.
 */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export const damagedMax = 5;
const companions = ['-wal', '-shm', '-journal'];

/** @returns the new path. Throws what the file system throws. */
export function setFileAside(path: string, now: Date): string {
  const stamp = now.toISOString().replaceAll(/[-:]/g, '');
  const aside = `${path}.damaged-${stamp}`;
  renameSync(path, aside);
  for (const suffix of companions) {
    try {
      renameSync(path + suffix, aside + suffix);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    }
  }
  dropOldest(path);
  return aside;
}

function dropOldest(path: string): void {
  const beginning = `${basename(path)}.damaged-`;
  const files = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(beginning) && !companions.some((suffix) => name.endsWith(suffix)),
  );
  // The stamp sorts by time.
  for (const name of files.sort().slice(0, -damagedMax)) {
    for (const suffix of ['', ...companions]) rmSync(join(dirname(path), name + suffix), { force: true });
  }
}
