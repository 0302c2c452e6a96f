/** `sfsd install` and `uninstall` in a folder, and what systemd says of the units. */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { unitNames } from '../../src/cli/install/placements.js';
import { run } from './run-in-process.js';

interface Report {
  readonly files: readonly { readonly path: string; readonly outcome: string }[];
  readonly steps: readonly { readonly command: string; readonly outcome: string }[];
}

async function report(...words: readonly string[]): Promise<Report> {
  const { code, out, err } = await run([...words, '--json']);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Report;
}

const outcomes = ({ files }: Report) => new Set(files.map(({ outcome }) => outcome));

t.test('a second install changes nothing, and uninstall leaves nothing', async (t) => {
  const root = t.testdir();
  t.strictSame(outcomes(await report('install', '--root', root)), new Set(['written']));
  const unit = join(root, 'usr/local/lib/systemd/system/sfsd.service');
  t.notMatch(readFileSync(unit, 'utf8'), /^[^#].*@[A-Z]+@/m, 'every place is filled in');
  t.equal(lstatSync(unit).mode & 0o777, 0o644);
  t.ok(existsSync(readlinkSync(join(root, 'usr/local/bin/sfsd'))), 'the command is where the link says');
  const second = await report('install', '--root', root);
  t.strictSame(outcomes(second), new Set(['unchanged']));
  t.ok(
    second.steps.every(({ outcome }) => outcome === 'left out'),
    'this host is not touched',
  );
  t.strictSame(outcomes(await report('uninstall', '--root', root)), new Set(['removed']));
  const left = readdirSync(root, { recursive: true, withFileTypes: true }).filter(
    (entry) => !entry.isDirectory(),
  );
  t.strictSame(left, []);
  t.strictSame((await report('uninstall', '--root', root)).files, [], 'a second one finds nothing');
});

t.test('a changed configuration is neither overwritten nor removed', async (t) => {
  const root = t.testdir();
  await report('install', '--root', root);
  const path = join(root, 'etc/sfsd/sfsd.json');
  writeFileSync(path, '{}');
  const again = await report('install', '--root', root);
  t.equal(again.files.find((file) => file.path === 'etc/sfsd/sfsd.json')?.outcome, 'kept');
  t.equal(readFileSync(path, 'utf8'), '{}');
  await report('uninstall', '--root', root);
  t.equal(readFileSync(path, 'utf8'), '{}');
});

t.test('a file that somebody else put there is not ours to overwrite or remove', async (t) => {
  const root = t.testdir({ usr: { local: { bin: { sfsd: 'another program' } } } });
  const { files } = await report('install', '--root', root);
  t.equal(files.find(({ path }) => path === 'usr/local/bin/sfsd')?.outcome, 'kept');
  await report('uninstall', '--root', root);
  t.equal(readFileSync(join(root, 'usr/local/bin/sfsd'), 'utf8'), 'another program');
});

const noAnalyze =
  spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'systemd-analyze is missing';

t.test('systemd finds nothing wrong with the units', { skip: noAnalyze }, async (t) => {
  const root = t.testdir();
  await report('install', '--root', root);
  const units = unitNames.map((name) => join(root, 'usr/local/lib/systemd/system', name));
  // The man page is not in this host's place; the next test reads it.
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], {
    encoding: 'utf8',
  });
  t.equal(status, 0);
  t.equal(stderr, '');
});

t.test('the exposure of the daemon is below 6.0', { skip: noAnalyze }, async (t) => {
  const root = t.testdir();
  await report('install', '--root', root);
  const unit = join(root, 'usr/local/lib/systemd/system/sfsd.service');
  const done = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=60', unit], {
    encoding: 'utf8',
  });
  t.equal(done.status, 0, done.stdout.trim().split('\n').at(-1) ?? '');
});

const noMan = spawnSync('man', ['--version']).status === 0 ? false : 'man is missing';

t.test('the man page has no fault, and names every command', { skip: noMan }, async (t) => {
  const page = new URL('../../../docs/sfsd.8', import.meta.url).pathname;
  const env = { ...process.env, LC_ALL: 'C.UTF-8', MANROFFSEQ: '', MANWIDTH: '100' };
  const { stdout, stderr, status } = spawnSync('man', ['--warnings', '-l', page], { encoding: 'utf8', env });
  t.equal(status, 0);
  t.equal(stderr, '');
  const { out } = await run(['--help']);
  const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name);
  t.ok(commands.length > 10);
  for (const command of commands.filter((name) => name !== 'help'))
    t.match(stdout, `sfsd ${command}`, command);
});
