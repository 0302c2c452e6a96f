/**
 * The unit on a real systemd: start and readiness, what functions inherit, reload, watchdog, restart and stop in the middle of functions.
 */
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from './daemon-under-test.js';
import { noSystemd } from './namespaced-systemd.js';
import { ServiceUnderTest } from './service-under-test.js';

const skip = noSystemd();
t.setTimeout(170_000);

t.test('sfsd as a service', { skip }, async (t) => {
  const service = await ServiceUnderTest.start();
  t.teardown(() => service.stop());
  const { systemd } = service;

  t.test('the unit is active once the daemon has said so, and its socket is for the group', async (t) => {
    t.equal(systemd.property('sfsd', 'ActiveState'), 'active');
    t.match(systemd.property('sfsd', 'StatusText'), /^Ready: mode fifo, \d+ FILTER workers$/);
    t.ok(await service.serves(), 'it answers');
    const socket = lstatSync(systemd.path('/run/sfsd/sfsd.sock'));
    const group = /^sfsd:x:(\d+):/m.exec(systemd.must('getent', 'group', 'sfsd'))?.[1];
    t.equal(socket.mode & 0o777, 0o660);
    t.strictSame([socket.uid, socket.gid], [0, Number(group)]);
    t.equal(systemd.property('sfsd', 'OOMScoreAdjust'), '-900');
  });

  t.test('a function inherits nothing of the hardening and holds no right', async (t) => {
    const files = ['status', 'limits', 'oom_score_adj', 'cgroup', 'mountinfo'];
    await service.put(
      'look',
      `cat ${files.map((file) => `/proc/self/${file}`).join(' ')}; readlink /proc/self/ns/mnt`,
    );
    const text = await service.invoke('look').answer;
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      t.match(text, new RegExp(`^${set}:\\s+0{16}$`, 'm'), `${set} is empty`);
    t.match(text, /^Seccomp:\s+0$/m, 'no system call filter');
    t.match(text, /^Max realtime priority +0 +0/m);
    t.match(text, /^0$/m, 'oom_score_adj 0');
    t.notMatch(text, 'sfsd.service', 'it is in no control group of the daemon');
    const ofInit = readlinkSync(systemd.path('/proc/1/ns/mnt'));
    t.ok(text.includes(ofInit), 'it sees the file systems as pid 1 does');
    const daemon = service.proc(service.mainPid, 'status');
    t.match(daemon, /^Seccomp:\s+2$/m, 'while the daemon is filtered,');
    t.match(daemon, /^CapBnd:\s+0000000000880020$/m, 'has three capabilities');
    t.not(
      readlinkSync(systemd.path(`/proc/${service.mainPid}/ns/mnt`)),
      ofInit,
      'and file systems of its own',
    );
  });

  t.test('a function cannot command the daemon, not even as root', async (t) => {
    await service.put(
      'usurper',
      '/opt/sfsd/bin/sfsd function put mine --command /bin/true 2>&1; echo ended $?',
    );
    t.match(await service.invoke('usurper').answer, /SFSD_ERR_FORBIDDEN.*ended 1/s);
    const nobody = systemd.run(
      ...['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'],
      ...['/opt/sfsd/bin/sfsd', 'status'],
    );
    t.match(nobody.err, /EACCES|permission/i, 'others cannot even connect');
  });

  t.test('reload applies what can change, and refuses a faulty file as a whole', async (t) => {
    const pid = service.mainPid;
    const path = '/etc/sfsd/sfsd.json';
    const write = (text: string) => systemd.must('sh', '-c', `printf '%s' '${text}' > ${path}`);
    write('{"log":{"level":"debug"},"functions":{"killGraceMs":100},"scheduler":{"window":7}}');
    systemd.must('systemctl', 'reload', 'sfsd');
    const log = () => systemd.daemonLog();
    t.ok(await service.waitFor(() => log().includes('"reloaded"'), 3000));
    t.match(log(), /"reload_needs_restart","keys":\["scheduler.window"\]|"keys":\["scheduler.window"\]/);
    t.ok(await service.waitFor(() => systemd.property('sfsd', 'ActiveState') === 'active', 3000));
    write('{"log":{"level":"loud"},"functions":{"killGraceMs":-1}}');
    const refused = systemd.run('systemctl', 'reload', 'sfsd');
    t.not(refused.status, 0, 'the check before the signal fails');
    systemd.must('kill', '-HUP', String(pid));
    t.ok(
      await service.waitFor(() => log().includes('reload_refused'), 3000),
      'a signal past the check does no harm',
    );
    t.equal(service.mainPid, pid, 'the daemon runs on');
    write('{}');
  });

  t.test(
    'a daemon that stands still is killed by the watchdog; its functions end; the next one serves',
    async (t) => {
      await service.put('long', 'echo $$ > /run/long; exec sleep 60');
      const before = { pid: service.mainPid, restarts: service.restarts };
      const { answer } = service.invoke('long');
      t.ok(await service.waitFor(() => existsSync(systemd.path('/run/long')), 5000), 'the function runs');
      const functionPid = systemd.must('cat', '/run/long').trim();
      systemd.must('kill', '-STOP', String(before.pid));
      const began = Date.now();
      t.ok(await service.waitFor(() => service.restarts > before.restarts, 20_000), 'restarted');
      t.comment(`${Date.now() - began} ms from SIGSTOP to the restart, WatchdogSec=2s`);
      t.equal(service.stopPosts().at(-1), 'watchdog');
      t.equal(await answer, 'cut', 'its caller got an error');
      t.notOk(existsSync(systemd.path(`/proc/${functionPid}`)), 'the function is dead');
      t.ok(await service.waitFor(() => service.serves(), 20_000), 'the next one serves');
      t.not(service.mainPid, before.pid);
    },
  );

  t.test('SIGKILL of the daemon in the middle of functions', async (t) => {
    await service.put('long', 'echo $$ > /run/killed; exec sleep 60');
    const { answer } = service.invoke('long');
    await service.waitFor(() => existsSync(systemd.path('/run/killed')), 5000);
    const functionPid = systemd.must('cat', '/run/killed').trim();
    const pid = service.mainPid;
    systemd.must('kill', '-KILL', String(pid));
    const began = Date.now();
    t.equal(await answer, 'cut');
    t.ok(await service.waitFor(() => service.serves(), 20_000));
    t.comment(`serves again after ${Date.now() - began} ms`);
    t.not(service.mainPid, pid);
    t.notOk(existsSync(systemd.path(`/proc/${functionPid}`)), 'its function is dead');
    t.equal(service.stopPosts().at(-1), 'signal');
    t.equal(service.spawners(), 1, 'one spawner is left');
  });

  t.test('restart in the middle of functions lets a short one finish', async (t) => {
    await service.put('short', 'touch /run/short; sleep 1; echo done');
    const { answer } = service.invoke('short');
    await service.waitFor(() => existsSync(systemd.path('/run/short')), 5000);
    const pid = service.mainPid;
    systemd.must('systemctl', 'restart', 'sfsd');
    t.match(await answer, /^200 done/);
    t.not(service.mainPid, pid);
    t.equal(service.stopPosts().at(-1), 'success');
    t.ok(await service.serves());
  });

  const noProgram = existsSync(join(projectRoot, 'native/build/sfsd-demote-all'))
    ? false
    : 'sfsd-demote-all is not built';

  t.test('ExecStopPost demotes what a killed daemon left real-time', { skip: noProgram }, async (t) => {
    const pid = service.mainPid;
    systemd.must('sh', '-c', strayScript, 'sh', `/sys/fs/cgroup/memory/sfsd-${pid}/stray`);
    const stray = systemd.must('cat', '/run/stray').trim();
    t.match(systemd.must('chrt', '-p', stray), /SCHED_FIFO/);
    systemd.must('kill', '-KILL', String(pid));
    t.ok(await service.waitFor(() => existsSync(systemd.path('/run/stray-policy')), 10_000));
    t.match(systemd.must('cat', '/run/stray-policy'), /SCHED_OTHER/, 'and before the next one starts');
    systemd.must('kill', stray);
    systemd.must('rm', '/run/stray');
    t.ok(await service.waitFor(() => service.serves(), 20_000));
  });

  t.test(
    'with sfsd.socket clients wait through a restart, and the first one starts the daemon',
    async (t) => {
      systemd.must('systemctl', 'stop', 'sfsd');
      systemd.must('systemctl', 'start', 'sfsd.socket');
      t.equal(systemd.property('sfsd', 'ActiveState'), 'inactive');
      t.ok(await service.serves(), 'a request starts it');
      const socket = lstatSync(systemd.path('/run/sfsd/sfsd.sock')).ino;
      const pid = service.mainPid;
      systemd.must('systemctl', 'restart', '--no-block', 'sfsd');
      const refused: string[] = [];
      const restarted = async () => {
        refused.push(...(await service.refusal()));
        return service.mainPid > 0 && service.mainPid !== pid;
      };
      t.ok(await service.waitFor(restarted, 20_000));
      t.strictSame(refused, [], 'no connection is refused meanwhile');
      t.ok(await service.serves());
      t.equal(lstatSync(systemd.path('/run/sfsd/sfsd.sock')).ino, socket, 'the socket is the same');
      systemd.must('systemctl', 'stop', 'sfsd.socket', 'sfsd');
      systemd.must('systemctl', 'start', 'sfsd');
      t.ok(await service.serves(), 'without it the daemon makes its own');
    },
  );

  t.test('stop ends everything in order, and the units can be uninstalled', async (t) => {
    const began = Date.now();
    systemd.must('systemctl', 'stop', 'sfsd');
    t.ok(Date.now() - began < 6000, `${Date.now() - began} ms`);
    t.equal(systemd.property('sfsd', 'Result'), 'success');
    t.equal(service.stopPosts().at(-1), 'success');
    t.notOk(existsSync(systemd.path('/run/sfsd/sfsd.sock')), 'the socket is gone');
    t.equal(service.spawners(), 0, 'so is the spawner');
    const { out, status } = service.sfsd('uninstall');
    t.equal(status, 0);
    t.match(out, /kept +etc\/sfsd\/sfsd\.json/, 'a changed configuration stays');
    t.notOk(existsSync(systemd.path('/usr/local/lib/systemd/system/sfsd.service')));
  });
});

/** A FIFO process that ends by itself, in a group of the daemon's. */
const strayScript =
  'mkdir -p "$1"; timeout 30 chrt -f 5 sleep 30 > /dev/null 2>&1 & sleep 0.3; pgrep -P $! sleep > /run/stray; cat /run/stray > "$1/cgroup.procs"';
