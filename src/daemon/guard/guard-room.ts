/**
 * What keeps a crash of ours from being felt: the strays of the last daemon, the journal, and the guard that reads it.
 *
 * Without a journal nothing is promoted: a function never stays real-time because we crashed, and we could not promise that. With
 * `guard.enabled` false it is the operator's promise.
 */
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { SfsdConfig } from '../../contracts/config.js';
import { SfsdError } from '../../contracts/errors.js';
import type { GuardBody } from '../../contracts/http.js';
import type { CgroupLayout } from '../../linux/cgroup-layout.js';
import { type JournalFile, journalPathFor, makeJournal } from '../../linux/journal-file.js';
import type { Libc } from '../../linux/libc.js';
import { PromotionJournal } from '../../linux/promotion-journal.js';
import { protectedThreadsMax } from '../../linux/protected-tasks.js';
import { RtGroup } from '../../linux/rt-group.js';
import type { Permission } from '../permission.js';
import { Guard } from './guard.js';
import { reconcile } from './reconciliation.js';

const nativeBuild = fileURLToPath(new URL('../../../../native/build/', import.meta.url));

export interface GuardRoomOptions {
  readonly config: SfsdConfig;
  readonly libc: Libc;
  readonly layout: CgroupLayout;
  readonly permission: Permission;
  readonly log: Logger;
}

export interface GuardRoom {
  /** What is left of the permission when there is no journal. */
  readonly permission: Permission;
  /** Absent: none is kept. */
  readonly journal: JournalFile | undefined;
  /** Where protected processes are noted. */
  readonly protectedShare: PromotionJournal | undefined;
  status(): GuardBody;
  /** After the last demotion. */
  close(): Promise<void>;
}

export async function openGuardRoom(options: GuardRoomOptions): Promise<GuardRoom> {
  const { config, libc, permission, log } = options;
  const journalPath = journalPathFor(config.socket.path);
  const priority = config.priorities.guard;
  await reconcile({ programPath: `${nativeBuild}sfsd-demote-all`, journalPath, priority, log });
  if (permission.mode === 'off') return without(permission, `nothing is promoted: ${permission.reason}`);
  if (!config.guard.enabled) return without(permission, 'guard.enabled is false');
  const journal = journalOrReason(options, journalPath);
  if (typeof journal === 'string') {
    log.error({ event: 'journal_missing', reason: journal });
    const reason = `${journal}; guard.enabled=false would promote without it`;
    return without(
      {
        mode: 'off',
        reason,
        daemonRealTime: false,
        ...(permission.left === undefined ? {} : { left: permission.left }),
      },
      journal,
    );
  }
  const { stallMs } = config.guard;
  const programPath = `${nativeBuild}guard`;
  const guard = await Guard.start({ libc, programPath, journal, priority, stallMs, log });
  return {
    permission,
    journal,
    protectedShare: new PromotionJournal(journal.memory, {
      count: protectedCountOf(config),
      priority: config.priorities.protected,
    }),
    status: () => guard.status(),
    close: async () => {
      await guard.close();
      journal.close();
    },
  };
}

function without(permission: Permission, reason: string): GuardRoom {
  const body: GuardBody = {
    state: 'off',
    reason,
    epoch: 0,
    tasks: 0,
    tasksMax: 0,
    demoted: 0,
    stalls: 0,
    restarts: 0,
  };
  return {
    permission,
    journal: undefined,
    protectedShare: undefined,
    status: () => body,
    close: async () => {},
  };
}

/** Each look of the guard passes over them, so that there are none where nobody is protected. */
function protectedCountOf({ protect }: SfsdConfig): number {
  return protect.rules.length === 0 ? 0 : protectedThreadsMax;
}

function journalOrReason({ config, libc, layout }: GuardRoomOptions, path: string): JournalFile | string {
  const group = new RtGroup(layout, { libc });
  const protectedCount = protectedCountOf(config);
  try {
    return makeJournal({
      libc,
      path,
      entryCount: config.guard.tasksMax + protectedCount,
      protectedCount,
      priority: config.priorities.filter,
      cpuMount: group.mount,
      cpuGroup: group.directory,
    });
  } catch (thrown) {
    if (thrown instanceof SfsdError) return thrown.message;
    throw thrown;
  }
}
