/** doctor's checks of the host's files, each answer from files that show it. */
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { fairServerFinding } from '../../src/cli/doctor/kernel.js';
import {
  btfFinding,
  kernelThreadFinding,
  schedExtFinding,
  smtFinding,
} from '../../src/cli/doctor/schedulers.js';
import { targetFinding } from '../../src/cli/doctor/targets.js';
import { containerdFinding, procConnectorFinding, procFinding } from '../../src/cli/doctor/visibility.js';

const everyRight = 'CapEff:\t000001ffffffffff\n';
const noRight = 'CapEff:\t0000000000000000\n';

function procOf(t: Test, files: Parameters<Test['testdir']>[0] & object): string {
  return t.testdir({ proc: files });
}

function stat(
  pid: number,
  options: { name: string; parent: number; priority: number; policy: number },
): string {
  const { name, parent, priority, policy } = options;
  const before = ['S', parent, ...new Array<number>(35).fill(0)];
  return `${pid} (${name}) ${[...before, priority, policy, 0].join(' ')}\n`;
}

t.test('hidepid hides processes from those without CAP_SYS_PTRACE', async (t) => {
  const finding = (options: string, status: string) => {
    const mountinfo = `22 1 0:21 / /proc rw,nosuid - proc proc ${options}\n`;
    return procFinding(procOf(t, { self: { mountinfo, status } }));
  };
  t.equal(finding('rw', noRight).state, 'ok');
  t.match(finding('rw,hidepid=invisible', noRight), { state: 'degraded', fact: /hidepid=invisible/ });
  t.match(finding('rw,hidepid=2', everyRight), { state: 'ok', fact: /CAP_SYS_PTRACE/ });
  t.match(finding('rw,subset=pid', everyRight), { state: 'broken', advice: /ProcSubset=all/ });
});

t.test('the proc connector needs the kernel, the host’s network namespace and CAP_NET_ADMIN', async (t) => {
  const finding = (connector: string, status: string, network = 'net:[1]') => {
    const ns = (name: string) => ({ net: t.fixture('symlink', name) });
    const self = { status, ns: ns(network) };
    return procConnectorFinding(procOf(t, { net: { connector }, self, 1: { ns: ns('net:[1]') } }));
  };
  const there = 'Name            ID\ncn_proc         1:1\n';
  t.equal(finding(there, everyRight).state, 'ok');
  t.match(finding('Name            ID\n', everyRight), { state: 'degraded', fact: /CONFIG_PROC_EVENTS/ });
  t.match(finding(there, noRight), { state: 'degraded', fact: /CAP_NET_ADMIN/ });
  t.match(finding(there, everyRight, 'net:[2]'), { state: 'degraded', fact: /network namespace/ });
});

t.test('containerd is looked for, and nobody misses it elsewhere', async (t) => {
  t.match(containerdFinding(t.testdir()), { state: 'ok', fact: /none/ });
  t.equal(containerdFinding(t.testdir({ run: { containerd: { 'containerd.sock': '' } } })).state, 'ok');
});

t.test('a BPF scheduler is named', async (t) => {
  const finding = (sched_ext: object) =>
    schedExtFinding(t.testdir({ sys: { kernel: { sched_ext } } } as never));
  t.match(schedExtFinding(t.testdir({})), { state: 'ok', fact: 'not in this kernel' });
  t.equal(finding({ state: 'disabled\n' }).state, 'ok');
  t.match(finding({ state: 'enabled\n', root: { ops: 'scx_lavd\n' } }), {
    state: 'degraded',
    fact: /scx_lavd/,
  });
});

t.test('types of the kernel, and cores that CPUs share', async (t) => {
  t.equal(btfFinding(t.testdir({})).state, 'degraded');
  t.equal(btfFinding(t.testdir({ sys: { kernel: { btf: { vmlinux: 'x' } } } })).state, 'ok');
  const smt = (active: string) =>
    smtFinding(t.testdir({ sys: { devices: { system: { cpu: { smt: { active } } } } } })).state;
  t.equal(smt('0\n'), 'ok');
  t.equal(smt('1\n'), 'degraded');
});

t.test('real-time threads of the kernel below 50 are named; a user’s are not the kernel’s', async (t) => {
  const high = stat(21, { name: 'migration/1', parent: 2, priority: 99, policy: 1 });
  const fair = stat(15, { name: 'rcu_sched', parent: 2, priority: 0, policy: 0 });
  const low = stat(16, { name: 'a) 1 (b', parent: 2, priority: 1, policy: 1 });
  const other = stat(40, { name: 'audio', parent: 1, priority: 20, policy: 1 });
  const seen = { 15: { stat: fair }, 21: { stat: high }, 40: { stat: other } };
  t.match(kernelThreadFinding(procOf(t, seen)), { state: 'ok', fact: /^1 real-time/ });
  t.match(kernelThreadFinding(procOf(t, { ...seen, 16: { stat: low } })), {
    state: 'degraded',
    fact: /1 below 50: a\) 1 \(b at 1$/,
  });
  t.match(kernelThreadFinding(procOf(t, {})), { state: 'ok', fact: /none/ });
});

t.test('a fair server that was turned off is found', async (t) => {
  const finding = (runtime: string) => {
    const fair_server = { cpu0: { runtime: '50000000\n' }, cpu1: { runtime } };
    return fairServerFinding(t.testdir({ sys: { kernel: { debug: { sched: { fair_server } } } } }));
  };
  const usual = fairServerFinding(t.testdir({}));
  t.strictSame(finding('50000000\n'), usual);
  if (usual.state === 'ok') t.match(finding('0\n'), { state: 'degraded', fact: /off on 1 of 2 CPUs/ });
});

t.test('groups without a real-time budget: moved on v1, out of reach on cgroup2', async (t) => {
  const v1 = '30 20 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n';
  const v2 = '30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n';
  const config = (line: string) => gzipSync(`CONFIG_X=y\n${line}\n`);
  const budget = (us: number) => ({ 'cpu.rt_runtime_us': `${us}\n` });
  const tree = (functions: number) => ({
    sys: {
      fs: {
        cgroup: {
          cpu: { ...budget(950_000), 'openfaas-fn': { ...budget(functions), hello: budget(functions) } },
        },
      },
    },
    proc: { self: { mountinfo: v1 } },
  });
  t.match(targetFinding(t.testdir(tree(0))), { state: 'degraded', fact: /2 without.*\/openfaas-fn\/hello/ });
  t.equal(targetFinding(t.testdir(tree(1000))).state, 'ok');
  const unified = (option: string, cmdline: string) =>
    targetFinding(
      t.testdir({
        sys: { fs: { cgroup: { 'cgroup.controllers': 'cpu memory\n' } } },
        proc: { self: { mountinfo: v2 }, cmdline, 'config.gz': config(option) },
      }),
    );
  t.match(unified('CONFIG_RT_GROUP_SCHED=y', 'quiet'), { state: 'broken', advice: /rt_group_sched=0/ });
  t.equal(unified('CONFIG_RT_GROUP_SCHED=y', 'quiet rt_group_sched=0').state, 'ok');
  t.equal(unified('# CONFIG_RT_GROUP_SCHED is not set', 'quiet').state, 'ok');
});
