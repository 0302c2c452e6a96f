/**
 * A root folder for a package to be installed into, where no systemd runs: either this host's own files under an overlay, so that all that
 * is written lands in memory, or a fresh Debian by debootstrap from where this host's apt gets its packages.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Ran } from './namespaced-systemd.js';

const commandMaxMs = 120_000;
const debootstrapMaxMs = 900_000;
const daemonMaxSeconds = '60';

function hasDebootstrap(): boolean {
  return spawnSync('debootstrap', ['--version']).status === 0;
}

export class ThrowAwayRoot {
  readonly path: string;
  /** What was written: the overlay's upper folder, or all of it. */
  readonly #written: string;
  readonly #folder: string;

  private constructor(folder: string, parts: { readonly path: string; readonly written: string }) {
    this.#folder = folder;
    this.path = parts.path;
    this.#written = parts.written;
    mount('-t', 'proc', 'proc', join(this.path, 'proc'));
    mount('--bind', '/dev', join(this.path, 'dev'));
    for (const name of ['run', 'tmp']) mount('-t', 'tmpfs', 'tmpfs', join(this.path, name));
  }

  /** The host's own files. */
  static overHost(): ThrowAwayRoot {
    const folder = inMemory();
    const [upper = '', work = '', path = ''] = ['upper', 'work', 'root'].map((name) => join(folder, name));
    for (const part of [upper, work, path]) mkdirSync(part);
    mount('-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, path);
    // A daemon of the host's own may keep its state there.
    rmSync(join(path, 'var/lib/sfsd'), { recursive: true, force: true });
    return new ThrowAwayRoot(folder, { path, written: upper });
  }

  /** Or why there is none. */
  static debootstrapped(): ThrowAwayRoot | string {
    if (!hasDebootstrap() && process.env.SFSD_TEST_DEPS !== 'skip') {
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      const timeout = debootstrapMaxMs;
      spawnSync('apt-get', ['update', '-q'], { env, timeout });
      spawnSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'debootstrap'], {
        env,
        timeout,
      });
    }
    if (!hasDebootstrap())
      return 'debootstrap is missing: apt-get install -y --no-install-recommends debootstrap';
    const sources = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI) $(CODENAME)'], {
      encoding: 'utf8',
    });
    const line = sources.stdout
      .split('\n')
      .find((text) => / (bookworm|trixie)$/.test(text) && text.includes('debian'));
    const [mirror = '', suite = ''] = line?.split(' ') ?? [];
    if (mirror === '') return 'apt knows no Debian mirror';
    const folder = inMemory();
    const path = join(folder, 'root');
    const done = spawnSync('debootstrap', ['--variant=minbase', suite, path, mirror], {
      encoding: 'utf8',
      timeout: debootstrapMaxMs,
    });
    if (done.status === 0) return new ThrowAwayRoot(folder, { path, written: path });
    spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
    return `debootstrap failed: ${done.stderr.trim().split('\n').at(-1) ?? 'no reason given'}`;
  }

  run(...words: readonly string[]): Ran {
    const done = spawnSync('chroot', [this.path, ...words], {
      encoding: 'utf8',
      timeout: commandMaxMs,
      env: environment,
    });
    return { status: done.status ?? -1, out: done.stdout, err: done.stderr };
  }

  /** Bounded in time from outside; its log goes nowhere. */
  start(...words: readonly string[]): ChildProcess {
    return spawn(
      'timeout',
      ['--foreground', '--kill-after=8', daemonMaxSeconds, 'chroot', this.path, ...words],
      {
        stdio: 'ignore',
        env: environment,
      },
    );
  }

  /** Puts a file of the host into its /tmp. */
  bring(file: string): string {
    const inside = join('/tmp', basename(file));
    cpSync(file, join(this.path, inside));
    return inside;
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), 'utf8');
  }

  /** Names that speak of sfsd among all that was written; what an overlay hides is no file. */
  traces(): readonly string[] {
    const words = [this.#written, '-xdev', '-name', '*sfsd*', '!', '-type', 'c'];
    const { stdout } = spawnSync('find', words, { encoding: 'utf8' });
    return stdout
      .split('\n')
      .map((path) => path.slice(this.#written.length))
      .filter((path) => path !== '' && !/^\/(tmp|run)\//.test(path));
  }

  close(): void {
    for (const name of ['tmp', 'run', 'dev', 'proc']) spawnSync('umount', ['-l', join(this.path, name)]);
    spawnSync('umount', ['-l', this.path]);
    spawnSync('umount', ['-l', this.#folder]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const environment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  DEBIAN_FRONTEND: 'noninteractive',
};

function inMemory(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-root-'));
  mount('-t', 'tmpfs', 'tmpfs', folder);
  return folder;
}

function mount(...words: readonly string[]): void {
  const done = spawnSync('mount', words, { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`mount ${words.join(' ')}: ${done.stderr}`);
}
