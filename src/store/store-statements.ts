/**
 * The statements of the store, prepared once. Each change is one statement or two; transactions are the caller's.
 */
import type { BeliefRow, FunctionRow } from '../contracts/store.js';
import type { SqliteDatabase, SqliteStatement } from './sqlite.js';
import type { LostRow, StoreChange } from './store-file.js';

/** Rows kept of those that could not be used. */
const refusedMax = 1000;
/** As many as a daemon has in mind, and their priors. */
const beliefsMax = 20_000;

export class StoreStatements {
  readonly #put: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #refuse: SqliteStatement;
  readonly #dropRefused: SqliteStatement;
  readonly #begin: SqliteStatement;
  readonly #end: SqliteStatement;
  readonly #markLost: SqliteStatement;
  readonly #dropLost: SqliteStatement;
  readonly #keep: SqliteStatement;
  readonly #dropBeliefs: SqliteStatement;
  readonly #functions: SqliteStatement;
  readonly #beliefs: SqliteStatement;
  readonly #lost: SqliteStatement;

  constructor(database: SqliteDatabase) {
    const prepare = (sql: string): SqliteStatement => database.prepare<unknown[]>(sql);
    this.#put = prepare(
      `INSERT INTO functions (name, definition, created_at) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET definition = excluded.definition`,
    );
    this.#delete = prepare('DELETE FROM functions WHERE name = ?');
    this.#refuse = prepare(
      `INSERT OR REPLACE INTO refused (name, definition, created_at, refused_at, reason)
       SELECT name, definition, created_at, ?, ? FROM functions WHERE name = ?`,
    );
    this.#dropRefused = prepare(
      `DELETE FROM refused WHERE name NOT IN
       (SELECT name FROM refused ORDER BY refused_at DESC, name LIMIT ${refusedMax})`,
    );
    this.#begin = prepare(
      'INSERT OR REPLACE INTO invocations (source, id, function, arrived_at) VALUES (?, ?, ?, ?)',
    );
    this.#end = prepare('DELETE FROM invocations WHERE source = ? AND id = ?');
    this.#markLost = prepare('UPDATE invocations SET lost_at = ? WHERE lost_at IS NULL');
    this.#dropLost = prepare(
      'DELETE FROM invocations WHERE sequence <= (SELECT sequence FROM invocations ORDER BY sequence DESC LIMIT 1 OFFSET ?)',
    );
    this.#keep = prepare('INSERT OR REPLACE INTO beliefs (name, weights) VALUES (?, ?)');
    this.#dropBeliefs = prepare(
      `DELETE FROM beliefs WHERE sequence <= (SELECT sequence FROM beliefs ORDER BY sequence DESC LIMIT 1 OFFSET ${beliefsMax})`,
    );
    this.#beliefs = prepare('SELECT name, weights FROM beliefs ORDER BY sequence');
    this.#functions = prepare(
      'SELECT name, definition, created_at AS createdAtUnixMs FROM functions ORDER BY name',
    );
    // ifnull: a full disk kept the mark from being written.
    this.#lost = prepare(
      `SELECT source, id, function AS functionName, arrived_at AS arrivedAtUnixMs, ifnull(lost_at, ?) AS lostAtUnixMs
       FROM (SELECT * FROM invocations ORDER BY sequence DESC LIMIT ?) ORDER BY sequence`,
    );
  }

  apply(change: StoreChange): void {
    switch (change.kind) {
      case 'put':
        this.#put.run(change.row.name, change.row.definition, change.row.createdAtUnixMs);
        break;
      case 'delete':
        this.#delete.run(change.name);
        break;
      case 'setAside':
        this.#refuse.run(change.at, change.reason, change.name);
        this.#delete.run(change.name);
        this.#dropRefused.run();
        break;
      case 'begin': {
        const { source, id, functionName, arrivedAtUnixMs } = change.row;
        this.#begin.run(source, id, functionName, arrivedAtUnixMs);
        break;
      }
      case 'end':
        this.#end.run(change.source, change.id);
        break;
      case 'keep':
        for (const { name, weights } of change.rows) this.#keep.run(name, blobOf(weights));
        this.#dropBeliefs.run();
        break;
    }
  }

  /** At an open: nothing that was in flight runs any more. */
  markLost({ now, lostMax }: { readonly now: number; readonly lostMax: number }): void {
    this.#markLost.run(now);
    this.#dropLost.run(lostMax);
  }

  functions(): readonly FunctionRow[] {
    return this.#functions.all() as FunctionRow[];
  }

  beliefs(): readonly BeliefRow[] {
    const rows = this.#beliefs.all() as { readonly name: string; readonly weights: Buffer }[];
    return rows.map(({ name, weights }) => ({ name, weights: floatsOf(weights) }));
  }

  lost({ now, lostMax }: { readonly now: number; readonly lostMax: number }): readonly LostRow[] {
    return this.#lost.all(now, lostMax) as LostRow[];
  }
}

const floatBytes = 4;

function blobOf(weights: ArrayLike<number>): Buffer {
  const blob = Buffer.alloc(weights.length * floatBytes);
  for (let at = 0; at < weights.length; at += 1) blob.writeFloatLE(weights[at] ?? 0, at * floatBytes);
  return blob;
}

function floatsOf(blob: Buffer): Float32Array {
  return Float32Array.from({ length: Math.floor(blob.length / floatBytes) }, (_, at) =>
    blob.readFloatLE(at * floatBytes),
  );
}
