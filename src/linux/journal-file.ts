/**
 * The file behind the journal of promoted tasks. It must outlive the daemon and be found by whoever comes after it, and a store into it must
 * never wait for a disk: so it lies beside the socket where that is in memory (/run is), else in /dev/shm under the socket's name.
 *
 * It is made under another name and renamed: whoever reads the old one still has it, and nobody ever sees half of one. Only we may
 * read or write it, and what stands there already is never opened.
 */
import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import {
  journalBytes,
  journalEntryBytes,
  journalHeaderBytes,
  journalMagic,
  journalOffsets,
  journalPathBytes,
  journalVersion,
} from './journal-layout.js';
import type { Libc } from './libc.js';

const memoryFileSystem = 0x01021994;
const sharedMemory = '/dev/shm';
const fileNameBytesMax = 255;

export interface JournalFile {
  readonly path: string;
  /** For the guard, and for the scheduling thread, which maps it again. */
  readonly fd: number;
  readonly memory: Uint8Array;
  /** Removes the file; the memory stays. */
  close(): void;
}

export interface JournalOptions {
  readonly libc: Libc;
  readonly path: string;
  readonly entryCount: number;
  /** Of them, those of protected processes: promotion-journal.ts. */
  readonly protectedCount: number;
  /** Real-time priority of promoted functions. */
  readonly priority: number;
  /** The v1 cpu tree and our group in it; empty where there is none. */
  readonly cpuMount: string;
  readonly cpuGroup: string;
}

export function journalPathFor(socketPath: string): string {
  const beside = `${socketPath}.journal`;
  if (isInMemory(dirname(socketPath)) || !isInMemory(sharedMemory)) return beside;
  // One name for one path: what stands for a slash is doubled where it is meant.
  const name = `sfsd${socketPath.replaceAll('-', '--').replaceAll('/', '-')}.journal`;
  return Buffer.byteLength(name) > fileNameBytesMax ? beside : join(sharedMemory, name);
}

/** Throws SFSD_ERR_FILE. */
export function makeJournal(options: JournalOptions): JournalFile {
  const { libc, path, entryCount } = options;
  const fresh = `${path}.${process.pid}`;
  let fd = -1;
  try {
    rmSync(fresh, { force: true });
    const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    fd = openSync(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    ftruncateSync(fd, journalBytes(entryCount));
    writeSync(fd, header(options), 0, journalHeaderBytes, 0);
    const memory = libc.mapShared(fd, journalBytes(entryCount));
    if (typeof memory === 'number') throw new Error(`mmap failed with errno ${-memory}`);
    renameSync(fresh, path);
    const opened = fd;
    return {
      path,
      fd,
      memory,
      close: () => {
        rmSync(path, { force: true });
        closeSync(opened);
      },
    };
  } catch (thrown) {
    if (fd >= 0) closeSync(fd);
    rmSync(fresh, { force: true });
    const reason = `the journal of promoted tasks cannot be made there (${reasonOf(thrown)})`;
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason }, { cause: thrown });
  }
}

function header({ entryCount, protectedCount, priority, cpuMount, cpuGroup }: JournalOptions): Buffer {
  const bytes = Buffer.alloc(journalHeaderBytes);
  const offsets = journalOffsets.header;
  bytes.writeUInt32LE(journalMagic, offsets.magic);
  bytes.writeUInt32LE(journalVersion, offsets.version);
  bytes.writeUInt32LE(entryCount, offsets.entryCount);
  bytes.writeUInt32LE(journalEntryBytes, offsets.entryBytes);
  bytes.writeUInt32LE(protectedCount, offsets.entriesUsed);
  bytes.writeUInt32LE(process.pid, offsets.daemonPid);
  bytes.writeUInt32LE(priority, offsets.priority);
  const fits = [cpuMount, cpuGroup].every((text) => Buffer.byteLength(text) < journalPathBytes);
  if (fits) {
    bytes.write(cpuMount, offsets.cpuMount);
    bytes.write(cpuGroup, offsets.cpuGroup);
  }
  return bytes;
}

function isInMemory(folder: string): boolean {
  try {
    return statfsSync(folder).type === memoryFileSystem;
  } catch {
    return false;
  }
}
