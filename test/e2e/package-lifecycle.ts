/** A package's life in a root folder where no systemd runs: installed, started, upgraded, removed, purged. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { projectRoot, sleep } from './daemon-under-test.js';
import type { ThrowAwayRoot } from './throw-away-root.js';

const laterVersion = '99.0.0';
const startMaxMs = 20_000;

export interface Packages {
  readonly first: string;
  /** The same, with a later version and one line more in its service file. */
  readonly later: string;
}

export function buildPackages(folder: string): Packages {
  const first = must(process.execPath, [join(projectRoot, 'scripts/deb.mjs'), '--out', folder]);
  const tree = join(folder, 'tree');
  mkdirSync(tree);
  must('dpkg-deb', ['-R', first, tree]);
  const control = join(tree, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${laterVersion}`));
  writeFileSync(join(tree, 'lib/systemd/system/sfsd.service'), '# later\n', { flag: 'a' });
  const later = join(folder, 'later.deb');
  must('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, later]);
  return { first, later };
}

function must(program: string, args: readonly string[]): string {
  const done = spawnSync(program, args, { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`${program}: ${done.stdout}${done.stderr}`);
  return done.stdout.trim().split('\n').at(-1) ?? '';
}

export async function packageLives(t: Test, root: ThrowAwayRoot, packages: Packages): Promise<void> {
  const first = root.bring(packages.first);
  const later = root.bring(packages.later);
  const dpkg = (...words: readonly string[]) => {
    const { status, out, err } = root.run('dpkg', ...words);
    t.equal(status, 0, `dpkg ${words.join(' ')}`);
    if (status !== 0) t.comment(`${out}${err}`);
  };

  dpkg('-i', first);
  t.match(root.run('systemctl', 'start', 'sfsd').err, /not been booted|chroot|ignoring/i, 'no systemd runs');
  t.match(root.run('sfsd', '--version').out, /^\d/, 'the command runs on the runtime that it brings');
  t.match(root.run('getent', 'group', 'sfsd').out, /^sfsd:/, 'the group exists');
  t.match(root.run('stat', '-c', '%a %U %G', '/var/lib/sfsd').out, /^750 root sfsd$/m);
  const wanted = '/etc/systemd/system/multi-user.target.wants/sfsd.service';
  t.equal(root.run('test', '-L', wanted).status, 0, 'the unit starts at the next boot');
  await withDaemon(t, root, () => {
    root.run('sfsd', 'function', 'put', 'hello', '--command', '/bin/echo', '--arg', 'it runs');
    t.match(root.run('sfsd', 'invoke', 'hello').out, /it runs/);
  });
  t.ok(root.has('/var/lib/sfsd/sfsd.db'), 'its store is where the unit has its state');

  const config = '{"scheduler":{"window":7}}';
  root.run('sh', '-c', `echo '${config}' > /etc/sfsd/sfsd.json`);
  dpkg('-i', later);
  t.match(root.read('/lib/systemd/system/sfsd.service'), /^# later$/m, 'the new files are there');
  t.equal(root.read('/etc/sfsd/sfsd.json').trim(), config, 'and the configuration is the old one');
  t.equal(root.run('sfsd', 'config', 'check').status, 0);
  await withDaemon(t, root, () => {
    t.match(root.run('sfsd', 'invoke', 'hello').out, /it runs/, 'what was registered outlasts the upgrade');
  });

  dpkg('-r', 'sfsd');
  t.notOk(root.has('/usr/lib/sfsd'), 'removed');
  t.equal(root.read('/etc/sfsd/sfsd.json').trim(), config, 'the configuration stays');
  dpkg('-i', first);
  t.ok(root.has('/lib/systemd/system/sfsd.service'), 'installed again');
  dpkg('-P', 'sfsd');
  t.strictSame(root.traces(), [], 'purged: nothing is left');
}

async function withDaemon(t: Test, root: ThrowAwayRoot, use: () => void): Promise<void> {
  const daemon = root.start('sfsd', 'start', '--config', '/etc/sfsd/sfsd.json');
  const ended = once(daemon, 'exit');
  let status = root.run('sfsd', 'status', '--json');
  for (let waitedMs = 0; waitedMs < startMaxMs && status.status !== 0; waitedMs += 200) {
    await sleep(200);
    status = root.run('sfsd', 'status', '--json');
  }
  t.equal(status.status, 0, 'the daemon answers');
  use();
  daemon.kill('SIGTERM');
  t.strictSame(await ended, [0, null], 'and ends in order');
}
