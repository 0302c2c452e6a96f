import { join } from 'node:path';
import t from 'tap';
import { run } from './run-in-process.js';

const fixture = (name: string): string => join(process.cwd(), 'test/fixtures/lists', name);
const out = join(t.testdir({}), 'sample.jsonl');

t.test('trace validate says each fault with its file, line and count, and exits with 1', async (t) => {
  const { code, out: text } = await run(['trace', 'validate', fixture('not-a-number.csv')]);
  t.equal(code, 1);
  t.match(text, /error not-a-number: \S+not-a-number\.csv:5, 2 times: end_timestamp Infinity \(reject\)/);
  t.match(text, /3 functions with 3 invocations; dropped: 0 functions, 2 invocations\nfailed\n$/);
});

t.test('trace validate drops damaged rows when asked, and fails for duplicates under --strict', async (t) => {
  const bad = fixture('not-a-number.csv');
  t.equal((await run(['trace', 'validate', '--on-bad', 'drop', bad])).code, 0);
  const twice = fixture('duplicate-key.list');
  t.equal((await run(['trace', 'validate', twice])).code, 0);
  t.equal((await run(['trace', 'validate', '--strict', twice])).code, 1);
});

t.test('trace sample keeps the trace’s pace, and what it writes is valid', async (t) => {
  const made = await run(['trace', 'sample', '--cores', '1', '--out', out, fixture('good.csv')]);
  t.equal(made.code, 0, made.err);
  t.match(made.out, /load 1\.160 of 1 cores \(the trace’s own\)/);
  t.match(await run(['trace', 'validate', out]), { code: 0, out: /workload, 3 of 3 rows used/ });
});

t.test('trace sample stretches time to --target-load of --cores', async (t) => {
  const argv = [
    'trace',
    'sample',
    '--target-load',
    '0.5',
    '--cores',
    '2',
    '--out',
    out,
    fixture('good.list'),
  ];
  t.match(await run(argv), { code: 0, out: /load 0\.500 of 2 cores \(asked for: 0\.5\)/ });
});

t.test('trace gen takes a list, whose format may be named', async (t) => {
  const argv = ['trace', 'gen', '--trace', fixture('good.list'), '--count', '3', '--out', out];
  t.match(await run(argv), { code: 0, out: /from sfs: good\.list/ });
  t.match(await run([...argv, '--format', 'azure2021']), { code: 1, err: /SFSD_ERR_TRACE_INVALID/ });
});

t.test('bad usage of trace sample and of the options of a trace ends with 2', async (t) => {
  for (const argv of [
    ['trace', 'sample', fixture('good.csv')],
    ['trace', 'sample', '--out', out],
    ['trace', 'sample', '--out', out, '--from', '7', fixture('good.csv')],
    ['trace', 'sample', '--out', out, '--target-load', '1', '--time-scale', '2', fixture('good.csv')],
    ['trace', 'validate', '--on-bad', 'shrug', fixture('good.csv')],
    ['trace', 'validate', '--format', 'parquet', fixture('good.csv')],
    ['trace', 'gen', '--load', '1', '--target-load', '1', '--out', out],
    ['replay', '--workload', out, '--from', '3'],
  ])
    t.equal((await run(argv)).code, 2, argv.join(' '));
});
