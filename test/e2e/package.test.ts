/** The Debian package in a root made of this host's own files; package.full.ts does the same in a fresh Debian. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { buildPackages, packageLives } from './package-lifecycle.js';
import { ThrowAwayRoot } from './throw-away-root.js';

const noDpkg = spawnSync('dpkg-deb', ['--version']).status === 0 ? false : 'dpkg-deb is missing';
const skip = process.getuid?.() === 0 ? noDpkg : 'needs root for chroot and mount';
t.setTimeout(170_000);

t.test('the package installs, starts, upgrades and purges where no systemd runs', { skip }, async (t) => {
  const packages = buildPackages(t.testdir());
  const root = ThrowAwayRoot.overHost();
  t.teardown(() => root.close());
  await packageLives(t, root, packages);
});
