/**
 * SIGHUP: the configuration is read again, and what can change in a running daemon changes (config/reload.ts). A signal that arrives
 * meanwhile is taken up afterwards: all of it is one turn of the event loop.
 */
import type { Logger } from 'pino';
import type { SfsdConfig } from '../../contracts/config.js';
import { reasonOf } from '../../contracts/errors.js';
import type { Clock } from '../../contracts/time.js';
import { differenceOf } from '../config/reload.js';
import type { Supervisor } from './supervisor.js';

export interface ReloadingOptions {
  readonly running: SfsdConfig;
  /** Reads all sources again; throws where they have a fault. */
  readonly load: () => SfsdConfig;
  /** Makes the live keys of this configuration hold; cannot fail. */
  readonly apply: (config: SfsdConfig) => void;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly log: Logger;
}

/** @returns what ends it. */
export function reloadOnHangup(options: ReloadingOptions): () => void {
  let { running } = options;
  const reload = () => {
    options.supervisor.reloading(options.clock.now());
    running = reloadOnce(running, options);
    options.supervisor.ready('Ready');
  };
  process.on('SIGHUP', reload);
  return () => {
    process.off('SIGHUP', reload);
  };
}

export function reloadOnce(
  running: SfsdConfig,
  { load, apply, log }: Pick<ReloadingOptions, 'load' | 'apply' | 'log'>,
): SfsdConfig {
  let wanted: SfsdConfig;
  try {
    wanted = load();
  } catch (thrown) {
    log.error({ event: 'reload_refused', reason: reasonOf(thrown), changed: 0 });
    return running;
  }
  const { live, needRestart, effective } = differenceOf(running, wanted);
  apply(effective);
  log.info({ event: 'reloaded', changed: live });
  if (needRestart.length > 0) {
    const keys = needRestart.map(({ key }) => key);
    log.warn({
      event: 'reload_needs_restart',
      keys,
      advice: 'they keep their values until: systemctl restart sfsd',
    });
  }
  return effective;
}
