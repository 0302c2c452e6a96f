/**
 * Puts a server on its unix socket.
 *
 *   1. The server binds in a fresh directory that only we can enter, and the socket gets its mode there: under its final
 *      path it never exists with a wider one, and no process-wide umask is touched.
 *   2. Alone, by a lock: of two daemons that start at once each could remove what the other has just put there.
 *      a. A socket that is at the final path already is asked. If something answers, another daemon owns it
 *         (SFSD_ERR_SOCKET_IN_USE); if nobody does, its daemon died and it is removed.
 *      b. link(2) gives ours its final path. Unlike rename it fails when the path exists.
 *   3. At close the path is removed, if it is still this socket, and then the server stops accepting.
 *
 * Binding at the final path would be simpler, but node removes what it bound by name when it closes, whoever's it is by then.
 *
 * A supervisor may hold the socket instead and hand it down (sfsd.socket): then it is accepted from and no more, for its path, its mode
 * and its removal are the supervisor's.
 */
import { once } from 'node:events';
import { chmod, link, lstat, mkdir, mkdtemp, rm, rmdir, unlink } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { reasonOf, SfsdError } from '../contracts/errors.js';

/** sun_path, less its terminator; longer names would be cut without a word. */
const socketPathBytesMax = 107;
const stagingPrefix = '.sfsd-';
/** How long close waits for answers; the daemon as a whole has 5 s to end. */
const closeGraceMs = 2000;
/** The lock is held for some milliseconds. Older than `lockAgeMaxMs`, its holder was killed. */
const lockRetryMs = 20;
const lockAgeMaxMs = 2000;
const lockAttemptsMax = 250;

export interface ListenOptions {
  readonly path: string;
  /** Octal text, for example "0660". */
  readonly mode: string;
  /** A socket that listens on `path` already. */
  readonly inherited?: number;
}

export interface Listening {
  readonly path: string;
  /**
   * Removes the socket, refuses new connections, waits for the answers under way: at most `graceMs` (2,000 when absent), then
   * every connection is cut. Idempotent.
   */
  close(graceMs?: number): Promise<void>;
}

/** Throws SFSD_ERR_SOCKET_IN_USE and SFSD_ERR_FILE; then nothing is left behind. */
export async function listen(app: FastifyInstance, options: ListenOptions): Promise<Listening> {
  const { path, inherited } = options;
  await app.ready();
  try {
    if (inherited !== undefined) {
      app.server.listen({ fd: inherited });
      await once(app.server, 'listening');
      return { path, close: (graceMs = closeGraceMs) => cutAfter(app, graceMs) };
    }
    await makeFolder(dirname(path));
    const identity = await bind(app, options);
    return { path, close: (graceMs = closeGraceMs) => close(app, { path, identity, graceMs }) };
  } catch (thrown) {
    await app.close();
    if (thrown instanceof SfsdError) throw thrown;
    const reason = `no socket can be made there (${reasonOf(thrown)}); give another path with --socket`;
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason }, { cause: thrown });
  }
}

/**
 * With those above it. Node's own recursive mkdir tries for ever where the kernel answers ENOENT for what cannot be made, as
 * below /proc: in a thread of the pool, which is real-time here.
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o755 });
  } catch (thrown) {
    const code = errnoOf(thrown);
    if (code === 'ENOENT' && dirname(folder) !== folder) {
      await makeFolder(dirname(folder));
      await mkdir(folder, { mode: 0o755 }).catch(ifThere);
    } else if (code !== 'EEXIST') throw thrown;
  }
}

async function bind(app: FastifyInstance, { path, mode }: ListenOptions): Promise<string> {
  const staging = await mkdtemp(join(dirname(path), stagingPrefix));
  const staged = join(staging, 's');
  try {
    requireShort(path, staged);
    app.server.listen(staged);
    await once(app.server, 'listening');
    await chmod(staged, Number.parseInt(mode, 8));
    await alone(path, async () => {
      await makeWay(path);
      await link(staged, path);
    });
    return identityOf(await lstat(staged, { bigint: true }));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function requireShort(path: string, staged: string): void {
  const longest = Math.max(Buffer.byteLength(path), Buffer.byteLength(staged));
  if (longest <= socketPathBytesMax) return;
  const beside = Buffer.byteLength(staged) - Buffer.byteLength(dirname(path));
  throw new SfsdError('SFSD_ERR_FILE', {
    file: path,
    reason: `a socket's path has at most ${socketPathBytesMax} bytes, and its directory ${beside} less`,
  });
}

/** Leaves no dead socket at `path`. */
async function makeWay(path: string): Promise<void> {
  const found = await lstat(path).catch(ifMissing);
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason: 'it exists and is not a socket' });
  }
  const answer = await probe(path);
  if (answer === 'ENOENT') return;
  if (answer !== 'ECONNREFUSED') throw new SfsdError('SFSD_ERR_SOCKET_IN_USE', { path });
  await unlink(path).catch(ifMissing);
}

/**
 * Runs `action` while no other daemon that starts on this path does. mkdir(2) is the lock, since it fails when the folder
 * exists; a daemon that was killed while it held it leaves it behind, and it counts no more once it is too old.
 */
async function alone<Result>(path: string, action: () => Promise<Result>): Promise<Result> {
  const lock = `${path}.starting`;
  for (let attempt = 1; !(await taken(lock)); attempt += 1) {
    if (attempt === lockAttemptsMax) throw new SfsdError('SFSD_ERR_SOCKET_IN_USE', { path });
    await sleep(lockRetryMs);
  }
  try {
    return await action();
  } finally {
    await rmdir(lock).catch(ifMissing);
  }
}

async function taken(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  }
  const held = await lstat(lock).catch(ifMissing);
  if (held !== undefined && Date.now() - held.mtimeMs > lockAgeMaxMs) await rmdir(lock).catch(ifMissing);
  return false;
}

/** 'connected', or why not. EAGAIN is a full backlog, EACCES another user's daemon: both are somebody's. */
async function probe(path: string): Promise<string> {
  const socket = createConnection(path);
  try {
    await once(socket, 'connect');
    return 'connected';
  } catch (thrown) {
    return errnoOf(thrown);
  } finally {
    socket.destroy();
  }
}

async function close(
  app: FastifyInstance,
  options: { readonly path: string; readonly identity: string; readonly graceMs: number },
): Promise<void> {
  const { path, identity, graceMs } = options;
  const found = await lstat(path, { bigint: true }).catch(ifMissing);
  if (found !== undefined && identityOf(found) === identity) await unlink(path).catch(ifMissing);
  await cutAfter(app, graceMs);
}

async function cutAfter(app: FastifyInstance, graceMs: number): Promise<void> {
  // A client that has connected and says nothing counts as busy to node, and would hold the daemon for ever.
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
}

/** Inode numbers come back at once on some file systems; together with the time of creation they do not. */
function identityOf(stat: { readonly dev: bigint; readonly ino: bigint; readonly mtimeNs: bigint }): string {
  return `${stat.dev} ${stat.ino} ${stat.mtimeNs}`;
}

function ifThere(thrown: unknown): void {
  if (errnoOf(thrown) !== 'EEXIST') throw thrown;
}

function ifMissing(thrown: unknown): undefined {
  if (errnoOf(thrown) === 'ENOENT') return undefined;
  throw thrown;
}

function errnoOf(thrown: unknown): string {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'unknown';
}
