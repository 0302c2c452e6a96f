/**
 * The API's socket where the supervisor holds it (sd_listen_fds(3)): descriptor 3, if $LISTEN_PID says that it is meant for us and not for
 * somebody whose environment we got.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { SfsdError } from '../../contracts/errors.js';

const firstDescriptor = 3;

export interface SocketWanted {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Where clients look for it: socket.path. */
  readonly path: string;
  /** Where a descriptor's socket was bound. */
  readonly boundAt?: (descriptor: number) => string | undefined;
}

/** Throws SFSD_ERR_FILE when there are several, for nobody says which one is the API's, and when it is another path's. */
export function inheritedSocket(wanted: SocketWanted): number | undefined {
  const { environment, pid, path, boundAt = boundPath } = wanted;
  if (Number(environment.LISTEN_PID) !== pid) return undefined;
  const count = Number(environment.LISTEN_FDS);
  if (!(count > 0)) return undefined;
  if (count > 1)
    throw new SfsdError('SFSD_ERR_FILE', {
      file: 'sfsd.socket',
      reason: `the supervisor hands down ${count} sockets; leave one ListenStream= in it`,
    });
  const bound = boundAt(firstDescriptor);
  if (bound !== path)
    throw new SfsdError('SFSD_ERR_FILE', {
      file: path,
      reason: `the supervisor listens on ${bound ?? 'no path'} instead; give socket.path and ListenStream= of sfsd.socket the same one`,
    });
  return firstDescriptor;
}

/** Lines of /proc/net/unix: `address: references protocol flags type state inode path`. */
function boundPath(descriptor: number): string | undefined {
  const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1];
  if (inode === undefined) return undefined;
  const line = new RegExp(`^(?:\\S+ +){6}${inode} (.*)$`, 'm');
  return line.exec(readFileSync('/proc/net/unix', 'utf8'))?.[1];
}
