/**
 * Where the store is, and its opening. `auto` means the first of these:
 *
 *   $STATE_DIRECTORY/sfsd.db          a unit with StateDirectory= (systemd.exec(5))
 *   /var/lib/sfsd/sfsd.db             root
 *   $XDG_STATE_HOME/sfsd/sfsd.db      somebody else; ~/.local/state where that is not set
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import type { Store } from '../contracts/store.js';
import type { Clock } from '../contracts/time.js';
import { DurableStore } from '../store/durable-store.js';
import { NoStore } from '../store/no-store.js';

export interface StoreOpening {
  readonly config: SfsdConfig['store'];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Throws a coded error when what is there must not, or cannot, be used: a promise to keep functions is not dropped in silence. */
export async function openStore({ config, environment, uid, clock, log }: StoreOpening): Promise<Store> {
  if (config.path === 'none') return new NoStore();
  const path = config.path === 'auto' ? defaultStorePath(environment, uid) : config.path;
  const store = await DurableStore.open({ path, lostMax: config.lostMax, clock, wallClock: Date.now, log });
  const lost = store.status().lostInvocations;
  if (lost > 0) log.warn({ event: 'invocations_lost', count: lost });
  return store;
}

export function defaultStorePath(environment: StoreOpening['environment'], uid: number): string {
  // Several are separated by colons; the first is the unit's own.
  const [unit = ''] = (environment.STATE_DIRECTORY ?? '').split(':');
  if (unit.startsWith('/')) return join(unit, 'sfsd.db');
  if (uid === 0) return '/var/lib/sfsd/sfsd.db';
  const { XDG_STATE_HOME: state = '' } = environment;
  const home = state.startsWith('/') ? state : join(homedir(), '.local', 'state');
  return join(home, 'sfsd', 'sfsd.db');
}
