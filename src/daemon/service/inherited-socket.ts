/**
 * The API's socket where the supervisor holds it (sd_listen_fds(3)): descriptor 3, if $LISTEN_PID says that it is meant for us and not for
 * somebody whose environment we got.
 */
import { SfsdError } from '../../contracts/errors.js';

const firstDescriptor = 3;

/** Throws SFSD_ERR_FILE when there are several: nobody says which one is the API's. */
export function inheritedSocket(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): number | undefined {
  if (Number(environment.LISTEN_PID) !== pid) return undefined;
  const count = Number(environment.LISTEN_FDS);
  if (!(count > 0)) return undefined;
  if (count > 1)
    throw new SfsdError('SFSD_ERR_FILE', {
      file: 'sfsd.socket',
      reason: `the supervisor hands down ${count} sockets; leave one ListenStream= in it`,
    });
  return firstDescriptor;
}
