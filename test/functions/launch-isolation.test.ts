/** What a function is given: a user, limits, three descriptors; and what it is not: any privilege, any real-time priority. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { LaunchRequest } from '../../src/contracts/function.js';
import { run, shell, startHost, textOf } from './support.js';

const host = await startHost();
t.teardown(() => host.close());

async function said(script: string, fields: Partial<LaunchRequest> = {}, spec: Record<string, unknown> = {}) {
  const { outcome } = await run(host, shell(host, script, spec), fields);
  return textOf(outcome.stdout) + textOf(outcome.stderr);
}

const nobody = { uid: 65534, gid: 65533 };

for (const [user, credentials] of [
  ['root', { uid: 0, gid: 0 }],
  ['another user', nobody],
] as const) {
  t.test(`as ${user} a function has no capability, and can get none`, async (t) => {
    const status = await said('cat /proc/self/status', { credentials });
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      t.match(status, new RegExp(`^${set}:\\s+0{16}$`, 'm'), set);
    }
    t.match(status, /^NoNewPrivs:\s+1$/m);
    t.match(status, /^SigBlk:\s+0{16}$/m);
    t.match(status, /^SigIgn:\s+0{16}$/m);
    t.match(status, /^Groups:\s*$/m);
    t.match(
      status,
      new RegExp(`^Uid:\\s+${credentials.uid}\\s+${credentials.uid}\\s+${credentials.uid}\\s`, 'm'),
    );
    t.match(
      status,
      new RegExp(`^Gid:\\s+${credentials.gid}\\s+${credentials.gid}\\s+${credentials.gid}\\s`, 'm'),
    );
  });
}

t.test('limits keep a function from real time and from core files', async (t) => {
  const limits = await said('cat /proc/self/limits', { credentials: nobody });
  t.match(limits, /^Max realtime priority\s+0\s+0/m);
  t.match(limits, /^Max nice priority\s+0\s+0/m);
  t.match(limits, /^Max core file size\s+0\s+0/m);
  t.match(limits, /^Max open files\s+1024\s+4096/m);
});

t.test('a function cannot make itself real-time, root neither', async (t) => {
  t.match(await said('chrt -f 1 true'), /failed|not permitted/i);
});

t.test('a function that has started is SCHED_OTHER at nice 0, and so are its children', async (t) => {
  // Policy, priority and nice of /proc/PID/stat, read some time after the start.
  const fields = await said('sleep 0.1; cat /proc/$$/stat; cat /proc/self/stat');
  for (const line of fields.trim().split('\n')) {
    const words = line.slice(line.lastIndexOf(')') + 2).split(' ');
    t.same([words[16], words[37], words[38]], ['0', '0', '0'], 'nice, rt_priority, policy');
  }
});

t.test('a program that forks at once leaves no real-time child', async (t) => {
  const spec = '(for i in 1 2 3 4; do (sleep 0.2; cat /proc/self/stat) & done; wait)';
  const policies = (await said(spec))
    .trim()
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf(')') + 2).split(' ')[38]);
  t.same(policies, ['0', '0', '0', '0']);
});

t.test(
  'a function has three descriptors, a process group of its own and no terminal, its directory and its environment',
  async (t) => {
    // The fourth is the directory that ls itself reads.
    t.equal(await said('ls /proc/self/fd | wc -l'), '4\n');
    const ids = await said('echo $$ $PPID; cut -d" " -f5-7 /proc/$$/stat');
    const [family = '', places] = ids.trim().split('\n');
    const [pid, spawner] = family.split(' ');
    t.equal(places, `${pid} ${spawner} 0`, 'its group, the session of the spawner, no terminal');
    const autogroup = readOptional('/proc/self/autogroup');
    if (autogroup !== undefined)
      t.match(await said('cat /proc/self/autogroup'), / nice 10$/m, 'the session yields to the others');
    t.equal(await said('pwd; umask', {}, { workingDirectory: '/tmp' }), '/tmp\n0022\n');
    const env = await said('/usr/bin/env', {}, { env: { A: 'b c', PATH: '/none' } });
    t.match(env, /^A=b c$/m);
    t.match(env, /^PATH=\/none$/m);
    t.notMatch(env, /^(HOME|NODE)/m);
  },
);

t.test('a function has its own cgroup, with the limits asked for', async (t) => {
  t.match(await said('cat /proc/self/cgroup'), /sfsd-test-\d+\/fn-shell-\d+/);
  t.match(await said('cat /proc/self/cgroup', {}, { pidsMax: 20 }), /(pids|:):\/sfsd-test-\d+\/fn-shell-\d+/);
  const forks = 'for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait';
  t.match(await said(forks, {}, { pidsMax: 4 }), /fork/i);
});

/** Kernels without CONFIG_SCHED_AUTOGROUP have no such file. */
function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
