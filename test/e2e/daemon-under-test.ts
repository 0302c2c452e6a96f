/**
 * A daemon of its own for a test: `bin/sfsd start` on a socket in a temporary directory, ended within bounds whatever happens.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'undici';
import type { ResultBody, StatusBody } from '../../src/contracts/http.js';

export const projectRoot = fileURLToPath(new URL('../../..', import.meta.url));
const startMaxMs = 15_000;
const endMaxMs = 8_000;
/** Nothing that a test starts outlives this, unless it says so. */
const lifeMaxSecondsUsual = 170;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export class DaemonUnderTest {
  readonly socketPath: string;
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #client: Client;
  readonly #ended: Promise<number>;
  log = '';

  private constructor(folder: string, settings: readonly string[], wrapper: readonly string[], life: number) {
    this.#folder = folder;
    this.socketPath = join(folder, 'sfsd.sock');
    const words = [
      ...['timeout', '--foreground', '--kill-after=8', String(life)],
      ...wrapper,
      join(projectRoot, 'bin', 'sfsd'),
      ...['start', '--socket', this.socketPath],
      ...['store.path=none', ...settings].flatMap((setting) => ['--set', setting]),
    ];
    const [program = 'timeout', ...args] = words;
    this.#process = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const take = (chunk: Buffer) => {
      this.log += chunk.toString();
    };
    this.#process.stdout?.on('data', take);
    this.#process.stderr?.on('data', take);
    this.#ended = new Promise((resolve) => {
      this.#process.once('close', (code, signal) => resolve(signal === null ? (code ?? -1) : -1));
    });
    this.#client = new Client('http://sfsd', {
      socketPath: this.socketPath,
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
    });
  }

  static async start(
    settings: readonly string[] = [],
    wrapper: readonly string[] = [],
    {
      lifeMaxSeconds = lifeMaxSecondsUsual,
      folder = mkdtempSync(join(tmpdir(), 'sfsd-test-')),
    }: {
      readonly lifeMaxSeconds?: number;
      /** For one that follows another on the same socket; absent: one of its own. */
      readonly folder?: string;
    } = {},
  ): Promise<DaemonUnderTest> {
    const daemon = new DaemonUnderTest(folder, settings, wrapper, lifeMaxSeconds);
    for (let waitedMs = 0; waitedMs < startMaxMs; waitedMs += 50) {
      const healthy = await daemon.get('/healthz').catch(() => undefined);
      if (healthy?.status === 200) return daemon;
      await sleep(50);
    }
    await daemon.stop();
    throw new Error(`the daemon did not start:\n${daemon.log}`);
  }

  /** Pid of the daemon itself, from its own status. */
  async pid(): Promise<number> {
    return (await this.status()).pid;
  }

  async status(): Promise<StatusBody> {
    return JSON.parse((await this.get('/v1/status')).text) as StatusBody;
  }

  get(path: string): Promise<Answer> {
    return this.request('GET', path);
  }

  async request(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    options: {
      readonly body?: string | Buffer;
      readonly json?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Answer> {
    const json = options.json === undefined ? {} : { 'content-type': 'application/json' };
    const body = options.json === undefined ? options.body : JSON.stringify(options.json);
    const answer = await this.#client.request({
      method,
      path,
      headers: { ...json, ...options.headers },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  async putFunction(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const answer = await this.request('PUT', `/v1/functions/${name}`, { json: spec });
    if (answer.status > 201) throw new Error(`PUT ${name}: ${answer.status} ${answer.text}`);
  }

  /** `burn` with its words on standard input. */
  putBurn(name = 'burn', more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return this.putFunction(name, {
      command: join(projectRoot, 'native/build/burn'),
      args: ['--stdin'],
      ...more,
    });
  }

  async invoke(
    name: string,
    words: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ResultBody> {
    const path = `/v1/functions/${name}/invocations?detail=true`;
    const answer = await this.request('POST', path, { body: words, headers });
    if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as ResultBody;
  }

  /** A client of its own, for what must not wait behind other requests. */
  client(): Client {
    return new Client('http://sfsd', { socketPath: this.socketPath, headersTimeout: 0, bodyTimeout: 0 });
  }

  signal(pid: number, name: NodeJS.Signals): void {
    process.kill(pid, name);
  }

  /** Exit code of the daemon, -1 when it had to be killed. */
  async stop(): Promise<number> {
    if (this.#process.exitCode === null) this.#process.kill('SIGTERM');
    const code = await this.ended();
    await this.#client.destroy();
    rmSync(this.#folder, { recursive: true, force: true });
    return code;
  }

  /** After a kill: lets go of it, and leaves the folder to the next. */
  async abandon(): Promise<void> {
    await this.ended();
    await this.#client.destroy();
  }

  async ended(): Promise<number> {
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), endMaxMs);
    const code = await this.#ended;
    clearTimeout(timer);
    return code;
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
