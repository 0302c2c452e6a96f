/** Is a daemon there, and does it do what it is for? */
import { SfsdError } from '../../contracts/errors.js';
import { withClient } from '../connect.js';
import { defaultSocketPath } from '../context.js';
import { timeText } from '../quantities.js';
import { broken, degraded, type Finding, ok } from './finding.js';

/** A loop this late cannot end slices on time. */
const lateP99MsMax = 4;

/** @param socket the one that was named by flag or environment; undefined when none was. */
export async function daemonFinding(socket: string | undefined): Promise<Finding> {
  const path = socket ?? defaultSocketPath;
  try {
    const status = await withClient(path, (client) => client.status());
    const fact = `sfsd ${status.version} answers on ${path}, mode ${status.mode}`;
    if (status.mode === 'off')
      return degraded(
        'daemon',
        fact,
        `All functions run under the fair scheduler: ${status.modeReason ?? 'so configured'}`,
      );
    if (status.mode === 'eevdf')
      return degraded(
        'daemon',
        fact,
        `Functions get a weight and a slice instead of SCHED_FIFO: ${status.modeReason ?? 'so configured'}`,
      );
    if (status.loop.lateP99Ms > lateP99MsMax)
      return degraded(
        'daemon',
        `${fact}, its loop is late by ${timeText(status.loop.lateP99Ms)} (p99)`,
        'Slices end late. Look for other real-time tasks: ps -eLo rtprio,cls,pid,comm | sort -rn | head',
      );
    if (status.guard.state !== 'watching')
      return degraded(
        'daemon',
        `${fact}, its guard is ${status.guard.state}`,
        status.guard.state === 'off'
          ? `What is promoted stays real-time if the daemon is killed: ${status.guard.reason ?? 'so configured'}`
          : 'The daemon starts another; if this stays so, its log says why (guard_lost, guard_not_started).',
      );
    if (status.ffi.reason !== undefined)
      return degraded(
        'daemon',
        `${fact}, kernel calls by ${status.ffi.control} and ${status.ffi.scheduling}`,
        `${status.ffi.configured} is configured (linux.ffi), but: ${status.ffi.reason}`,
      );
    return ok('daemon', fact);
  } catch (thrown) {
    if (!(thrown instanceof SfsdError)) throw thrown;
    const fact = `none answers on ${path} (${thrown.details.reason})`;
    // Nobody promised one on the default path; where one was named, it is missed.
    if (socket === undefined) return degraded('daemon', fact, 'Nothing is scheduled until: sfsd start');
    return broken('daemon', fact, `Start it: sfsd start --socket ${socket}`);
  }
}
