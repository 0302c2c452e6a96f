/** What the kernel says of processes and of peers, for the rules on who may do what. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { PeerReader } from '../../src/daemon/peers.js';
import { HostProcesses } from '../../src/daemon/processes.js';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { pidTranslator, scanNamespace } from '../../src/linux/pid-namespace.js';

t.setTimeout(60_000);

const loaded = loadKoffiLibc();
if (!loaded.ok) throw new Error(loaded.reason);
const { libc } = loaded;
const isRoot = process.getuid?.() === 0;
const needsRoot = !isRoot && 'needs root for another uid';
const lifeSeconds = '30';

/** Its first line of output means that it is as it will be. */
async function child(test: { teardown(release: () => unknown): void }, words: readonly string[]) {
  const [program = '', ...args] = words;
  const started = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  test.teardown(() => started.kill('SIGKILL'));
  const [line] = (await once(started.stdout, 'data')) as [Buffer];
  return { child: started, said: line.toString().trim() };
}

/** A process that is nobody's child here: its parent has ended. */
async function orphan(test: { teardown(release: () => unknown): void }, script: string): Promise<number> {
  const { said } = await child(test, ['sh', '-c', `(${script}) >/dev/null 2>&1 & echo $!`]);
  const pid = Number(said);
  test.teardown(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  });
  for (let attempt = 0; readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'sleep\n'; attempt += 1) {
    if (attempt === 500) throw new Error(`process ${pid} did not become sleep`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return pid;
}

function startTimeOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

t.test('of a process its start time, its uid and its cgroups are told', { skip: needsRoot }, async (t) => {
  const processes = new HostProcesses(libc, () => []);
  const pid = await orphan(t, `exec setpriv --reuid 65534 --clear-groups sleep ${lifeSeconds}`);
  const startTime = startTimeOf(pid);
  t.same(processes.examine(pid, { cgroups: false }), { startTime, uid: 65534, cgroups: [] });
  const facts = processes.examine(pid, { cgroups: true });
  const own = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
  const paths = new Set(own.map((line) => line.split(':').slice(2).join(':')));
  t.same(facts, { startTime, uid: 65534, cgroups: [...paths] });
});

t.test('a process whose uids differ is nobody\u2019s own', { skip: needsRoot }, async (t) => {
  const processes = new HostProcesses(libc, () => []);
  const pid = await orphan(t, `exec setpriv --ruid 65534 sleep ${lifeSeconds}`);
  t.same(processes.examine(pid, { cgroups: false }), { startTime: startTimeOf(pid), cgroups: [] });
});

t.test('kernel threads, ourselves, our helpers and the dead are told apart', async (t) => {
  const processes = new HostProcesses(libc, () => [4001, undefined]);
  const want = { cgroups: false };
  t.equal(processes.examine(process.pid, want), 'ours');
  const helper = await child(t, ['sh', '-c', `echo; exec sleep ${lifeSeconds}`]);
  t.equal(processes.examine(helper.child.pid ?? 0, want), 'ours', 'what the daemon itself started');
  t.same(
    [process.pid, 4001, 4000].map((pid) => processes.isOurs(pid)),
    [true, true, false],
  );
  const ended = await child(t, ['sh', '-c', 'echo']);
  await once(ended.child, 'close');
  t.equal(processes.examine(ended.child.pid ?? 0, want), 'gone');
  const isKernels = isRoot && readFileSync('/proc/2/comm', 'utf8') === 'kthreadd\n';
  if (isKernels) t.equal(processes.examine(2, want), 'kernel-thread');
});

t.test('a cgroup that holds this process is known, also from above', async (t) => {
  const processes = new HostProcesses(libc, () => []);
  const own = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const deepest = own.map((line) => line.split(':').slice(2).join(':')).find((path) => path.length > 1);
  if (deepest !== undefined) {
    t.equal(processes.holds(deepest), 'ours');
    t.equal(processes.holds(`/${deepest.split('/')[1]}`), 'ours');
    t.equal(processes.holds(`${deepest}/below`), undefined);
  }
  t.equal(processes.holds('/there-is-none'), undefined);
});

t.test(
  'a pid of another namespace is translated, by the kernel and by reading',
  { skip: needsRoot },
  async (t) => {
    const script = `sleep ${lifeSeconds} & echo $!; wait`;
    const started = await child(t, [
      'unshare',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'sh',
      '-c',
      script,
    ]);
    const inner = Number(started.said);
    const shell = childrenOf(started.child.pid ?? 0)[0] ?? 0;
    const outer = childrenOf(shell)[0] ?? 0;
    t.not(inner, outer);
    const translate = pidTranslator(libc, shell);
    t.equal(translate(1), shell);
    t.equal(translate(inner), outer);
    t.match(translate(4_000_000), { reason: 'there is no such process' });
    t.same(
      [...scanNamespace(libc, shell)].sort(),
      [
        [1, shell],
        [inner, outer],
      ].sort(),
    );
    const older = { ...libc, ioctl: () => -25 };
    t.equal(pidTranslator(older, shell)(inner), outer, 'on a kernel without the call');
    t.match(pidTranslator(libc, 0)(1), { reason: /outside/ });
  },
);

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** Connects, says hello, and stays. */
const connecting = (path: string) =>
  `require('node:net').connect(${JSON.stringify(path)}, function () { this.write('x'); }); setTimeout(() => {}, 20000)`;

async function peerOf(test: { teardown(release: () => unknown): void }, wrapper: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-peer-'));
  test.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 's');
  const server = createServer({ pauseOnConnect: true });
  server.listen({ path, readableAll: true, writableAll: true });
  await once(server, 'listening');
  const [program = '', ...args] = [...wrapper, process.execPath, '-e', connecting(path)];
  const started: ChildProcess = spawn(program, args, { stdio: 'inherit' });
  test.teardown(() => started.kill('SIGKILL'));
  const [socket] = (await once(server, 'connection')) as [Socket];
  test.teardown(() => {
    socket.destroy();
    server.close();
  });
  return { socket, started };
}

t.test('of a peer the kernel tells pid, uid, gid and groups', { skip: needsRoot }, async (t) => {
  const { socket, started } = await peerOf(t, []);
  const peer = new PeerReader(libc).of(socket);
  t.match(peer, { pid: started.pid, uid: 0, gid: process.getgid?.(), confined: false, nestedPids: false });
  const words = ['setpriv', '--reuid', '0', '--regid', '50', '--groups', '60,70'];
  const other = await peerOf(t, words);
  t.match(new PeerReader(libc).of(other.socket), { uid: 0, gid: 50, groups: [60, 70] });
});

t.test(
  'a peer that bears the marks of a function is confined; either mark alone is not enough',
  { skip: needsRoot },
  async (t) => {
    const confined = async (...words: string[]) =>
      new PeerReader(libc).of((await peerOf(t, ['setpriv', ...words])).socket).confined;
    t.equal(await confined('--no-new-privs', '--bounding-set', '-all', '--inh-caps', '-all'), true);
    t.equal(await confined('--no-new-privs'), false);
    t.equal(await confined('--bounding-set', '-all', '--inh-caps', '-all'), false);
  },
);

t.test(
  'a peer that has ended counts as a function: its number may be another\u2019s by now',
  { skip: needsRoot },
  async (t) => {
    const { socket, started } = await peerOf(t, []);
    started.kill('SIGKILL');
    await once(started, 'close');
    t.equal(new PeerReader(libc).of(socket).confined, true);
  },
);

t.test('a peer in a pid namespace of its own is told', { skip: needsRoot }, async (t) => {
  const { socket } = await peerOf(t, ['unshare', '--pid', '--fork', '--kill-child']);
  t.match(new PeerReader(libc).of(socket), { nestedPids: true, confined: false });
});
