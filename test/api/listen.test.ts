/** The unix socket: its mode, dead and living predecessors, its removal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { Client } from 'undici';
import { listen } from '../../src/api/listen.js';
import { createServer } from '../../src/api/server.js';
import { rig, socketFolder } from './simulated.js';

t.setTimeout(120_000);

const mode = '0660';
const server = () => createServer(rig().ports);

/** A process that binds the path and is killed: what a daemon that died leaves. */
async function leaveDeadSocket(path: string): Promise<void> {
  const script = "require('node:net').createServer().listen(process.argv[1], () => console.log('bound'))";
  const child = spawn(process.execPath, ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function healthOf(path: string): Promise<number> {
  const client = new Client('http://sfsd', { socketPath: path });
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: '/healthz' });
    await body.dump();
    return statusCode;
  } finally {
    await client.destroy();
  }
}

t.test('the socket has its mode, its folder is made, and nothing else stays beside it', async (t) => {
  const folder = join(socketFolder(t), 'run', 'sfsd');
  const path = join(folder, 'sfsd.sock');
  for (const text of ['0660', '0600', '0666']) {
    const listening = await listen(server(), { path, mode: text });
    const stat = lstatSync(path);
    t.ok(stat.isSocket());
    t.equal((stat.mode & 0o7777).toString(8), text.slice(1));
    t.same(readdirSync(folder), ['sfsd.sock']);
    t.equal(await healthOf(path), 200);
    await listening.close();
    t.same(readdirSync(folder), [], 'it is removed at close');
  }
});

t.test('the socket never shows under its path with a wider mode', async (t) => {
  const path = join(socketFolder(t), 's');
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const seen = new Set<string>();
  let watching = true;
  const look = () => {
    if (existsSync(path)) seen.add((lstatSync(path).mode & 0o777).toString(8));
    if (watching) setImmediate(look);
  };
  look();
  const listening = await listen(server(), { path, mode });
  watching = false;
  look();
  await listening.close();
  t.same([...seen], ['660']);
});

t.test('a dead socket is taken over', async (t) => {
  const path = join(socketFolder(t), 's');
  await leaveDeadSocket(path);
  t.ok(lstatSync(path).isSocket());
  const listening = await listen(server(), { path, mode });
  t.equal(await healthOf(path), 200);
  await listening.close();
  t.notOk(existsSync(path));
});

t.test('a second daemon is refused and the first one is not disturbed', async (t) => {
  const folder = socketFolder(t);
  const path = join(folder, 's');
  const first = await listen(server(), { path, mode });
  await t.rejects(listen(server(), { path, mode }), { code: 'SFSD_ERR_SOCKET_IN_USE', message: path });
  t.equal(await healthOf(path), 200);
  t.same(readdirSync(folder), ['s']);
  await first.close();
});

t.test('of daemons that start at once on a dead socket exactly one wins', async (t) => {
  for (let round = 0; round < 4; round += 1) {
    const folder = socketFolder(t);
    const path = join(folder, 's');
    if (round % 2 === 0) await leaveDeadSocket(path);
    const starts = await Promise.allSettled(
      Array.from({ length: 4 }, () => listen(server(), { path, mode })),
    );
    const won = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    const lost = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []));
    t.equal(won.length, 1);
    t.same(new Set(lost.map((reason) => reason.code)), new Set(['SFSD_ERR_SOCKET_IN_USE']));
    t.equal(await healthOf(path), 200);
    t.same(readdirSync(folder), ['s']);
    await won[0]?.close();
  }
});

t.test('the lock of a daemon that was killed while it started is not waited for long', async (t) => {
  const folder = socketFolder(t);
  const path = join(folder, 's');
  mkdirSync(`${path}.starting`);
  utimesSync(`${path}.starting`, new Date(0), new Date(0));
  const listening = await listen(server(), { path, mode });
  t.same(readdirSync(folder), ['s']);
  await listening.close();
});

t.test('what is not a socket is left alone', async (t) => {
  const folder = socketFolder(t);
  const file = join(folder, 'file');
  writeFileSync(file, 'precious');
  const pointer = join(folder, 'pointer');
  symlinkSync(file, pointer);
  for (const path of [file, pointer, folder]) {
    await t.rejects(listen(server(), { path, mode }), { code: 'SFSD_ERR_FILE', message: 'not a socket' });
  }
  t.same(readdirSync(folder), ['file', 'pointer']);
});

t.test('a path that is too long, or in no folder, is a coded error', async (t) => {
  const folder = socketFolder(t);
  const long = join(folder, 'x'.repeat(108));
  await t.rejects(listen(server(), { path: long, mode }), { code: 'SFSD_ERR_FILE', message: '107 bytes' });
  const blocked = join(folder, 'file');
  writeFileSync(blocked, '');
  await t.rejects(listen(server(), { path: join(blocked, 's'), mode }), { code: 'SFSD_ERR_FILE' });
  await t.rejects(listen(server(), { path: '/proc/none/s', mode }), {
    code: 'SFSD_ERR_FILE',
    message: 'ENOENT',
  });
  t.same(readdirSync(folder), ['file']);
});

t.test('close leaves a socket that another daemon put there since', async (t) => {
  const path = join(socketFolder(t), 's');
  const first = await listen(server(), { path, mode });
  rmSync(path);
  const second = await listen(server(), { path, mode });
  await first.close();
  t.equal(await healthOf(path), 200);
  await second.close();
  t.notOk(existsSync(path));
});

t.test('a server that listens but never answers HTTP is alive all the same', async (t) => {
  const path = join(socketFolder(t), 's');
  const mute = createNetServer();
  mute.listen(path);
  await once(mute, 'listening');
  t.teardown(() => mute.close());
  await t.rejects(listen(server(), { path, mode }), { code: 'SFSD_ERR_SOCKET_IN_USE' });
});

t.test('close waits for the answers under way', async (t) => {
  const simulated = rig();
  const path = join(socketFolder(t), 's');
  const app = createServer(simulated.ports);
  const listening = await listen(app, { path, mode });
  const client = new Client('http://sfsd', { socketPath: path });
  t.teardown(() => client.destroy());
  simulated.functions.put('a', {
    name: 'a',
    command: 'x',
    args: [],
    env: {},
    workingDirectory: '/',
    timeoutMs: 0,
    concurrency: 1,
    outputMaxBytes: 10,
  });
  const launched = new Promise<void>((resolve) => {
    simulated.launcher.onLaunch = () => resolve();
  });
  const waiting = client.request({ method: 'POST', path: '/v1/functions/a/invocations' });
  await launched;
  const closed = listening.close();
  while (app.server.listening) await new Promise((resolve) => setImmediate(resolve));
  simulated.launcher.launches[0]?.finish({ stdout: 'last' });
  const { statusCode, body, headers } = await waiting;
  t.equal(statusCode, 200);
  t.equal(await body.text(), 'last');
  t.equal(headers.connection, 'close');
  await closed;
  t.notOk(existsSync(path));
});

t.test(
  'close does not wait for ever for clients that say nothing or whose answer does not come',
  async (t) => {
    const path = join(socketFolder(t), 's');
    const listening = await listen(server(), { path, mode });
    const silent = createConnection(path);
    await once(silent, 'connect');
    const cut = new Promise((resolve) => silent.once('close', resolve));
    await listening.close(50);
    await cut;
    await listening.close(50);
    t.notOk(existsSync(path));
  },
);
