/**
 * Fifty functions at once, for as long as a test of kills runs: thirty that the daemon launches, asked for by callers who ask again at once,
 * and twenty that others launched, registered by pid and replaced as they end. Every third has several threads; every second of the
 * others lives in a cpu group without a real-time budget, so that its promotion moves it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, rmdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { Libc } from '../../../src/linux/libc.js';
import { withoutResetOnFork } from '../../../src/linux/realtime-fork.js';
import { projectRoot, sleep } from '../daemon-under-test.js';

export const functionName = 'kills';
const callersInAll = 30;
const othersInAll = 20;
const cpuTree = '/sys/fs/cgroup/cpu';
const lifeMaxMs = 30_000;
const retryMs = 40;
const failedRetryMs = 250;
const settleMaxMs = 5000;
const settleRetryMs = 2;

/** One call that is not answered yet. */
export interface Call {
  /** Resolves when it has been answered or has failed. */
  readonly settled: Promise<'answered' | 'refused' | 'failed'>;
}

export interface Other {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Of the v1 cpu tree. */
  readonly home: string;
}

export class Load {
  /** A name that no other program has: what bears it is ours. At most 15 bytes, as the kernel keeps them. */
  readonly program: string;
  readonly others = new Map<number, Other>();
  readonly calls = new Set<Call>();
  readonly faults: string[] = [];
  answered = 0;
  failed = 0;
  finished = 0;
  readonly #libc: Libc;
  readonly #path: string;
  readonly #pool: Pool;
  readonly #poorGroup: string;
  #running = true;
  #registers = true;
  #loops: Promise<void>[] = [];

  constructor(options: { readonly libc: Libc; readonly folder: string; readonly socketPath: string }) {
    this.#libc = options.libc;
    this.program = `kb${process.pid}`;
    this.#path = join(options.folder, this.program);
    copyFileSync(join(projectRoot, 'native/build/burn'), this.#path);
    this.#pool = new Pool('http://sfsd', { socketPath: options.socketPath, connections: callersInAll + 1 });
    this.#poorGroup = `/sfsd-kills-${process.pid}`;
    mkdirSync(join(cpuTree, this.#poorGroup), { recursive: true });
  }

  begin(): void {
    for (let caller = 0; caller < callersInAll; caller += 1) this.#loops.push(this.#call(caller));
    for (let other = 0; other < othersInAll; other += 1) this.#loops.push(this.#keepOther(other));
  }

  /** For every daemon anew. */
  async putFunction(): Promise<void> {
    const spec = { command: this.#path, args: ['--stdin'] };
    const { body } = await this.#pool.request({
      method: 'PUT',
      path: `/v1/functions/${functionName}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(spec),
    });
    await body.dump();
    this.#registers = true;
  }

  /** Nobody is registered with a daemon that is about to be killed and has not been told of its function. */
  pauseRegistrations(): void {
    this.#registers = false;
  }

  /** Waits until everybody has ended, and gives back what was made. */
  async end(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#loops);
    await this.#pool.destroy();
    rmdirSync(join(cpuTree, this.#poorGroup));
  }

  /** Ends the others at once, for a test that has failed. */
  abort(): void {
    this.#running = false;
    for (const { process: child } of this.others.values()) child.kill('SIGKILL');
  }

  async #call(caller: number): Promise<void> {
    const words = caller % 3 === 0 ? '15 --threads 3' : '12 --sleep-ms 350 --at-ms 6';
    while (this.#running) {
      const call: Call = { settled: this.#ask(words) };
      this.calls.add(call);
      const outcome = await call.settled;
      this.calls.delete(call);
      if (outcome === 'answered') this.answered += 1;
      else this.failed += 1;
      await sleep(outcome !== 'answered' ? failedRetryMs : caller % 3 === 0 ? 350 : retryMs);
    }
  }

  async #ask(words: string): Promise<'answered' | 'refused' | 'failed'> {
    try {
      const path = `/v1/functions/${functionName}/invocations`;
      const { statusCode, body } = await this.#pool.request({ method: 'POST', path, body: words });
      await body.dump();
      return statusCode === 200 ? 'answered' : 'refused';
    } catch {
      return 'failed';
    }
  }

  async #keepOther(index: number): Promise<void> {
    while (this.#running) await this.#runOther(index);
  }

  async #runOther(index: number): Promise<void> {
    const shape =
      index % 3 === 0
        ? ['90', '--threads', '3', '--sleep-ms', '200', '--at-ms', '10', '--sleep-ms', '200', '--at-ms', '20']
        : ['60', ...[5, 15, 25, 35, 45].flatMap((at) => ['--sleep-ms', '200', '--at-ms', String(at)])];
    const child = this.#launch(shape);
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(code === 0 ? 'finished' : `${code ?? signal}`));
    });
    const { pid } = child;
    if (pid === undefined) {
      this.faults.push(`a process of others could not be started: ${await ended}`);
      return;
    }
    const home = index % 2 === 0 ? '/' : this.#poorGroup;
    if (home !== '/' && !(await this.#settle(pid, home))) {
      this.faults.push(`a process of others could not be moved to ${home}: ${await ended}`);
      return;
    }
    this.others.set(pid, { pid, process: child, home });
    if (this.#registers) await this.#register(pid);
    const outcome = await ended;
    this.others.delete(pid);
    if (outcome === 'finished') this.finished += 1;
    else this.faults.push(`a process of others ended with ${outcome}`);
  }

  /** We are real-time and blocked until its exec, so it is real-time until then; `chrt` is what lowers it. */
  #launch(words: readonly string[]): ChildProcess {
    const args = ['--other', '0', this.#path, ...words];
    return withoutResetOnFork(this.#libc, () =>
      spawn('chrt', args, { stdio: 'ignore', timeout: lifeMaxMs, killSignal: 'SIGKILL' }),
    );
  }

  /** The group takes it once `chrt` has lowered it: the kernel lets nobody real-time into a group without a budget. */
  async #settle(pid: number, home: string): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < settleMaxMs; waitedMs += settleRetryMs) {
      const moved = await writeFile(join(cpuTree, home, 'cgroup.procs'), String(pid)).then(
        () => true,
        () => false,
      );
      if (moved) return true;
      await sleep(settleRetryMs);
    }
    return false;
  }

  async #register(pid: number): Promise<void> {
    try {
      const { body } = await this.#pool.request({
        method: 'POST',
        path: '/v1/invocations',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([{ id: `other-${pid}`, functionName: 'others', pid }]),
      });
      await body.dump();
    } catch {} // There is no daemon at this moment: it runs under the fair scheduler.
  }
}
