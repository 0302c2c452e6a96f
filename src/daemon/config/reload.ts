/**
 * A new configuration for a daemon that runs: what of it can change now, and what waits for a restart.
 *
 *   1. read all sources again: any fault, and nothing changes
 *   2. keys that differ are parted: live ones and the others
 *   3. the live ones take effect together; the others are named and stay as they were
 *
 * Live is what is looked up each time it is used. Sizes of rings, priorities, the socket and slices are what the planes were built with.
 */
import type { SfsdConfig } from '../../contracts/config.js';

/** docs/operations.md lists them. */
export const liveKeys = [
  'log.level',
  'functions.registeredMax',
  'functions.killGraceMs',
  'scheduler.workers',
] as const;
export type LiveKey = (typeof liveKeys)[number];

export interface Change {
  readonly key: string;
  readonly from: unknown;
  readonly to: unknown;
}

export interface Difference {
  /** What the daemon runs with once `live` has been applied. */
  readonly effective: SfsdConfig;
  readonly live: readonly Change[];
  readonly needRestart: readonly Change[];
}

type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export function differenceOf(running: SfsdConfig, wanted: SfsdConfig): Difference {
  const before = running as unknown as Sections;
  const after = wanted as unknown as Sections;
  const changes: Change[] = [];
  for (const [section, keys] of Object.entries(after)) {
    for (const [name, to] of Object.entries(keys)) {
      const from = before[section]?.[name];
      if (JSON.stringify(from) !== JSON.stringify(to)) changes.push({ key: `${section}.${name}`, from, to });
    }
  }
  const live = changes.filter(({ key }) => isLive(key));
  return {
    live,
    needRestart: changes.filter(({ key }) => !isLive(key)),
    effective: withChanges(before, live),
  };
}

function isLive(key: string): key is LiveKey {
  return (liveKeys as readonly string[]).includes(key);
}

function withChanges(sections: Sections, changes: readonly Change[]): SfsdConfig {
  const copy = Object.fromEntries(Object.entries(sections).map(([name, keys]) => [name, { ...keys }]));
  for (const { key, to } of changes) {
    const [section = '', name = ''] = key.split('.');
    copy[section] = { ...copy[section], [name]: to };
  }
  return copy as unknown as SfsdConfig;
}
