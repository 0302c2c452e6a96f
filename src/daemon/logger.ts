/**
 * The daemon's log: one JSON object a line on standard error, written synchronously so that the last line before an end is
 * there. Events have a name in `event`, and fields with units.
 */
import { destination, type Logger, pino } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';

export function createLogger(log: SfsdConfig['log']): Logger {
  const options = { level: log.level, base: { pid: process.pid }, messageKey: 'event' };
  return pino(options, destination({ dest: 2, sync: true }));
}
