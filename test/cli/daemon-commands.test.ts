/** status, top --once, why and invoke against a real socket: what they print, and how they end. */
import t from 'tap';
import { lifeStory, verdict } from '../../src/cli/life-story.js';
import { topLines } from '../../src/cli/top/view.js';
import type { DecisionBody, ExplanationBody } from '../../src/contracts/http.js';
import { decisionKinds } from '../../src/contracts/scheduler.js';
import { ContractServer, decision, everyKind, explanationBody, statusBody } from './contract-server.js';
import { type Ran, type RunOptions, run } from './run-in-process.js';

const server = new ContractServer();
await server.listen();
t.teardown(() => server.close());

function sfsd(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return run(argv, { ...options, environment: { SFSD_SOCKET: server.socketPath, ...options.environment } });
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

t.test('status prints one fact a line and one row for each worker', async (t) => {
  server.status = statusBody;
  const { code, out, err } = await sfsd(['status']);
  t.equal(code, 0);
  t.equal(err, '');
  t.match(out, /^slice S {6}12\.3 ms$/m);
  t.match(out, /^queue {8}3 waiting, 1 blocked$/m);
  t.match(out, /^budget {7}41\.2% of the window used, at most 93\.0%$/m);
  t.match(out, /^ {5}0 {2}3\.21 ms {2}fib {7}api\/7f3a$/m);
  t.match(out, /^ {5}1 {11}idle$/m);
  t.match(out, /^125\.7% +30\.0 MiB +3 +fib$/m);
  t.match(out, /^FFI +koffi$/m);
  t.ok(widest(out) <= 80, 'fits 80 columns');
});

t.test('status names the mode, what is missing for it, and who could not be promoted', async (t) => {
  server.status = {
    ...statusBody,
    mode: 'eevdf',
    modeReason: 'CAP_SYS_NICE is missing',
    targets: [
      { way: 'eevdf', reason: 'cpu-group', targets: 3 },
      { way: 'denied', reason: 'hidden', targets: 1 },
    ],
    protection: { processes: 2, threads: 9, cpuCores: 0.25 },
  };
  const { out } = await sfsd(['status']);
  t.match(out, /^mode +eevdf: CAP_SYS_NICE is missing$/m);
  t.match(out, /^targets +3 with a weight and a slice instead: no real-time budget/m);
  t.match(out, /^ +1 left alone: \/proc does not show them$/m);
  t.match(out, /^protected +2 processes, 9 threads, using 0\.25 cores$/m);
  t.match(topLines({ now: server.status, columns: 120, rows: 24 })[0], /mode eevdf \(CAP_SYS_NICE/);
});

t.test('status --json is the body as the API gives it', async (t) => {
  server.status = statusBody;
  const { code, out } = await sfsd(['status', '--json']);
  t.equal(code, 0);
  t.strictSame(JSON.parse(out), statusBody);
});

t.test('global flags work before and after the subcommand', async (t) => {
  server.status = statusBody;
  const before = await run(['--socket', server.socketPath, '--json', 'status']);
  t.equal(before.code, 0);
  t.equal((JSON.parse(before.out) as { pid: number }).pid, 4242);
  const after = await run(['status', '--socket', server.socketPath], {
    environment: { SFSD_SOCKET: '/nowhere' },
  });
  t.equal(after.code, 0, 'a flag wins over the environment');
});

t.test('colors are escape codes only where they are wanted', async (t) => {
  server.status = statusBody;
  t.ok((await sfsd(['status'], { colors: true })).out.includes('\u001b[1m'));
  t.notOk((await sfsd(['status'])).out.includes('\u001b'));
});

t.test('top --once prints rates per second and the CPU split, within 80 columns', async (t) => {
  server.status = statusBody;
  const { code, out } = await sfsd(['top', '--once', '--interval', '50']);
  t.equal(code, 0);
  t.match(out, /^S 12\.3 ms {3}queue 3 {3}live 7\/4096 {3}blocked 1/m);
  t.match(out, /arrivals +10\.0/);
  t.match(out, /demotions +2\.0/);
  t.match(out, /polling 0\.20% {3}scheduling 0\.00%/);
  t.ok(widest(out) <= 80);
  t.notOk(out.includes('\u001b'), 'no escape codes');
});

t.test('top --json gives the status and the rates', async (t) => {
  server.status = statusBody;
  const { out } = await sfsd(['top', '--json', '--interval', '50']);
  const body = JSON.parse(out) as { status: { pid: number }; rates: { counters: { arrivals: number } } };
  t.equal(body.status.pid, 4242);
  t.equal(body.rates.counters.arrivals, 10);
});

t.test('the top view of 64 workers fits 80 x 24 and counts those it leaves out', async (t) => {
  const workers = Array.from({ length: 64 }, (_none, worker) => ({
    worker,
    invocation: { id: `${'x'.repeat(60)}${worker}`, source: 'api', functionName: 'f'.repeat(128), forMs: 5 },
  }));
  const now = {
    ...statusBody,
    workers,
    modeReason: 'RT_GROUP_SCHED leaves this cgroup no real-time budget at all',
  };
  const lines = topLines({ now, columns: 80, rows: 24, trouble: 'No sfsd answers' });
  t.ok(lines.length <= 24, `${lines.length} lines`);
  t.ok(lines.every((line) => line.length <= 80));
  t.match(lines.join('\n'), /and \d+ more workers, \d+ of them busy/);
  t.match(lines.join('\n'), /not answering: No sfsd answers/);
});

t.test('top shows what functions use, and adds up those that do not fit', async (t) => {
  const functions = Array.from({ length: 20 }, (_, index) => ({
    functionName: `f${index}`,
    instances: 2,
    measured: index === 19 ? 0 : 1,
    cpuCores: index === 19 ? 0 : 0.5,
    memoryBytes: index === 19 ? 0 : 1_048_576,
  }));
  const others = { functions: 4, instances: 4, measured: 4, cpuCores: 0.25, memoryBytes: 1_048_576 };
  const now = { ...statusBody, resources: { atMs: 0, functions, others } };
  const all = topLines({ now, columns: 80, rows: Number.POSITIVE_INFINITY }).join('\n');
  t.match(all, /^ {5}CPU +memory +running {2}function$/m);
  t.match(all, /^ {3}50\.0% +1\.0 MiB +2 \(1 read\) {2}f0$/m);
  t.match(all, /^ {7}- +- +2 {2}f19$/m);
  t.match(all, /^ {3}25\.0% +1\.0 MiB +4 {2}and 4 more$/m);
  const short = topLines({ now, columns: 80, rows: 24 });
  t.ok(short.length <= 24, `${short.length} lines`);
  t.match(short.join('\n'), /^ +\d+\.\d% .* {2}and \d+ more$/m);
  const idle = { ...statusBody, resources: { ...statusBody.resources, functions: [] } };
  t.notMatch(topLines({ now: idle, columns: 80, rows: 24 }).join('\n'), /memory/);
});

t.test('why tells every kind of decision in a sentence of its own', async (t) => {
  const kinds = new Set(everyKind.map((one) => one.kind));
  t.strictSame(
    [...decisionKinds].filter((kind) => !kinds.has(kind)),
    [],
  );
  const { code, out } = await sfsd(['why', '7f3a'], { columns: 200 });
  t.equal(code, 0);
  for (const sentence of [
    ' 0 ms  Arrived: 3 invocations waited in the queue before it, S was 20.0 ms.',
    '1.00 ms  S became 12.3 ms: invocations arrived every 6.17 ms on average.',
    '4.10 ms  Promoted to SCHED_FIFO on worker 1 after a delay of 4.10 ms, with 20.0 ms of its slice left.',
    '10.0 ms  Blocked after 5.50 ms of CPU: all of its threads sleep. It gave its worker back and keeps 14.5 ms of its slice.',
    '30.0 ms  Woken after 20.0 ms asleep: it queues again with 14.5 ms of its slice left.',
    '35.0 ms  Preempted after 9.50 ms of CPU: an invocation that is expected to be done sooner took its worker. It waits again.',
    '40.0 ms  FILTER paused: 93.0 ms of this window were spent in SCHED_FIFO, all that the budget allows.',
    '47.0 ms  FILTER resumed after a pause of 7.00 ms.',
    '52.6 ms  Demoted after 20.3 ms of CPU: its slice of 20.0 ms was used up, by 0.300 ms too much. The fair scheduler runs it from here on.',
    '60.0 ms  Bypassed: it had waited 61.0 ms, which is at least O x S = 60.0 ms. The host was overloaded, so the fair scheduler got it for good.',
    '61.0 ms  Denied: the kernel did not let us make it real-time. The fair scheduler runs it; `sfsd doctor` shows why.',
    '100 ms  Ended: it exited after 45.0 ms of CPU, while the fair scheduler ran it.',
  ])
    t.ok(out.includes(sentence), sentence);
  t.match(out, /^Verdict: .*; turnaround 100 ms for 45\.0 ms of CPU \(45%\)\.$/m);
  t.ok(widest((await sfsd(['why', '7f3a'])).out) <= 80, 'wraps at 80 columns');
});

t.test('why tells what Gittins expected', async (t) => {
  const body = { ...explanationBody('a', everyKind), policy: 'gittins' } as const;
  const [arrived, , promoted] = lifeStory(body).map((one) => one.text);
  t.equal(arrived, 'Arrived: 3 invocations waited in the queue, and it was expected to use 20.0 ms of CPU.');
  t.match(promoted, / of 4\.10 ms, with 20\.0 ms of its turn left\.$/);
});

t.test('why does not call a life without a measured clock one without CPU time', async (t) => {
  const ended = { kind: 'ended', atMs: 8, worker: 0, cpuMs: 0, value: 0, extra: 1 } as const;
  const body = {
    id: 'a',
    source: 'api',
    functionName: 'f',
    state: 'ended',
    arrivedAtMs: 0,
    decisions: [ended],
    incomplete: false,
  } as const;
  t.match(lifeStory(body)[0]?.text, / after too little CPU to be seen, /);
  t.match(verdict(body), /; turnaround 8\.00 ms for too little CPU to be seen\.$/);
});

t.test('why --json is the explanation as the API gives it, and --source is passed on', async (t) => {
  const { out } = await sfsd(['why', 'a/b c', '--source', 'openfaas', '--json']);
  t.strictSame(JSON.parse(out), explanationBody('a%2Fb%20c', everyKind));
  t.equal(server.asked.at(-1)?.path, '/v1/invocations/a%2Fb%20c/decisions');
  t.strictSame(server.asked.at(-1)?.query, { source: 'openfaas' });
});

t.test('the verdict names the path that the invocation took', async (t) => {
  const arrived = decision('arrived', { atMs: 1000 });
  const promoted = decision('promoted', { atMs: 1001, worker: 0 });
  const blocked = decision('blocked', { atMs: 1002 });
  const demoted = decision('demoted', { atMs: 1020 });
  const ended = decision('ended', { atMs: 1050, cpuMs: 40, value: 1, extra: 3 });
  const tell = (decisions: readonly DecisionBody[], more: Partial<ExplanationBody> = {}): string =>
    verdict({ ...explanationBody('x', decisions), ...more });
  t.match(tell([arrived]), /not been promoted yet/);
  t.match(
    tell([arrived, ended]),
    /never promoted: it ended before its turn, or its policy is cfs; turnaround 50\.0 ms/,
  );
  t.equal(tell([arrived, promoted]), 'it is served by FILTER.');
  t.match(
    tell([arrived, promoted, blocked, promoted, ended]),
    /^short: it ran to its end in FILTER, asleep once/,
  );
  t.match(tell([arrived, promoted, demoted]), /^long: .* goes on under the fair scheduler\.$/);
  t.match(
    tell([arrived, promoted, demoted, ended]),
    /^long: .* finished under the fair scheduler; .*\(80%\)/,
  );
  t.match(tell([arrived, decision('bypassed', {}), ended]), /^the host was overloaded/);
  t.match(lifeStory(explanationBody('x', [ended]))[0]?.text ?? '', /was reported completed/);
});

t.test('invoke passes the body through and prints the raw result', async (t) => {
  t.equal((await sfsd(['invoke', 'hello', '--data', 'text'])).out, 'got text');
  t.equal((await sfsd(['invoke', 'hello'], { stdin: 'piped' })).out, 'got piped');
  t.equal((await sfsd(['invoke', 'hello', '--file', '-'], { stdin: 'dash' })).out, 'got dash');
  t.equal((await sfsd(['invoke', 'hello'])).out, 'got ', 'no body on a terminal');
  const missing = await sfsd(['invoke', 'hello', '--file', '/nowhere/body']);
  t.equal(missing.code, 1);
  t.match(missing.err, /^SFSD_ERR_FILE: \/nowhere\/body: /);
});

t.test('invoke sends the policy and the id as headers', async (t) => {
  await sfsd(['invoke', 'hello', '--policy', 'cfs', '--id', 'mine', '--data', '']);
  t.match(server.asked.at(-1)?.headers, { 'sfsd-policy': 'cfs', 'sfsd-id': 'mine' });
});

t.test('invoke --async prints the id, and JSON when asked', async (t) => {
  t.equal((await sfsd(['invoke', 'hello', '--async', '--id', 'later'])).out, 'later\n');
  const { out } = await sfsd(['invoke', 'hello', '--async', '--json']);
  t.strictSame(JSON.parse(out), { id: 'made-up-1', source: 'api' });
});

t.test(
  'invoke --detail prints the result on standard output and the figures on standard error',
  async (t) => {
    const { code, out, err } = await sfsd(['invoke', 'hello', '--detail', '--data', '']);
    t.equal(code, 0);
    t.equal(out, 'hi\n');
    t.match(err, /^turnaround {2}12\.5 ms, program started after 3\.00 ms$/m);
    t.match(err, /^switches {4}2 voluntary, 1 involuntary$/m);
    const json = JSON.parse((await sfsd(['invoke', 'hello', '--json'])).out) as { cpuMs: number };
    t.equal(json.cpuMs, 8.25);
  },
);

t.test('a failed function ends invoke with 1 and its standard error on ours', async (t) => {
  const { code, out, err } = await sfsd(['invoke', 'broken']);
  t.equal(code, 1);
  t.equal(out, '');
  t.equal(err, 'boom\nSFSD_ERR_FUNCTION_FAILED: Function broken failed: exited 3.\n');
  const detailed = await sfsd(['invoke', 'broken', '--json']);
  t.equal(detailed.code, 1);
});

t.test('a refusal prints the code, the message and what to do', async (t) => {
  const { code, err } = await sfsd(['invoke', 'nope']);
  t.equal(code, 1);
  t.match(err, /^SFSD_ERR_FUNCTION_UNKNOWN: No function is registered as nope\.\n.*sfsd function list/);
  t.equal((await sfsd(['why', 'unknown'])).code, 1);
});

t.test('a daemon that does not answer is unreachable: exit code 1, and how to start one', async (t) => {
  for (const argv of [['status'], ['top', '--once'], ['why', 'x'], ['invoke', 'hello', '--data', '']]) {
    const { code, err } = await run(argv, { environment: { SFSD_SOCKET: '/nowhere/sfsd.sock' } });
    t.equal(code, 1, argv.join(' '));
    t.match(
      err,
      /^SFSD_ERR_DAEMON_UNREACHABLE: No sfsd answers on \/nowhere\/sfsd\.sock \(there is no such socket\)\. Start it/,
    );
  }
  const file = await run(['status', '--socket', '/etc/hostname']);
  t.match(file.err, /SFSD_ERR_DAEMON_UNREACHABLE/);
});

t.test('bad usage ends with 2 and a coded line', async (t) => {
  for (const argv of [
    ['frobnicate'],
    ['why'],
    ['why', 'x', '--frob'],
    ['top', '--interval', '-3'],
    ['top', '--interval', '1'],
    ['invoke', 'hello', '--policy', 'lifo'],
    ['invoke', 'hello', '--data', 'x', '--file', 'y'],
    ['invoke', 'hello', '--async', '--detail'],
  ]) {
    const { code, out, err } = await sfsd(argv);
    t.equal(code, 2, argv.join(' '));
    t.equal(out, '');
    t.match(err, /^SFSD_ERR_USAGE: /, argv.join(' '));
  }
  t.equal((await run([])).code, 2, 'no command at all');
});

t.test('help and version end with 0', async (t) => {
  t.match((await run(['--version'])).out, /^\d+\.\d+\.\d+\n$/);
  const help = await run(['--help']);
  t.equal(help.code, 0);
  t.match(help.out, /Exit codes: 0 done, 1 failed or broken, 2 bad usage/);
  t.match((await run(['invoke', '--help'])).out, /Examples:/);
});
