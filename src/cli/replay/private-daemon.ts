/**
 * A daemon of our own for one replay.
 *
 *   start   bin/sfsd start on a socket in a temporary folder, its output into a log there; ready when /healthz answers
 *   stop    SIGTERM, then after a while SIGKILL; the folder goes
 *
 * It is a session of its own, so that Ctrl-C reaches us alone and it ends in order. Whatever ends this process while the daemon
 * lives, an exit handler kills it by its pid: our functions die with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SfsdError } from '../../contracts/errors.js';
import { SfsdClient } from '../client.js';

const program = fileURLToPath(new URL('../../../../bin/sfsd', import.meta.url));
const readyLimitMs = 20_000;
const readyPollMs = 50;
/** The daemon promises to stop within 5 s. */
const stopLimitMs = 10_000;
const logTailLines = 20;

export class PrivateDaemon {
  readonly socketPath: string;
  readonly #folder: string;
  readonly #logPath: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #kill = (): void => void this.#child.kill('SIGKILL');
  #running = true;
  #failedToSpawn: Error | undefined;

  private constructor(settings: Readonly<Record<string, unknown>>) {
    this.#folder = mkdtempSync(join(tmpdir(), 'sfsd-replay-'));
    this.socketPath = join(this.#folder, 'sfsd.sock');
    this.#logPath = join(this.#folder, 'daemon.log');
    const log = openSync(this.#logPath, 'a');
    // The host's own functions are none of ours.
    const sets = Object.entries({ 'store.path': 'none', ...settings }).flatMap(([key, value]) => [
      '--set',
      `${key}=${settingText(value)}`,
    ]);
    this.#child = spawn(program, ['start', '--socket', this.socketPath, ...sets], {
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#failedToSpawn = error;
        this.#running = false;
        resolve();
      });
      this.#child.once('exit', () => {
        this.#running = false;
        resolve();
      });
    });
    process.once('exit', this.#kill);
  }

  /** Throws SFSD_ERR_DAEMON_UNREACHABLE; the end of the log is told first, and then nothing is left behind. */
  static async start(options: {
    readonly settings: Readonly<Record<string, unknown>>;
    readonly signal: AbortSignal;
    readonly tell: (text: string) => void;
  }): Promise<PrivateDaemon> {
    const daemon = new PrivateDaemon(options.settings);
    try {
      await daemon.#untilReady(options.signal);
      return daemon;
    } catch (thrown) {
      if (thrown instanceof SfsdError) options.tell(daemon.logTail());
      await daemon.stop({ keepLogAs: undefined });
      throw thrown;
    }
  }

  /** The end of its log, for an error message. */
  logTail(): string {
    const lines = readFileSync(this.#logPath, 'utf8').trimEnd().split('\n');
    return `The end of the daemon’s log:\n${lines.slice(-logTailLines).join('\n')}\n`;
  }

  /** False once it has ended by itself. */
  get running(): boolean {
    return this.#running;
  }

  async stop(options: { readonly keepLogAs: string | undefined }): Promise<void> {
    if (this.#running) {
      this.#child.kill('SIGTERM');
      const killer = setTimeout(this.#kill, stopLimitMs);
      await this.#ended;
      clearTimeout(killer);
    }
    process.off('exit', this.#kill);
    if (options.keepLogAs !== undefined) await copyFile(this.#logPath, options.keepLogAs);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #untilReady(signal: AbortSignal): Promise<void> {
    const client = new SfsdClient({ socketPath: this.socketPath, connections: 1 });
    const limit = Date.now() + readyLimitMs;
    let reason = '';
    try {
      while (this.#running && Date.now() < limit) {
        signal.throwIfAborted();
        try {
          await client.health();
          return;
        } catch (thrown) {
          reason = thrown instanceof SfsdError ? String(thrown.details.reason) : String(thrown);
        }
        await Promise.race([this.#ended, new Promise((resolve) => setTimeout(resolve, readyPollMs))]);
      }
    } finally {
      await client.close();
    }
    const why = this.#running
      ? `not ready within ${readyLimitMs / 1000} s: ${reason}`
      : (this.#failedToSpawn?.message ?? 'it ended at its start');
    throw new SfsdError('SFSD_ERR_DAEMON_UNREACHABLE', {
      path: this.socketPath,
      reason: `the replay’s own: ${why}; its log is above`,
    });
  }
}

function settingText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
