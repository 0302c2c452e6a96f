/**
 * Stores on real files for tests: folders, mounts and processes that hold one.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SfsdError } from '../../src/contracts/errors.js';
import type { FunctionRow } from '../../src/contracts/store.js';
import { StoreFile } from '../../src/store/store-file.js';

export const now = Date.UTC(2026, 0, 2, 3, 4, 5);
export const needsRoot = process.getuid?.() === 0 ? false : 'needs root to mount a file system';
export const fixtures = fileURLToPath(new URL('../../../test/fixtures/store', import.meta.url));

/** What a test gives back at its end. */
interface Test {
  testdir(): string;
  teardown(release: () => unknown): void;
}

export function open(
  path: string,
  more: { readonly lostMax?: number; readonly now?: number } = {},
): StoreFile {
  return new StoreFile({ path, lostMax: 100, now, ...more });
}

export function pathIn(test: Test): string {
  return join(test.testdir(), 'sfsd.db');
}

export function row(name: string, definition = '{"command":"/bin/true"}'): FunctionRow {
  return { name, definition, createdAtUnixMs: 1 };
}

export function put(file: StoreFile, ...names: readonly string[]): void {
  file.apply(names.map((name) => ({ kind: 'put', row: row(name) })));
}

export function begin(file: StoreFile, ...ids: readonly string[]): void {
  file.apply(
    ids.map((id) => ({ kind: 'begin', row: { source: 'api', id, functionName: 'f', arrivedAtUnixMs: 1.5 } })),
  );
}

/** The names in a file that nobody has open. */
export function namesIn(path: string): string[] {
  const file = open(path);
  file.close();
  return file.contents.functions.map(({ name }) => name);
}

export function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof SfsdError) return thrown.code;
    throw thrown;
  }
  return 'none';
}

/** Files that were set aside, without their companions. */
export function setAsideIn(folder: string): string[] {
  return readdirSync(folder).filter(
    (name) => name.includes('.damaged-') && !/-(wal|shm|journal)$/.test(name),
  );
}

/** A file system of its own in memory, gone at the end of the test. */
export function mountTmpfs(test: Test, options: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-store-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  test.teardown(() => {
    execFileSync('umount', ['--lazy', folder]);
    rmdirSync(folder);
  });
  return folder;
}

/** Another process that has the store open until it is killed, 20 s at most. It puts functions and names each once it is put. */
export class Holder {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #output = '';

  private constructor(path: string, count: number) {
    const program = fileURLToPath(new URL('./holder.js', import.meta.url));
    this.#child = spawn('timeout', ['--foreground', '20', process.execPath, program, path, String(count)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
  }

  /** Resolves once `atLeast` functions are put. */
  static async start(
    path: string,
    options: { readonly count: number; readonly atLeast: number },
  ): Promise<Holder> {
    const holder = new Holder(path, options.count);
    while (holder.put.length < options.atLeast) {
      const data = new Promise<void>((resolve) => holder.#child.stdout?.once('data', () => resolve()));
      await Promise.race([data, holder.#ended]);
      if (holder.#child.exitCode !== null) throw new Error('the holder ended');
    }
    return holder;
  }

  get put(): string[] {
    return this.#output.split('\n').filter((line) => line.startsWith('f'));
  }

  async kill(): Promise<void> {
    process.kill(Number(/^pid (\d+)$/m.exec(this.#output)?.[1]), 'SIGKILL');
    await this.#ended;
  }
}
