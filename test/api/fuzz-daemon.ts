/**
 * The attacks of fuzz-attack.ts against a whole daemon, over its unix socket and TCP, as several clients; and connections that are
 * cut in the middle of a function's run. Afterwards the daemon must be as it was: the same process, no invocation live, no function
 * running, no descriptor left over, memory flat.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { StatusBody } from '../../src/contracts/http.js';
import { DaemonUnderTest, sleep } from '../e2e/daemon-under-test.js';
import type { OpenApi } from './caller.js';
import { attackOf, faultOf, send, type Way } from './fuzz-attack.js';
import { Fuzz } from './fuzz-bodies.js';
import { streamAttackOf, streamFaultOf } from './fuzz-stream.js';

export interface Extent {
  readonly seed: number;
  readonly requests: number;
  readonly aborts: number;
  readonly lifeMaxSeconds: number;
  /** Of the daemon's memory from `warmUpShare` of the requests to the end. */
  readonly growthMaxMiB: number;
}

const atOnce = 24;
const abortsAtOnce = 20;
const warmUpShare = 0.2;
const streamShare = 0.2;
const bodyMaxBytes = 65_536;
const settleMaxMs = 15_000;
const settleLookMs = 100;
const idleLooksMin = 4;
const faultsShown = 10;
const secrets = ['r', 's', 'o'].map((letter) => letter.repeat(40)) as [string, string, string];

export async function attackDaemon(t: Test, extent: Extent): Promise<void> {
  t.comment(`SFSD_SEED=${extent.seed}`);
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-fuzz-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const tokenFile = join(folder, 'tokens.json');
  writeFileSync(tokenFile, JSON.stringify({ tokens: tokens() }), { mode: 0o600 });
  const port = await freePort();
  // Nothing is promoted: fuzzed pids may be anybody's.
  const settings = [
    'priorities.realtime=false',
    'log.level=warn',
    `tcp.port=${port}`,
    `tcp.tokenFile=${tokenFile}`,
    `functions.bodyMaxBytes=${bodyMaxBytes}`,
  ];
  const daemon = await DaemonUnderTest.start(settings, [], { lifeMaxSeconds: extent.lifeMaxSeconds });
  t.teardown(() => daemon.stop());
  await daemon.putFunction('f', { command: 'true' });
  const { pid } = await daemon.status();
  const before = descriptors(pid);

  await t.test(`${extent.requests} malformed requests`, (t) => malformed(t, { daemon, port, pid, extent }));
  await t.test(`${extent.aborts} connections cut in the middle of a run`, (t) => cut(t, { daemon, extent }));

  const status = await settled(daemon);
  t.equal(status.pid, pid, 'the daemon is the one that was started');
  t.equal(status.functions.running, 0, 'no function runs');
  t.equal(status.live, 0, 'no invocation is live');
  await sleep(200);
  const after = descriptors(pid);
  t.ok(
    after.length <= before.length + 4,
    `${before.length} descriptors, then ${after.length}: ${after.join(' ')}`,
  );
  // A fuzzed command that does not exist is told of, too.
  const isBug = (line: string) => /"level":[56]0/.test(line) && !line.includes('SFSD_ERR_LAUNCH_FAILED');
  const errors = daemon.log.split('\n').filter(isBug);
  t.same(errors, [], 'nothing failed unexpectedly');
}

interface Target {
  readonly daemon: DaemonUnderTest;
  readonly extent: Extent;
}

async function malformed(
  t: Test,
  { daemon, port, pid, extent }: Target & { readonly port: number; readonly pid: number },
): Promise<void> {
  const target = spawn('sleep', [String(extent.lifeMaxSeconds)], { stdio: 'ignore' });
  t.teardown(() => target.kill('SIGKILL'));
  const fuzz = new Fuzz(extent.seed, { pid: target.pid ?? 0 });
  const document = JSON.parse((await daemon.get('/openapi.json')).text) as OpenApi;
  const tcp = { port, host: '127.0.0.1' };
  const ways: readonly [Way, ...Way[]] = [
    { connect: { path: daemon.socketPath } },
    { connect: { path: daemon.socketPath } },
    { connect: tcp },
    ...secrets.map((secret) => ({ connect: tcp, authorization: `Bearer ${secret}` })),
  ];
  const statuses = new Map<string, number>();
  let faults = 0;
  let sent = 0;
  let warmMiB = 0;
  const client = async () => {
    while (sent < extent.requests) {
      sent += 1;
      if (sent === Math.floor(extent.requests * warmUpShare)) warmMiB = memoryMiB(pid);
      const isStream = fuzz.chance(streamShare);
      const attack = isStream ? streamAttackOf(fuzz, { ways, bodyMaxBytes }) : attackOf(fuzz, ways);
      const answer = await send(attack).catch((error: Error) => error);
      const judge = isStream ? streamFaultOf : faultOf;
      const fault = answer instanceof Error ? answer.message : judge(attack, answer, document);
      const status = typeof answer === 'string' ? answer.slice(9, 12) || 'none' : 'overdue';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (fault === undefined) continue;
      faults += 1;
      const bytes = Buffer.concat(attack.pieces).toString('latin1').slice(0, 2000);
      if (faults <= faultsShown)
        t.fail(`${fault}: ${JSON.stringify(bytes)} -> ${String(answer).slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort())));
  t.equal(faults, 0, 'only documented answers');
  for (const status of ['101', '202', '400', '401', '403', '404'])
    t.ok((statuses.get(status) ?? 0) > 0, `some are answered ${status}`);
  target.kill('SIGKILL');
  const { live } = await settled(daemon);
  t.equal(live, 0, 'no slot leaked');
  const grownMiB = memoryMiB(pid) - warmMiB;
  t.comment(`memory grew from ${warmMiB.toFixed(1)} MiB by ${grownMiB.toFixed(1)} MiB`);
  t.ok(grownMiB < extent.growthMaxMiB, `memory grew by ${grownMiB.toFixed(1)} MiB`);
}

/** A caller that goes away ends its function, whenever it goes. */
async function cut(t: Test, { daemon, extent }: Target): Promise<void> {
  await daemon.putFunction('sleeper', { command: 'sleep', args: ['60'], concurrency: 1000 });
  const fuzz = new Fuzz(extent.seed + 1);
  const post =
    'POST /v1/functions/sleeper/invocations HTTP/1.1\r\nhost: sfsd\r\ncontent-length: 4\r\n\r\nbody';
  const upgrade =
    'GET /v1/stream HTTP/1.1\r\nhost: sfsd\r\nconnection: upgrade\r\nupgrade: sfsd-invocations\r\n\r\n';
  let left = extent.aborts;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const line = `${JSON.stringify({ id: `cut-${left}`, functionName: 'sleeper' })}\n`;
      const request = fuzz.chance(0.5) ? post : `${upgrade}${line}`;
      const length = fuzz.chance(0.9) ? request.length : fuzz.below(request.length);
      const stayMs = fuzz.below(25);
      await new Promise<void>((resolve) => {
        const socket = connect(daemon.socketPath);
        socket.on('error', () => {});
        socket.once('close', () => resolve());
        socket.once('connect', () => {
          socket.write(request.slice(0, length));
          setTimeout(() => socket.destroy(), stayMs);
        });
      });
    }
  };
  await Promise.all(Array.from({ length: abortsAtOnce }, client));
  const status = await settled(daemon);
  t.equal(status.functions.running, 0, 'the gauge of running functions is back to 0');
  const metrics = (await daemon.get('/metrics')).text;
  t.match(metrics, /^sfsd_functions_running 0$/m);
  t.match(metrics, /^sfsd_live 0$/m);
  const cancelled = /^sfsd_invocations_total\{function="sleeper",outcome="cancelled"\} (\d+)$/m.exec(
    metrics,
  )?.[1];
  t.comment(`${cancelled} of them were in the middle of their run`);
  t.ok(Number(cancelled) > extent.aborts / 20, 'many were running');
}

/** Once nothing lives any more, and nothing that was sent is still on its way in; or as it is after `settleMaxMs`. */
async function settled(daemon: DaemonUnderTest): Promise<StatusBody> {
  let idleLooks = 0;
  for (let waitedMs = 0; ; waitedMs += settleLookMs) {
    const status = await daemon.status();
    idleLooks = status.live === 0 && status.functions.running === 0 ? idleLooks + 1 : 0;
    if (idleLooks >= idleLooksMin || waitedMs >= settleMaxMs) return status;
    await sleep(settleLookMs);
  }
}

function tokens() {
  const [reader, submitter, operator] = secrets;
  return [
    { name: 'reader', token: reader, role: 'read' },
    { name: 'submitter', token: submitter, role: 'submit', uid: 65534, gid: 65534 },
    { name: 'operator', token: operator, role: 'operate' },
  ];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What each of them leads to; not the kept groups of finished instances, whose number has a bound of its own. */
function descriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
      return target.startsWith('/sys/fs/cgroup/') ? [] : [target];
    } catch {
      return [];
    }
  });
}

function memoryMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
}
