/**
 * One daemon for one socket, and so for one journal: taken before anything is read, removed or demoted, so that a second one leaves the
 * first alone, also while that one still starts, or is stopped and answers nobody.
 *
 * flock(2) on a file beside the socket: the kernel lets go of it at the holder's death, however it dies. An abstract socket would be
 * another one in another network namespace, where the same path may well be seen; a record lock of fcntl(2) is lost when any descriptor
 * of the file is closed. The file stays: removing it would let two daemons each lock one of that name.
 */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../../api/listen.js';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import type { Libc } from '../../linux/libc.js';

const errnoTryAgain = -11;

export interface InstanceLock {
  /** Lets the next one in. */
  close(): void;
}

/** Throws SFSD_ERR_SECOND_INSTANCE, SFSD_ERR_FILE. */
export async function lockInstance(libc: Libc, socketPath: string): Promise<InstanceLock> {
  const path = `${socketPath}.lock`;
  const fd = await open(path);
  const result = libc.lockExclusive(fd);
  if (result === 0) {
    ftruncateSync(fd);
    writeSync(fd, `${process.pid}\n`, 0);
    return { close: () => closeSync(fd) };
  }
  closeSync(fd);
  if (result === errnoTryAgain)
    throw new SfsdError('SFSD_ERR_SECOND_INSTANCE', { path: socketPath, pid: holderOf(path) });
  throw new SfsdError('SFSD_ERR_FILE', { file: path, reason: `it cannot be locked (errno ${-result})` });
}

async function open(path: string): Promise<number> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  try {
    await makeFolder(dirname(path));
    return openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (thrown) {
    const reason = `it cannot be made (${reasonOf(thrown)}); give another path with --socket`;
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason }, { cause: thrown });
  }
}

function holderOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}
