/**
 * sfsd as a service of a namespaced systemd: installed by `sfsd install`, with a short watchdog, a log that can be read from outside, and a
 * line for each run of ExecStopPost, which also looks at the process named in /run/stray once the unit's own ExecStopPost is through.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import type { Client } from 'undici';
import { reasonOf } from '../../src/contracts/errors.js';
import type { StatusBody } from '../../src/contracts/http.js';
import { NamespacedSystemd } from './namespaced-systemd.js';

const watchdogSeconds = 2;
const dropIn = `[Unit]
StartLimitBurst=1000
[Service]
StandardError=append:/run/sfsd-test.log
WatchdogSec=${watchdogSeconds}s
ExecStopPost=/bin/sh -c 'echo "$SERVICE_RESULT" >> /run/stop-post; test ! -e /run/stray || chrt -p $(cat /run/stray) > /run/stray-policy'
`;

export class ServiceUnderTest {
  readonly systemd: NamespacedSystemd;

  private constructor(systemd: NamespacedSystemd) {
    this.systemd = systemd;
  }

  static async start(options: { readonly lifeMaxSeconds?: number } = {}): Promise<ServiceUnderTest> {
    const files = { '/etc/systemd/system/sfsd.service.d/test.conf': dropIn };
    const systemd = await NamespacedSystemd.start(files, options);
    const service = new ServiceUnderTest(systemd);
    try {
      systemd.must('/opt/sfsd/bin/sfsd', 'install');
      systemd.must('systemctl', 'enable', '--now', 'sfsd');
      return service;
    } catch (thrown) {
      await systemd.stop();
      throw thrown;
    }
  }

  sfsd(...words: readonly string[]) {
    return this.systemd.run('/opt/sfsd/bin/sfsd', ...words);
  }

  /** Inside. */
  get mainPid(): number {
    return Number(this.systemd.property('sfsd', 'MainPID'));
  }

  get restarts(): number {
    return Number(this.systemd.property('sfsd', 'NRestarts'));
  }

  /** Results of the runs that have ended, as ExecStopPost was told them. */
  stopPosts(): readonly string[] {
    const { out } = this.systemd.run('cat', '/run/stop-post');
    return out.split('\n').filter((line) => line !== '');
  }

  /** Spawners that run: one for a daemon that lives, otherwise none. */
  spawners(): number {
    const { out } = this.systemd.run('systemctl', 'list-units', '--no-legend', '--plain', 'sfsd-spawner@*');
    return out.split('\n').filter((line) => line.includes('running')).length;
  }

  /** Pids inside of what runs at FILTER's priority while nothing is asked of the daemon. */
  realTimeFunctions(): readonly string[] {
    const { out } = this.systemd.run('ps', '-eLo', 'rtprio=,tid=,comm=');
    return out.split('\n').filter((line) => /^ *5 /.test(line));
  }

  async serves(): Promise<boolean> {
    return (await this.status()) !== undefined;
  }

  async status(): Promise<StatusBody | undefined> {
    const client = this.systemd.client();
    try {
      const answer = await client.request({ method: 'GET', path: '/v1/status' });
      return (await answer.body.json()) as StatusBody;
    } catch {
      return undefined;
    } finally {
      await client.destroy();
    }
  }

  /** Why a connection to the API's socket is refused; nothing when it is not. */
  async refusal(): Promise<readonly string[]> {
    const socket = createConnection(this.systemd.path('/run/sfsd/sfsd.sock'));
    try {
      await once(socket, 'connect');
      return [];
    } catch (thrown) {
      return [reasonOf(thrown)];
    } finally {
      socket.destroy();
    }
  }

  async waitFor(fact: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
    const until = Date.now() + withinMs;
    while (Date.now() < until) {
      if (await fact()) return true;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return fact();
  }

  async put(name: string, script: string): Promise<void> {
    const client = this.systemd.client();
    const body = JSON.stringify({ command: '/bin/sh', args: ['-c', script] });
    const headers = { 'content-type': 'application/json' };
    const answer = await client.request({ method: 'PUT', path: `/v1/functions/${name}`, headers, body });
    const text = await answer.body.text();
    await client.destroy();
    if (answer.statusCode > 201) throw new Error(`PUT ${name}: ${answer.statusCode} ${text}`);
  }

  /** Resolves with the status and the output, or with `cut` when the connection ends first. */
  invoke(name: string): { readonly answer: Promise<string>; readonly client: Client } {
    const client = this.systemd.client();
    const answer = client
      .request({ method: 'POST', path: `/v1/functions/${name}/invocations` })
      .then(async ({ statusCode, body }) => `${statusCode} ${await body.text()}`)
      .catch(() => 'cut')
      .finally(() => client.destroy().catch(() => {}));
    return { answer, client };
  }

  /** Of a process inside, by its number inside. */
  proc(pid: number, file: string): string {
    return readFileSync(this.systemd.path(`/proc/${pid}/${file}`), 'utf8');
  }

  stop(): Promise<void> {
    return this.systemd.stop();
  }
}
