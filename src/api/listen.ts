/**
 * Puts a server on its unix socket.
 *
 *   1. A socket that is there already is asked: if something answers, another daemon owns it (SFSD_ERR_SOCKET_IN_USE);
 *      if nobody does, its daemon died and it is removed. The removal renames first and looks at what it took, because
 *      two daemons that start at once may both have found the same dead socket.
 *   2. The server binds in a fresh directory that only we can enter, and the socket gets its mode there: under its final
 *      path it never exists with a wider one, and no process-wide umask is touched.
 *   3. link(2) gives it its final path. Unlike rename it fails when the path exists, so of two daemons one wins.
 *   4. At close the path is removed, if it is still this socket, before the server stops accepting.
 *
 * Binding at the final path would be simpler, but node removes what it bound by name when it closes, whoever's it is by then.
 */
import { once } from 'node:events';
import { chmod, link, lstat, mkdir, mkdtemp, rename, rm, unlink } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { reasonOf, SfsdError } from '../contracts/errors.js';

/** sun_path, less its terminator; longer names would be cut without a word. */
const socketPathBytesMax = 107;
const stagingPrefix = '.sfsd-';
/** A daemon that dies or starts between two of our steps is met by looking again, this often at most. */
const attemptsMax = 3;

export interface ListenOptions {
  readonly path: string;
  /** Octal text, for example "0660". */
  readonly mode: string;
}

export interface Listening {
  readonly path: string;
  /** Removes the socket, refuses new connections, waits for the answers under way. */
  close(): Promise<void>;
}

/** Throws SFSD_ERR_SOCKET_IN_USE and SFSD_ERR_FILE; then nothing is left behind. */
export async function listen(app: FastifyInstance, options: ListenOptions): Promise<Listening> {
  const { path } = options;
  await app.ready();
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    const identity = await bind(app, options);
    return { path, close: () => close(app, path, identity) };
  } catch (thrown) {
    await app.close();
    if (thrown instanceof SfsdError) throw thrown;
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

async function bind(app: FastifyInstance, { path, mode }: ListenOptions): Promise<string> {
  await makeWay(path);
  const staging = await mkdtemp(join(dirname(path), stagingPrefix));
  const staged = join(staging, 's');
  try {
    if (Buffer.byteLength(path) > socketPathBytesMax || Buffer.byteLength(staged) > socketPathBytesMax) {
      throw new SfsdError('SFSD_ERR_FILE', {
        file: path,
        reason: `a socket's path, with ${staged.length - dirname(path).length} bytes beside its directory, has at most ${socketPathBytesMax} bytes`,
      });
    }
    app.server.listen(staged);
    await once(app.server, 'listening');
    await chmod(staged, Number.parseInt(mode, 8));
    await claim(staged, path);
    return identityOf(await lstat(path, { bigint: true }));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Retries when a daemon bound the path since we looked, and has died since. */
async function claim(staged: string, path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await link(staged, path);
      return;
    } catch (thrown) {
      if (errnoOf(thrown) !== 'EEXIST' || attempt === attemptsMax) throw thrown;
      await makeWay(path);
    }
  }
}

/** Leaves no dead socket at `path`. */
async function makeWay(path: string): Promise<void> {
  const found = await lstat(path, { bigint: true }).catch(ifMissing);
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason: 'it exists and is not a socket' });
  }
  const answer = await probe(path);
  if (answer === 'ENOENT') return;
  if (answer !== 'ECONNREFUSED') throw new SfsdError('SFSD_ERR_SOCKET_IN_USE', { path });
  await removeDead(path, identityOf(found));
}

async function removeDead(path: string, dead: string): Promise<void> {
  const aside = `${path}.dead-${process.pid}`;
  const moved = await rename(path, aside).then(() => true, ifMissing);
  if (moved === undefined) return;
  const taken = identityOf(await lstat(aside, { bigint: true }));
  if (taken !== dead) {
    // Another daemon was faster and this is its living socket.
    await link(aside, path);
    await unlink(aside);
    throw new SfsdError('SFSD_ERR_SOCKET_IN_USE', { path });
  }
  await unlink(aside);
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

async function close(app: FastifyInstance, path: string, identity: string): Promise<void> {
  const found = await lstat(path, { bigint: true }).catch(ifMissing);
  if (found !== undefined && identityOf(found) === identity) await unlink(path);
  await app.close();
}

/** Inode numbers come back at once on some file systems; with the time of creation they do not. Renaming keeps both. */
function identityOf(stat: { readonly dev: bigint; readonly ino: bigint; readonly mtimeNs: bigint }): string {
  return `${stat.dev} ${stat.ino} ${stat.mtimeNs}`;
}

function ifMissing(thrown: unknown): undefined {
  if (errnoOf(thrown) === 'ENOENT') return undefined;
  throw thrown;
}

function errnoOf(thrown: unknown): string {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'unknown';
}
