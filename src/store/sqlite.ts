/**
 * SQLite through better-sqlite3, whose binding our own build compiles (native/Makefile): the package's install script would fetch one.
 * Which of SQLite's refusals mean what to us is told here and nowhere else.
 */
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { reasonOf } from '../contracts/errors.js';

export type SqliteDatabase = Database.Database;
export type SqliteStatement = Database.Statement<unknown[]>;

const bindingName = `better-sqlite3-${process.versions.modules}.node`;
const bindingPath = fileURLToPath(new URL(`../../../native/build/${bindingName}`, import.meta.url));

/** A daemon that is being replaced may still be closing the file. */
const busyTimeoutMs = 1000;

/** Throws what SQLite throws; a binding that is missing, or of another Node, is told with what to do. */
export function openSqlite(path: string): SqliteDatabase {
  try {
    return new Database(path, { nativeBinding: bindingPath, timeout: busyTimeoutMs });
  } catch (cause) {
    if (codeOf(cause).startsWith('SQLITE')) throw cause;
    throw new Error(
      `${reasonOf(cause)}; SQLite is built for each Node: run \`npm run build\` with Node ${process.version}`,
      { cause },
    );
  }
}

/** damaged: not a database, or not a whole one. */
export type SqliteFault = 'damaged' | 'busy' | 'full' | 'other';

export function faultOf(thrown: unknown): SqliteFault {
  const code = codeOf(thrown);
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') return 'damaged';
  // A read past the end of a truncated file.
  if (code === 'SQLITE_IOERR_SHORT_READ') return 'damaged';
  if (code.startsWith('SQLITE_BUSY')) return 'busy';
  return code === 'SQLITE_FULL' ? 'full' : 'other';
}

/** SQLite's message and its code, which says more. */
export function sqliteReason(thrown: unknown): string {
  const code = codeOf(thrown);
  return code === '' ? reasonOf(thrown) : `${reasonOf(thrown)} (${code})`;
}

function codeOf(thrown: unknown): string {
  const code = (thrown as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
