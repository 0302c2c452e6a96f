/**
 * The database file: opened whole or refused whole, then read and written by one thread.
 *
 *   open   1. folder (0700) and file (0600) are made when missing  2. the file is locked for as long as it is open  3. damaged: set
 *          aside, and 1. again, once  4. newer, foreign, busy, unreadable: refused, untouched  5. migrations  6. what was in flight is lost
 *   write  one transaction for a batch; on the disk before it returns if a function is in it, else with the kernel
 *
 * The lock is SQLite's own, held throughout (locking_mode=EXCLUSIVE): it goes with the process, however that ends, and lets the
 * write-ahead log do without shared memory. Rejected: a lock file, which a SIGKILL leaves behind.
 */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { assert, reasonOf, SfsdError } from '../contracts/errors.js';
import type { BeliefRow, FunctionRow } from '../contracts/store.js';
import { setFileAside } from './damaged-file.js';
import { isForeign, migrate, schemaVersion, versionOf } from './schema.js';
import { faultOf, openSqlite, type SqliteDatabase, sqliteReason } from './sqlite.js';
import { StoreStatements } from './store-statements.js';

export interface StoreFileOptions {
  readonly path: string;
  readonly lostMax: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Instants of another boot mean nothing, so the file holds milliseconds since 1970, with their fractions. */
export interface InvocationRow {
  readonly source: string;
  readonly id: string;
  readonly functionName: string;
  readonly arrivedAtUnixMs: number;
}

export interface LostRow extends InvocationRow {
  readonly lostAtUnixMs: number;
}

export type StoreChange =
  | { readonly kind: 'put'; readonly row: FunctionRow }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'setAside'; readonly name: string; readonly reason: string; readonly at: number }
  | { readonly kind: 'begin'; readonly row: InvocationRow }
  | { readonly kind: 'end'; readonly source: string; readonly id: string }
  | { readonly kind: 'keep'; readonly rows: readonly BeliefRow[] };

export interface StoreContents {
  readonly functions: readonly FunctionRow[];
  /** Oldest first. */
  readonly lost: readonly LostRow[];
  /** Those kept longest ago first. */
  readonly beliefs: readonly BeliefRow[];
  /** Where a damaged file went. */
  readonly setAside?: string;
  /** Why `lost` could not be written down: the next start will tell of them again. */
  readonly lostUnwritten?: string;
}

/** Bytes that the write-ahead log keeps after a checkpoint. */
const walKeptBytes = 4 * 1024 * 1024;

export class StoreFile {
  readonly contents: StoreContents;
  readonly #path: string;
  readonly #database: SqliteDatabase;
  readonly #statements: StoreStatements;

  /** Throws SFSD_ERR_STORE_UNUSABLE, SFSD_ERR_STORE_IN_USE or SFSD_ERR_STORE_NEWER, with nothing left open. */
  constructor(options: StoreFileOptions) {
    this.#path = options.path;
    const { database, setAside } = openOrSetAside(options);
    this.#database = database;
    try {
      migrate(database);
      this.#statements = new StoreStatements(database);
      const unwritten = this.#markLost(options);
      this.contents = {
        functions: this.#statements.functions(),
        lost: this.#statements.lost(options),
        beliefs: this.#statements.beliefs(),
        ...(setAside === undefined ? {} : { setAside }),
        ...(unwritten === undefined ? {} : { lostUnwritten: unwritten }),
      };
    } catch (thrown) {
      database.close();
      throw coded(thrown, options.path);
    }
  }

  /** All of it or, when it throws SFSD_ERR_STORE_FAILED, nothing. */
  apply(changes: readonly StoreChange[]): void {
    const durable = changes.some(({ kind }) => kind !== 'begin' && kind !== 'end' && kind !== 'keep');
    try {
      this.#database.pragma(`synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
      this.#database.transaction(() => {
        for (const change of changes) this.#statements.apply(change);
      })();
    } catch (cause) {
      const reason = sqliteReason(cause);
      throw new SfsdError('SFSD_ERR_STORE_FAILED', { path: this.#path, reason }, { cause });
    }
  }

  close(): void {
    this.#database.close();
  }

  /** A full disk must not keep the daemon down. */
  #markLost({ now, lostMax }: StoreFileOptions): string | undefined {
    try {
      this.#database.transaction(() => this.#statements.markLost({ now, lostMax }))();
      return undefined;
    } catch (thrown) {
      if (faultOf(thrown) === 'full') return sqliteReason(thrown);
      throw thrown;
    }
  }
}

interface Opened {
  readonly database: SqliteDatabase;
  readonly setAside?: string;
}

function openOrSetAside({ path, now }: StoreFileOptions): Opened {
  let setAside = '';
  const move = () => {
    setAside = setFileAside(path, new Date(now));
  };
  const first = openWhole(path, move);
  if (first !== 'damaged') return { database: first };
  const broken = () => {
    throw new Error('a new file came out damaged as well; look at the disk');
  };
  const second = openWhole(path, broken);
  assert(second !== 'damaged', 'a second damaged file is an error');
  return { database: second, setAside };
}

/** Locked, whole, ours, of a version that we know. A damaged file is moved before it is closed: SQLite would take its log away. */
function openWhole(path: string, move: () => void): SqliteDatabase | 'damaged' {
  let database: SqliteDatabase | undefined;
  try {
    if (prepareFile(path) === 'emptied') {
      move();
      return 'damaged';
    }
    database = openSqlite(path);
    if (lockedAndWhole(database, path)) return database;
    move();
    database.close();
    return 'damaged';
  } catch (thrown) {
    const fault = faultOf(thrown);
    try {
      if (fault === 'damaged') move();
    } catch (refused) {
      throw coded(refused, path);
    } finally {
      database?.close();
    }
    if (fault === 'damaged') return 'damaged';
    throw coded(thrown, path);
  }
}

/** Throws for what is not damaged and not to be used either. */
function lockedAndWhole(database: SqliteDatabase, path: string): boolean {
  database.pragma('locking_mode = EXCLUSIVE');
  const found = versionOf(database);
  if (isForeign(database)) throw new Error("it is somebody else's database, without sfsd's mark");
  if (found > schemaVersion)
    throw new SfsdError('SFSD_ERR_STORE_NEWER', { path, found, known: schemaVersion });
  database.pragma('journal_mode = WAL');
  database.pragma(`journal_size_limit = ${walKeptBytes}`);
  // Takes the lock, which is then held.
  database.exec('BEGIN IMMEDIATE; COMMIT');
  const [check] = database.pragma('quick_check(1)') as { readonly quick_check: string }[];
  return check?.quick_check === 'ok';
}

/** A file of ours is never empty once its first transaction is done: somebody, or a crash of the host, has cut it to nothing. */
function prepareFile(path: string): 'ready' | 'emptied' {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    closeSync(openSync(path, 'wx', 0o600));
    return 'ready';
  }
  if (!found.isFile()) throw new Error('it is not a regular file');
  // Definitions hold environments, and environments hold secrets.
  if ((found.mode & 0o077) !== 0) chmodSync(path, 0o600);
  return found.size === 0 ? 'emptied' : 'ready';
}

function coded(thrown: unknown, path: string): SfsdError {
  if (thrown instanceof SfsdError) return thrown;
  if (faultOf(thrown) === 'busy') return new SfsdError('SFSD_ERR_STORE_IN_USE', { path }, { cause: thrown });
  const reason = thrown instanceof Error && 'syscall' in thrown ? reasonOf(thrown) : sqliteReason(thrown);
  return new SfsdError('SFSD_ERR_STORE_UNUSABLE', { path, reason }, { cause: thrown });
}
