/** The Debian package in a fresh Debian by debootstrap, and under a systemd that runs. */
import t from 'tap';
import { NamespacedSystemd, noSystemd } from './namespaced-systemd.js';
import { buildPackages, packageLives } from './package-lifecycle.js';
import { ThrowAwayRoot } from './throw-away-root.js';

const skip = noSystemd();
t.setTimeout(0);

if (skip === false) {
  const packages = buildPackages(t.testdir());
  const fresh = ThrowAwayRoot.debootstrapped();
  const why = typeof fresh === 'string' ? fresh : false;
  t.test('the package lives in a fresh Debian', { skip: why }, async (t) => {
    if (typeof fresh === 'string') return;
    t.teardown(() => fresh.close());
    await packageLives(t, fresh, packages);
  });

  t.test('where systemd runs, the package starts, restarts and stops the service', async (t) => {
    const systemd = await NamespacedSystemd.start({}, { bring: [packages.first, packages.later] });
    t.teardown(() => systemd.stop());
    const pid = () => Number(systemd.property('sfsd', 'MainPID'));
    systemd.must('dpkg', '-i', '/opt/brought/0.deb');
    t.equal(systemd.property('sfsd', 'ActiveState'), 'active', 'started');
    const before = pid();
    systemd.must('dpkg', '-i', '/opt/brought/1.deb');
    t.equal(systemd.property('sfsd', 'ActiveState'), 'active');
    t.not(pid(), before, 'restarted by the upgrade');
    systemd.must('dpkg', '-P', 'sfsd');
    t.equal(systemd.property('sfsd', 'ActiveState'), 'inactive', 'stopped');
    t.equal(systemd.run('test', '-e', '/run/sfsd').status, 1, 'and nothing is left of it');
  });
} else t.test('the package in a fresh Debian', { skip }, async () => {});
