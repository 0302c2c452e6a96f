/**
 * The schema of the store, as the steps that lead to it. Step n takes a file from version n - 1 to version n, in one transaction with the
 * version itself, so a file always has a version that is true.
 *
 *   user_version     the version
 *   application_id   `sfsd`: a database of somebody else's is refused, not migrated
 *
 * A step that has been released is never edited: files exist that went through it. What a row means is told beside its table.
 */
import type { SqliteDatabase } from './sqlite.js';

/** `sfsd` in ASCII. */
export const applicationId = 0x73667364;

const steps: readonly string[] = [
  // 1: `definition` is the FunctionSpec as JSON. Times are milliseconds since 1970.
  `CREATE TABLE functions (
     name TEXT PRIMARY KEY,
     definition TEXT NOT NULL,
     created_at INTEGER NOT NULL
   ) STRICT;`,
  // 2: asynchronous invocations. lost_at NULL: in flight. `refused`: rows that a daemon could not use.
  `CREATE TABLE invocations (
     sequence INTEGER PRIMARY KEY,
     source TEXT NOT NULL,
     id TEXT NOT NULL,
     function TEXT NOT NULL,
     arrived_at REAL NOT NULL,
     lost_at REAL,
     UNIQUE (source, id)
   ) STRICT;
   CREATE TABLE refused (
     name TEXT PRIMARY KEY,
     definition TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     refused_at INTEGER NOT NULL,
     reason TEXT NOT NULL
   ) STRICT;`,
  // 3: what is believed of CPU times; weights are 32-bit floats, little-endian, one for each bucket.
  `CREATE TABLE beliefs (
     sequence INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     weights BLOB NOT NULL
   ) STRICT;`,
];

export const schemaVersion = steps.length;

/** 0: nothing is in it yet. */
export function versionOf(database: SqliteDatabase): number {
  return Number(database.pragma('user_version', { simple: true }));
}

/** An empty database is nobody's yet. */
export function isForeign(database: SqliteDatabase): boolean {
  if (Number(database.pragma('application_id', { simple: true })) === applicationId) return false;
  const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get();
  return Number(tables) > 0;
}

/** The version must not be newer than ours. @returns how many steps were taken. */
export function migrate(database: SqliteDatabase): number {
  const from = versionOf(database);
  steps.slice(from).forEach((step, index) => {
    database.transaction(() => {
      database.exec(step);
      database.pragma(`application_id = ${applicationId}`);
      database.pragma(`user_version = ${from + index + 1}`);
    })();
  });
  return schemaVersion - from;
}
