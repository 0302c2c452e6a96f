/**
 * The host's own systemd as pid 1 of namespaces (test/fixtures/systemd/boot.sh), with this checkout at /opt/sfsd: units are tested on the
 * real thing. Its root is an overlay over the host's, in memory; its control groups are its own. It ignores SIGTERM from outside: it is
 * ended by SIGKILL to that one process, and takes all that runs in it along.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'undici';
import { projectRoot, sleep } from './daemon-under-test.js';

const systemdPath = '/usr/lib/systemd/systemd';
/** Bounded from outside. */
const usualLifeMaxSeconds = 170;
const startMaxMs = 20_000;
const commandMaxMs = 40_000;
const answerMaxMs = 30_000;
const cgroupRoot = '/sys/fs/cgroup';
const removalAttemptsMax = 50;

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface SystemdOptions {
  /** Packages, for /opt/brought/0.deb and so on. */
  readonly bring?: readonly string[];
  readonly lifeMaxSeconds?: number;
}

/** Why it cannot run here; false: it can. */
export function noSystemd(): string | false {
  if (process.getuid?.() !== 0) return 'needs root for namespaces';
  if (!existsSync(systemdPath)) return 'systemd is not installed';
  return existsSync(join(cgroupRoot, 'systemd')) || existsSync(join(cgroupRoot, 'cgroup.controllers'))
    ? false
    : 'no cgroup tree for systemd is mounted';
}

export class NamespacedSystemd {
  readonly #folder: string;
  readonly #name: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #pid = 0;
  log = '';

  private constructor(
    files: Readonly<Record<string, string>>,
    { bring, lifeMaxSeconds }: Required<SystemdOptions>,
  ) {
    this.#folder = mkdtempSync(join(tmpdir(), 'sfsd-systemd-'));
    this.#name = `sfsd-systemd-${process.pid}`;
    spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', this.#folder]);
    for (const part of ['upper', 'work', 'root']) mkdirSync(join(this.#folder, part));
    const target = '[Unit]\nDescription=sfsd test\nDefaultDependencies=no\n';
    const all = { '/etc/systemd/system/sfsd-test.target': target, ...files };
    for (const [path, text] of Object.entries(all)) {
      const file = join(this.#folder, 'upper', path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, text);
    }
    const brought = join(this.#folder, 'upper/opt/brought');
    mkdirSync(brought, { recursive: true });
    bring.forEach((file, index) => void cpSync(file, join(brought, `${index}.deb`)));
    const boot = join(projectRoot, 'test/fixtures/systemd/boot.sh');
    const words = ['--foreground', '--signal=KILL', String(lifeMaxSeconds), boot];
    this.#process = spawn('timeout', [...words, this.#folder, projectRoot, this.#name], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const take = (chunk: Buffer) => {
      this.log += chunk.toString();
    };
    this.#process.stdout?.on('data', take);
    this.#process.stderr?.on('data', take);
    this.#ended = new Promise((resolve) => this.#process.once('close', resolve));
  }

  /** @param files put below its root before it boots. */
  static async start(
    files: Readonly<Record<string, string>> = {},
    { bring = [], lifeMaxSeconds = usualLifeMaxSeconds }: SystemdOptions = {},
  ): Promise<NamespacedSystemd> {
    const systemd = new NamespacedSystemd(files, { bring, lifeMaxSeconds });
    for (let waitedMs = 0; waitedMs < startMaxMs; waitedMs += 100) {
      systemd.#pid = systemd.#initPid();
      if (systemd.#pid > 0 && systemd.run('systemctl', 'is-active', 'sfsd-test.target').status === 0)
        return systemd;
      await sleep(100);
    }
    await systemd.stop();
    throw new Error(`systemd did not come up:\n${systemd.log}`);
  }

  /** A path inside, as this process sees it. */
  path(inside: string): string {
    return `/proc/${this.#pid}/root${inside}`;
  }

  run(...words: readonly string[]): Ran {
    const namespaces = ['-t', String(this.#pid), '-m', '-p', '-i', '-u', '-n', '-C'];
    const done = spawnSync('nsenter', [...namespaces, ...words], {
      encoding: 'utf8',
      timeout: commandMaxMs,
      env: { PATH: process.env.PATH, HOME: '/root' },
    });
    return { status: done.status ?? -1, out: done.stdout, err: done.stderr };
  }

  /** Throws when it fails. */
  must(...words: readonly string[]): string {
    const { status, out, err } = this.run(...words);
    if (status !== 0)
      throw new Error(`${words.join(' ')}: ${status}\n${out}${err}\n${this.log}\n${this.daemonLog()}`);
    return out;
  }

  property(unit: string, name: string): string {
    return this.must('systemctl', 'show', '--value', '-p', name, unit).trim();
  }

  async until(fact: () => boolean, withinMs: number): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < withinMs; waitedMs += 50) {
      if (fact()) return true;
      await sleep(50);
    }
    return fact();
  }

  /** The host's number of a process inside. */
  hostPid(inside: number): number {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const status = readIfThere(`/proc/${pid}/status`);
      const numbers = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.split('\t') ?? [];
      if (numbers.length > 1 && Number(numbers.at(-1)) === inside && this.#isOurs(pid)) return Number(pid);
    }
    return 0;
  }

  /** A client of the daemon's API. */
  client(): Client {
    return new Client('http://sfsd', {
      socketPath: this.path('/run/sfsd/sfsd.sock'),
      headersTimeout: answerMaxMs,
      bodyTimeout: answerMaxMs,
    });
  }

  daemonLog(): string {
    return readIfThere(this.path('/run/sfsd-test.log'));
  }

  async stop(): Promise<void> {
    if (this.#pid > 0) process.kill(this.#pid, 'SIGKILL');
    else this.#process.kill('SIGKILL');
    await this.#ended;
    spawnSync('umount', ['-l', this.#folder]);
    rmSync(this.#folder, { recursive: true, force: true });
    for (const tree of readdirSync(cgroupRoot)) await removeGroups(join(cgroupRoot, tree, this.#name));
  }

  /** pid 1 inside: the child of `unshare`, once it has become systemd. */
  #initPid(): number {
    for (let pid = this.#process.pid ?? 0, depth = 0; depth < 4; depth += 1) {
      if (readIfThere(`/proc/${pid}/cmdline`).startsWith(systemdPath)) return pid;
      pid = Number(readIfThere(`/proc/${pid}/task/${pid}/children`).trim().split(' ')[0]);
      if (!(pid > 0)) return 0;
    }
    return 0;
  }

  #isOurs(pid: string): boolean {
    return readIfThere(`/proc/${pid}/cgroup`).includes(this.#name);
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The kernel lets go of a group's last member a moment after its end. */
async function removeGroups(group: string): Promise<void> {
  if (!existsSync(group)) return;
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroups(join(group, entry.name));
  for (let attempt = 0; attempt < removalAttemptsMax; attempt += 1) {
    try {
      rmdirSync(group);
      return;
    } catch {
      await sleep(20);
    }
  }
}
