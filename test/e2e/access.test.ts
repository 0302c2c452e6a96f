/** Who may do what, asked of a whole daemon by real users: over its socket, from inside functions, over TCP. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { Client } from 'undici';
import { DaemonUnderTest, sleep } from './daemon-under-test.js';
import { policyOf } from './processes.js';

t.setTimeout(170_000);

const skip = process.getuid?.() !== 0 && 'needs root';
const run = promisify(execFile);
const submitter = 65_534;
const reader = 65_533;
const rules = JSON.stringify([{ role: 'submit', uid: submitter }]);

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** One request, by a program of this user: curl is its own process with its own credentials. */
async function as(
  uid: number,
  path: string,
  options: { readonly method?: string; readonly json?: unknown } = {},
) {
  const { method = 'GET', json } = options;
  const words = [
    ...['--reuid', String(uid), '--regid', String(uid), '--clear-groups'],
    ...['curl', '-s', '-m', '20', '-X', method, '--unix-socket', daemon.socketPath, '-w', '\n%{http_code}'],
    ...(json === undefined ? [] : ['-H', 'content-type: application/json', '-d', JSON.stringify(json)]),
    `http://sfsd${path}`,
  ];
  const { stdout } = await run('setpriv', words);
  const at = stdout.lastIndexOf('\n');
  const text = stdout.slice(0, at);
  const reply: Reply = {
    status: Number(stdout.slice(at + 1)),
    body: text === '' ? undefined : safeJson(text),
  };
  return reply;
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Sleeps, as this user, for at most 20 s; never real-time unless the daemon makes it so. */
async function sleeper(uid: number): Promise<ChildProcess & { readonly pid: number }> {
  const words = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', 'sleep', '20'];
  const child = spawn('setpriv', words, { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await sleep(300);
  return child as ChildProcess & { readonly pid: number };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const folder = mkdtempSync(join(tmpdir(), 'sfsd-access-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const tokenFile = join(folder, 'tokens.json');
const secret = 's'.repeat(40);
const token = { name: 'gateway', token: secret, role: 'submit', uid: submitter, gid: submitter };
writeFileSync(tokenFile, JSON.stringify({ tokens: [token] }), { mode: 0o600 });
const port = await freePort();
const daemon = await DaemonUnderTest.start([
  'socket.mode=0666',
  `access.rules=${rules}`,
  `tcp.port=${port}`,
  `tcp.tokenFile=${tokenFile}`,
]);
t.teardown(() => daemon.stop());
// Others must get to the socket: mkdtemp's folders are private.
await run('chmod', ['755', join(daemon.socketPath, '..')]);
const { pid: daemonPid } = await daemon.status();

const register = (target: object) => ({ method: 'POST', json: [{ id: 'i', functionName: 'f', ...target }] });
const codeOf = (reply: Reply) => (reply.body as readonly { readonly code?: string }[])[0]?.code ?? 'accepted';

t.test('a submit client promotes nothing but its own', { skip }, async (t) => {
  const own = await sleeper(submitter);
  const foreign = await sleeper(reader);
  const roots = await sleeper(0);
  const refused = async (target: object) => codeOf(await as(submitter, '/v1/invocations', register(target)));
  t.equal(await refused({ pid: foreign.pid }), 'SFSD_ERR_TARGET_FOREIGN');
  t.equal(await refused({ pid: roots.pid }), 'SFSD_ERR_TARGET_FOREIGN');
  t.equal(await refused({ pid: 1 }), 'SFSD_ERR_TARGET_INIT');
  t.equal(await refused({ pid: daemonPid }), 'SFSD_ERR_TARGET_OURS');
  t.equal(await refused({ pid: own.pid, startTime: '1' }), 'SFSD_ERR_INVOCATION_GONE');
  t.equal(await refused({ cgroup: '/user.slice' }), 'SFSD_ERR_TARGET_FOREIGN');
  for (const { pid } of [foreign, roots]) t.equal(policyOf(pid), 'SCHED_OTHER');
  t.equal((await daemon.status()).live, 0);
  t.equal(await refused({ pid: own.pid }), 'accepted');
  const path = '/v1/invocations/i';
  t.equal((await as(reader, path, { method: 'DELETE' })).status, 403);
  t.equal((await as(submitter, path, { method: 'DELETE' })).status, 204);
});

t.test('the spawner is refused to operators, too', { skip }, async (t) => {
  const { stdout } = await run('pgrep', ['-P', String(daemonPid)]);
  const children = stdout.trim().split('\n').map(Number);
  t.ok(children.length >= 1);
  for (const pid of children)
    t.equal(codeOf(await as(0, '/v1/invocations', register({ pid }))), 'SFSD_ERR_TARGET_OURS');
});

t.test('a function runs as its owner, whoever of the operators asks', { skip }, async (t) => {
  const put = await as(submitter, '/v1/functions/whoami', {
    method: 'PUT',
    json: { command: 'id', args: ['-u'] },
  });
  t.equal(put.status, 201);
  for (const uid of [submitter, 0]) {
    const { body } = await as(uid, '/v1/functions/whoami/invocations', { method: 'POST' });
    t.equal(Number(body), submitter);
  }
  t.equal((await as(reader, '/v1/functions/whoami/invocations', { method: 'POST' })).status, 403);
});

t.test('a function process cannot reach the operate role', { skip }, async (t) => {
  const curl = ['-s', '-m', '20', '--unix-socket', daemon.socketPath, '-w', ' %{http_code}'];
  const put = ['-X', 'PUT', '-H', 'content-type: application/json', '-d', '{"command":"true"}'];
  const from = async (uid: number, args: readonly string[]) => {
    const json = { command: 'curl', args, uid, gid: uid };
    await daemon.putFunction('inside', json);
    return (await daemon.request('POST', '/v1/functions/inside/invocations')).text;
  };
  const asRoot = await from(0, [...curl, ...put, 'http://sfsd/v1/functions/made-inside']);
  t.match(asRoot, /SFSD_ERR_FORBIDDEN.*a function of uid 0 has the role read.* 403$/);
  t.match(await from(0, [...curl, 'http://sfsd/healthz']), /ok.* 200$/, 'it may read');
  await daemon.putFunction('roots', { command: 'true' });
  const asSubmitter = await from(submitter, [...curl, ...put, 'http://sfsd/v1/functions/roots']);
  t.match(asSubmitter, /SFSD_ERR_FORBIDDEN.* 403$/);
  const own = await from(submitter, [...curl, ...put, 'http://sfsd/v1/functions/made-inside']);
  t.match(own, new RegExp(`"uid":${submitter}.* 201$`), 'its own it may');
  const overTcp = await from(0, ['-s', '-w', ' %{http_code}', `http://127.0.0.1:${port}/healthz`]);
  t.match(overTcp, /SFSD_ERR_UNAUTHENTICATED.* 401$/);
});

t.test('pids that a caller in a container counts are translated', { skip }, async (t) => {
  const request = (pid: string) =>
    `curl -s --unix-socket ${daemon.socketPath} -H 'content-type: application/json' -d '[{"id":"inner","functionName":"f","pid":'${pid}'}]' http://sfsd/v1/invocations`;
  const script = `sleep 20 & echo "$! $(${request('$!')}) $(${request('99999')})"`;
  const { stdout } = await run('unshare', [
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    'sh',
    '-c',
    script,
  ]);
  t.match(stdout, /^\d{1,2} \[\{"id":"inner","source":"api"\}\] \[.*SFSD_ERR_PID_NAMESPACE/);
});

t.test('over TCP a token says who asks, and nothing goes without one', { skip }, async (t) => {
  const client = new Client(`http://127.0.0.1:${port}`);
  t.teardown(() => client.destroy());
  const ask = async (
    headers: Record<string, string>,
    method: 'GET' | 'POST' = 'GET',
    path = '/v1/functions',
  ) => {
    const answer = await client.request({ method, path, headers });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  t.equal((await ask({})).status, 401);
  t.equal((await ask({ authorization: `Bearer ${secret}` })).status, 200);
  const ran = await ask({ authorization: `Bearer ${secret}` }, 'POST', '/v1/functions/whoami/invocations');
  t.same(ran, { status: 200, text: `${submitter}\n` });
});

t.test('a daemon does not start with a token file that others can read', { skip }, async (t) => {
  const open = join(folder, 'open.json');
  writeFileSync(open, '{}', { mode: 0o644 });
  const settings = ['--set', `tcp.port=${await freePort()}`, '--set', `tcp.tokenFile=${open}`];
  const words = ['10', 'bin/sfsd', 'start', '--socket', join(folder, 'other.sock'), ...settings];
  const failed = await run('timeout', words).catch(
    (error: { readonly stderr?: string; readonly code?: number }) => error,
  );
  t.match(failed, { code: 1, stderr: /SFSD_ERR_TOKEN_FILE.*mode is 0644.*chmod 0600/s });
});
