/**
 * A daemon of our own on a socket in a temporary folder, fresh for each measure: its figures count from its start.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SfsdClient } from '../../src/cli/client.js';
import { reasonOf, SfsdError } from '../../src/contracts/errors.js';
import { BoundedChild, root } from './bounded-child.js';

const readyLimitMs = 20_000;
const readyPollMs = 25;
/** As bin/sfsd has them. */
const nodeFlags = ['--single-threaded-gc', '--max-semi-space-size=2'];

export interface DaemonNeed {
  /** Dotted configuration keys. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Run over this kernel adapter instead of the real one; it may write its results there. */
  readonly kernel?: { readonly module: URL; readonly resultPath: string };
  /** SIGTERM then, whatever happens. */
  readonly lifeMaxMs: number;
  /** Requests under way at once. */
  readonly connections?: number;
}

export interface DaemonUnderTest {
  readonly client: SfsdClient;
  readonly socketPath: string;
  readonly pid: number;
}

/** Starts it, works, and stops it whether or not the work succeeds. Throws when it did not end in order. */
export async function withDaemon<Result>(
  need: DaemonNeed,
  work: (daemon: DaemonUnderTest) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-bench-'));
  const socketPath = join(folder, 'sfsd.sock');
  const child = new BoundedChild({ ...commandOf(need, socketPath), lifeMaxMs: need.lifeMaxMs });
  const client = new SfsdClient({ socketPath, connections: need.connections ?? 64 });
  try {
    await untilReady(child, client);
    const result = await work({ client, socketPath, pid: child.pid });
    const end = await child.stop();
    if (end.code !== 0) throw new SfsdError('SFSD_ERR_INTERNAL', { reason: `the daemon: ${endText(end)}` });
    return result;
  } finally {
    await client.close();
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function endText(end: {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}) {
  return `${end.signal ?? `exit ${end.code}`}: ${end.stderr.trim()}`;
}

function commandOf(need: DaemonNeed, socketPath: string) {
  const settings: Readonly<Record<string, unknown>> = {
    'log.level': 'warn',
    'store.path': 'none',
    ...need.settings,
  };
  if (need.kernel !== undefined) {
    const entry = fileURLToPath(new URL('./daemon-entry.js', import.meta.url));
    const options = {
      flags: { ...settings, 'socket.path': socketPath },
      kernelModule: `${need.kernel.module.href}?result=${encodeURIComponent(need.kernel.resultPath)}`,
    };
    return { command: process.execPath, args: [...nodeFlags, entry, JSON.stringify(options)] };
  }
  const sets = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${settingText(value)}`]);
  return { command: join(root, 'bin', 'sfsd'), args: ['start', '--socket', socketPath, ...sets] };
}

function settingText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function untilReady(child: BoundedChild, client: SfsdClient): Promise<void> {
  const limit = Date.now() + readyLimitMs;
  let reason = 'it ended at its start';
  while (child.running && Date.now() < limit) {
    try {
      await client.health();
      return;
    } catch (thrown) {
      reason = reasonOf(thrown);
    }
    await new Promise((resolve) => setTimeout(resolve, readyPollMs));
  }
  throw new SfsdError('SFSD_ERR_DAEMON_UNREACHABLE', {
    path: client.address,
    reason: `${reason}; it said: ${child.stderr.trim()}`,
  });
}
