/**
 * Before the first request: what an earlier daemon on this socket left real-time is demoted, and moved back to its cgroup. Its guard has done
 * that already, unless it was killed as well. The same C program does it that ExecStopPost runs: it knows a stray by pid, tid and start
 * time, and is real-time before it looks at the first.
 *
 * Strays are demoted rather than taken over: the platform that knew them as invocations registers with us anew what it still cares for, and
 * `adopt.rules` finds the rest.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { reasonOf } from '../../contracts/errors.js';

const programMaxMs = 10_000;

export interface ReconciliationOptions {
  /** The C program. */
  readonly programPath: string;
  readonly journalPath: string;
  readonly priority: number;
  readonly log: Logger;
}

/** A failure is a warning: a daemon that does not start helps no stray either. */
export async function reconcile(options: ReconciliationOptions): Promise<void> {
  const { programPath, journalPath, priority, log } = options;
  if (!existsSync(journalPath)) return;
  const args = ['--journal', journalPath, '--priority', String(priority)];
  try {
    const { stdout } = await promisify(execFile)(programPath, args, { timeout: programMaxMs });
    log.info({ event: 'strays_demoted', journal: journalPath, result: stdout.trim() });
  } catch (thrown) {
    log.warn({ event: 'strays_not_demoted', journal: journalPath, reason: reasonOf(thrown) });
  }
}
