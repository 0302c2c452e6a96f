/** What the daemon tells its supervisor, heard by a real datagram socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import t, { type Test } from 'tap';
import { Supervisor } from '../../../src/daemon/service/supervisor.js';
import { loadKoffiLibc } from '../../../src/linux/koffi-libc.js';
import { Datagrams } from './datagrams.js';

const loaded = loadKoffiLibc();
if (!loaded.ok) throw new Error(loaded.reason);
const { libc } = loaded;
const watchdogUs = 400_000;

/** A socket's path has at most 107 bytes. */
function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

interface Log {
  readonly lines: string[];
  readonly log: Logger;
}

function logOf(): Log {
  const lines: string[] = [];
  const log: Logger = pino({ messageKey: 'event' }, { write: (line: string) => void lines.push(line) });
  return { lines, log };
}

function supervisorOf(
  t: Test,
  environment: Readonly<Record<string, string>>,
  { log }: Log = logOf(),
): Supervisor {
  const supervisor = new Supervisor({ libc, environment, pid: 4242, log });
  t.teardown(() => supervisor.close());
  return supervisor;
}

for (const [kind, name] of [
  ['a path', join(shortFolder(t), 'notify')],
  ['an abstract name', `@sfsd-supervisor-test-${process.pid}`],
] as const) {
  t.test(`ready, reloading and stopping are told over ${kind}, in this order`, async (t) => {
    const datagrams = await Datagrams.listen(name);
    t.teardown(() => datagrams.close());
    const supervisor = supervisorOf(t, { NOTIFY_SOCKET: name });
    supervisor.ready('Ready');
    supervisor.reloading(17);
    supervisor.stopping();
    t.strictSame((await datagrams.count(3)).slice(0, 2), [
      'READY=1\nSTATUS=Ready',
      'RELOADING=1\nMONOTONIC_USEC=17',
    ]);
    t.match(datagrams.received[2], /^STOPPING=1\n/);
  });
}

t.test('pings follow the scheduling loop, and stop with it', async (t) => {
  const path = join(shortFolder(t), 'notify');
  const datagrams = await Datagrams.listen(path);
  t.teardown(() => datagrams.close());
  const said = logOf();
  const environment = { NOTIFY_SOCKET: path, WATCHDOG_USEC: String(watchdogUs), WATCHDOG_PID: '4242' };
  const supervisor = supervisorOf(t, environment, said);
  let turns = 0;
  let asked = 0;
  const stoodStill = new Promise<void>((resolve) => {
    supervisor.watch(() => {
      asked += 1;
      if (asked === 8) resolve();
      // It turns three times, and stands still from then on.
      turns = Math.min(3, turns + 1);
      return turns;
    });
  });
  // The timer of the pings holds no process; this test's own does.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  await stoodStill;
  await datagrams.count(3);
  t.strictSame(datagrams.received, ['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  t.equal(said.lines.filter((line) => line.includes('watchdog_withheld')).length, 1, 'said once');
});

t.test('a watchdog that is meant for another process is not served', async (t) => {
  const path = join(shortFolder(t), 'notify');
  const supervisor = supervisorOf(t, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' });
  supervisor.watch(() => {
    t.fail('nobody asks');
    return 0;
  });
});

t.test('without a supervisor nothing is said, and one that is gone does not disturb', async (t) => {
  const silent = logOf();
  const alone = supervisorOf(t, {}, silent);
  alone.ready('Ready');
  alone.stopping();
  t.strictSame(silent.lines, []);
  const said = logOf();
  const lost = supervisorOf(t, { NOTIFY_SOCKET: join(shortFolder(t), 'none') }, said);
  lost.stopping();
  t.match(said.lines[0], /supervisor_unreachable.*"errno":2|"errno":2.*supervisor_unreachable/);
});

t.test('what must arrive is told again until somebody listens', async (t) => {
  const path = join(shortFolder(t), 'notify');
  supervisorOf(t, { NOTIFY_SOCKET: path }).ready('Ready');
  const datagrams = await Datagrams.listen(path);
  t.teardown(() => datagrams.close());
  t.strictSame(await datagrams.count(1), ['READY=1\nSTATUS=Ready']);
});
