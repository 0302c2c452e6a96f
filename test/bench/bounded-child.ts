/**
 * Processes of the bench, each bounded in time and gone when we are: a benchmark that hangs must not leave a full host behind.
 *
 *   ends by itself | SIGTERM, then SIGKILL 6 s later (`stop`, its time is up, or we were told to end) | SIGKILL with us
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SfsdError } from '../../src/contracts/errors.js';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
export const burnPath = `${root}native/build/burn`;
export const benchPath = `${root}native/build/bench`;

export const endSignals = ['SIGINT', 'SIGTERM'] as const;
/** The daemon promises to end within 5 s. */
const killAfterMs = 6000;
const errorTailLength = 4000;

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** SIGTERM then. */
  readonly lifeMaxMs: number;
  readonly input?: 'ignore' | 'pipe';
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class BoundedChild {
  readonly pid: number;
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  #stdout = '';
  #stderr = '';
  #running = true;
  #killer: NodeJS.Timeout | undefined;
  #onLine: (line: string) => void = () => {};
  #partial = '';

  constructor(options: ChildOptions) {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', options.command, ...options.args], {
      stdio: [options.input ?? 'ignore', 'pipe', 'pipe'],
      cwd: root,
    });
    this.#child = child;
    this.pid = child.pid ?? 0;
    const limit = setTimeout(() => void this.stop(), options.lifeMaxMs);
    const killNow = () => void child.kill('SIGKILL');
    const stopNow = () => void this.stop();
    process.once('exit', killNow);
    for (const signal of endSignals) process.once(signal, stopNow);
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-errorTailLength);
    });
    this.ended = new Promise((resolve, reject) => {
      const release = () => {
        this.#running = false;
        clearTimeout(limit);
        clearTimeout(this.#killer);
        process.off('exit', killNow);
        for (const signal of endSignals) process.off(signal, stopNow);
      };
      child.once('error', (error) => {
        release();
        const install = 'apt-get install -y util-linux (setpriv)';
        reject(new SfsdError('SFSD_ERR_MISSING_TOOL', { tool: options.command, install }, { cause: error }));
      });
      child.once('close', (code, signal) => {
        release();
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr });
      });
    });
    this.ended.catch(() => {});
  }

  get running(): boolean {
    return this.#running;
  }

  /** The end of what it said on standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  /** From now on lines of standard output go here; what came before is told first. */
  followLines(onLine: (line: string) => void): void {
    this.#onLine = onLine;
    const before = this.#stdout;
    this.#partial = '';
    this.#splitLines(before);
  }

  /** Ends its standard input. */
  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Idempotent; resolves when it has ended. */
  async stop(): Promise<ChildEnd> {
    if (this.#running && this.#killer === undefined) {
      this.#child.kill('SIGTERM');
      this.#killer = setTimeout(() => this.#child.kill('SIGKILL'), killAfterMs);
    }
    return this.ended;
  }

  #take(chunk: string): void {
    this.#stdout += chunk;
    this.#splitLines(chunk);
  }

  #splitLines(chunk: string): void {
    const lines = (this.#partial + chunk).split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line);
  }
}

/** Runs to its end; what it printed. Throws when it failed. */
export async function runChild(options: ChildOptions): Promise<string> {
  const end = await new BoundedChild(options).ended;
  if (end.code !== 0) throw childFailed(options.command, end);
  return end.stdout;
}

export function childFailed(command: string, end: ChildEnd): SfsdError {
  const how = end.signal ?? `exit ${end.code}`;
  return new SfsdError('SFSD_ERR_INTERNAL', { reason: `${command}: ${how}: ${end.stderr.trim()}` });
}
