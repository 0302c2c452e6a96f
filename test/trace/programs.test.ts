import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const home = join(process.cwd(), 'native/workloads');
const folder = t.testdir({});
/** A function's default PATH. */
const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };

t.setTimeout(120_000);

function run(
  program: string,
  input: string,
): { code: number | null; out: Record<string, unknown>; error: string } {
  const done = spawnSync('python3', ['-I', join(home, program)], {
    input,
    encoding: 'utf8',
    env,
    timeout: 60_000,
  });
  const out = done.stdout === '' ? {} : (JSON.parse(done.stdout) as Record<string, unknown>);
  return { code: done.status, out, error: done.stderr };
}

t.test('fib computes the number it is asked for', (t) => {
  t.match(run('fib.py', '{"n": 20, "repeat": 2}'), {
    code: 0,
    out: { application: 'fib', n: 20, repeat: 2, value: 6765 },
  });
  t.match(run('fib.py', ''), { code: 0, out: { n: 15, repeat: 1, value: 610 } });
  t.end();
});

t.test('md reads the document and writes Markdown, and leaves no file behind', (t) => {
  const { code, out } = run('md.py', JSON.stringify({ repeat: 3, directory: folder }));
  const document = readFileSync(join(home, 'document.json'));
  t.equal(code, 0);
  t.equal(out.readBytes, 3 * document.length);
  t.ok(Number(out.writtenBytes) > 2000);
  t.same(readdirSync(folder), []);
  t.match(run('md.py', '{"document": "none.json"}'), { code: 1, error: /none\.json/ });
  t.match(run('md.py', '{"document": "lexicon.tsv"}'), { code: 1, error: /md: / });
  t.end();
});

t.test('sa tells praise from blame, also when it is turned around', (t) => {
  const label = (sentence: string): unknown => run('sa.py', JSON.stringify({ sentence })).out.label;
  t.equal(label('What a wonderful and generous answer, we enjoyed it.'), 'positive');
  t.equal(label('A terrible, painful failure.'), 'negative');
  t.equal(label('It was not a good answer.'), 'negative');
  t.equal(label('The table has four corners.'), 'neutral');
  t.end();
});

t.test('the dictionary has at least 2,000 words, each once, with a score', (t) => {
  const lines = readFileSync(join(home, 'lexicon.tsv'), 'utf8').trimEnd().split('\n').slice(1);
  t.ok(lines.length >= 2000);
  t.ok(lines.every((line) => /^[a-z]+\t-?[0-4](\.5)?$/.test(line)));
  t.equal(new Set(lines.map((line) => line.split('\t')[0])).size, lines.length);
  t.end();
});

t.test('input that is not valid is refused with a reason and exit 2', (t) => {
  for (const program of ['fib.py', 'md.py', 'sa.py']) {
    for (const input of ['nonsense', '[]', '{"repeat": 0}', '{"repeat": true}']) {
      const { code, error } = run(program, input);
      t.equal(code, 2, `${program} ${input}`);
      t.match(error, new RegExp(`^${program.slice(0, -3)}: `));
    }
  }
  t.end();
});
