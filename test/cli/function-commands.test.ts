/** function put/list/show/delete, register, end and unmanage: what they send and what they print. */
import t from 'tap';
import type { FunctionBody } from '../../src/contracts/http.js';
import { ContractServer, functionBody } from './contract-server.js';
import { type Ran, type RunOptions, run } from './run-in-process.js';

const server = new ContractServer();
await server.listen();
t.teardown(() => server.close());

function sfsd(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return run(argv, { ...options, environment: { SFSD_SOCKET: server.socketPath } });
}

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

t.test('function put sends what was given and leaves the rest to the daemon', async (t) => {
  const { code, out } = await sfsd([
    ...[
      'function',
      'put',
      'shout',
      '--command',
      'python3',
      '--arg',
      '-c',
      '--arg',
      '--json',
      '--env',
      'A=b=c',
    ],
    ...['--memory', '128MiB', '--timeout', '30s', '--pids', '16', '--concurrency', '4', '--policy', 'cfs'],
    ...['--slice-max', '50ms'],
  ]);
  t.equal(code, 0);
  t.equal(out, 'registered shout: python3 -c --json\n', 'a --json that is an --arg stays one');
  t.equal(server.asked.at(-1)?.method, 'PUT');
  t.equal(server.asked.at(-1)?.path, '/v1/functions/shout');
  t.strictSame(JSON.parse(server.asked.at(-1)?.body ?? ''), {
    command: 'python3',
    args: ['-c', '--json'],
    env: { A: 'b=c' },
    memoryMaxBytes: 134_217_728,
    pidsMax: 16,
    timeoutMs: 30_000,
    concurrency: 4,
    policy: 'cfs',
    sliceMaxMs: 50,
  });
  await sfsd(['function', 'put', 'bare', '--command', 'cat', '--timeout', '0']);
  t.strictSame(JSON.parse(server.asked.at(-1)?.body ?? ''), {
    command: 'cat',
    args: [],
    env: {},
    timeoutMs: 0,
  });
});

t.test('a value that does not fit names its option, and the help of the command at hand', async (t) => {
  const faults: readonly (readonly [readonly string[], string])[] = [
    [
      ['register', '--pid', 'x', '--function', 'f'],
      "option '--pid <pid>' argument 'x' is invalid. It is a whole number",
    ],
    [
      ['function', 'put', 'f', '--command', 'cat', '--memory', '12xx'],
      "option '--memory <size>' argument '12xx' is invalid. Write for example 128MiB",
    ],
    [['replay', '--load', '0'], "option '--load <load>' argument '0' is invalid. It is a number above 0"],
    [['function', 'put', 'f'], "required option '--command <command>' not specified"],
    [['statsu'], "unknown command 'statsu' (Did you mean status?)"],
  ];
  for (const [argv, reason] of faults) {
    const { code, err } = await sfsd(argv);
    const command =
      argv[0] === 'function' ? 'sfsd function put' : argv[0] === 'statsu' ? 'sfsd' : `sfsd ${argv[0]}`;
    t.equal(code, 2);
    t.equal(err, `SFSD_ERR_USAGE: ${reason}.\nSee \`${command} --help\`.\n`);
  }
});

t.test('function list is a table that fits the terminal', async (t) => {
  server.functions.clear();
  t.match((await sfsd(['function', 'list'])).out, /^no functions; register one/);
  server.functions.set('hello', functionBody);
  server.functions.set('long', { ...functionBody, name: 'long', args: ['x'.repeat(200)], timeoutMs: 0 });
  const { code, out } = await sfsd(['function', 'list']);
  t.equal(code, 0);
  const lines = out.split('\n');
  t.equal(lines[0], 'name   at once  timeout    memory  policy   command');
  t.equal(lines[1], 'hello       64   30.0 s  no limit  default  /bin/cat');
  t.match(lines[2], /^long {8}64 {5}none {2}no limit {2}default {2}\/bin\/cat x+…$/);
  t.ok(lines.every((line) => line.length <= 80));
  t.strictSame(JSON.parse((await sfsd(['function', 'list', '--json'])).out), [...server.functions.values()]);
});

t.test('function show and delete answer for one function', async (t) => {
  const body: FunctionBody = {
    ...functionBody,
    name: 'one',
    env: { A: '1', B: '2' },
    memoryMaxBytes: 1_048_576,
  };
  server.functions.set('one', body);
  const { out } = await sfsd(['function', 'show', 'one']);
  t.match(out, /^environment {2}A=1\n {13}B=2$/m);
  t.match(out, /^memory {7}1 MiB$/m);
  t.strictSame(JSON.parse((await sfsd(['function', 'show', 'one', '--json'])).out), body);
  t.equal((await sfsd(['function', 'delete', 'one'])).out, 'deleted one\n');
  const gone = await sfsd(['function', 'show', 'one']);
  t.equal(gone.code, 1);
  t.match(gone.err, /^SFSD_ERR_FUNCTION_UNKNOWN: /);
});

t.test('register prints the id, its own or a made-up one', async (t) => {
  const named = await sfsd([
    'register',
    '--pid',
    '4711',
    '--function',
    'resize',
    '--id',
    'job-1',
    '--source',
    'me',
  ]);
  t.equal(named.out, 'job-1\n');
  t.strictSame(JSON.parse(server.asked.at(-1)?.body ?? ''), [
    { id: 'job-1', functionName: 'resize', pid: 4711, source: 'me' },
  ]);
  t.match((await sfsd(['register', '--pid', '4711', '--function', 'resize'])).out, /^4711-[0-9a-f]{8}\n$/);
});

t.test('a registration that is refused ends with 1 and its code', async (t) => {
  const { code, out, err } = await sfsd(['register', '--pid', '1', '--function', 'init']);
  t.equal(code, 1);
  t.equal(out, '');
  t.match(err, /^SFSD_ERR_INVOCATION_GONE: /);
});

t.test('end and unmanage name the invocation and its source', async (t) => {
  t.equal((await sfsd(['end', 'job-1', '--source', 'me'])).out, 'job-1 is completed\n');
  t.match(server.asked.at(-1), {
    method: 'POST',
    path: '/v1/invocations/job-1/end',
    query: { source: 'me' },
  });
  t.equal((await sfsd(['unmanage', 'job-1'])).out, 'job-1 is no longer managed\n');
  t.match(server.asked.at(-1), { method: 'DELETE', path: '/v1/invocations/job-1' });
  t.equal((await sfsd(['end', 'unknown'])).code, 1);
});

t.test('bad usage of these commands ends with 2', async (t) => {
  for (const argv of [
    ['function'],
    ['function', 'put', 'x'],
    ['function', 'put', 'x', '--command', 'cat', '--memory', 'much'],
    ['function', 'put', 'x', '--command', 'cat', '--timeout', '30'],
    ['function', 'put', 'x', '--command', 'cat', '--env', 'novalue'],
    ['function', 'put', 'x', '--command', 'cat', '--pids', '-1'],
    ['register', '--pid', 'me', '--function', 'x'],
    ['register', '--pid', '1'],
    ['end'],
    ['unmanage'],
    ['start', '--set', 'novalue'],
  ])
    t.equal((await sfsd(argv)).code, 2, argv.join(' '));
});
