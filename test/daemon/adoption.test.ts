/** Adoption of real processes, found by ps-list, into a simulated plane. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import type { AdoptRule } from '../../src/contracts/config.js';
import { adopt, findAdoptable, fits } from '../../src/daemon/adoption.js';
import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { SimulatedPlane } from '../api/simulated.js';
import { projectRoot } from '../e2e/daemon-under-test.js';
import { startBounded } from '../e2e/processes.js';

const burn = join(projectRoot, 'native/build/burn');
const skip = spawnSync('ps', ['--version']).error === undefined ? false : 'no ps here (Debian: procps)';

t.setTimeout(60_000);

function logger(): { readonly log: pino.Logger; readonly lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  return { log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }), lines };
}

const loaded = loadKoffiLibc();
if (!loaded.ok) throw new Error(loaded.reason);
const { libc } = loaded;

t.test('a rule fits when all that it gives does', async (t) => {
  const process = { name: 'python3.11', uid: 33, cmd: '/usr/bin/python3 -m handler --port 1' };
  t.ok(fits(process, { name: 'python3.11' }));
  t.ok(fits(process, { name: 'python3.11', uid: 33, commandHolds: 'handler' }));
  t.notOk(fits(process, { name: 'python3.11', uid: 34 }));
  t.notOk(fits(process, { commandHolds: 'other' }));
  t.notOk(fits({ name: 'x' }, { commandHolds: 'x' }), 'a process without a command line');
});

t.test('processes that fit are found with their start time and become invocations', { skip }, async (t) => {
  const mark = `${20_000 + (process.pid % 10_000)}`;
  const spinner = await startBounded(10, ['nice', burn, mark]);
  t.teardown(async () => {
    process.kill(spinner.pid, 'SIGKILL');
    await spinner.ended;
  });
  const rules: readonly AdoptRule[] = [
    { name: 'burn', commandHolds: `burn ${mark}`, functionName: 'adopted-burn', policy: 'cfs' },
    { name: 'burn', commandHolds: mark },
  ];
  const { log, lines } = logger();
  const found = await findAdoptable({ rules, libc, log });
  t.match(found, [{ pid: spinner.pid, functionName: 'adopted-burn', policy: 'cfs' }]);
  t.equal(found.length, 1, 'and the shells that started it are not');
  t.match(found[0]?.startTime, /^\d+$/);
  const plane = new SimulatedPlane();
  adopt(found, { plane, log });
  t.match(plane.registered, [
    {
      source: 'adopted',
      id: `${spinner.pid}-${found[0]?.startTime}`,
      group: { kind: 'process', pid: spinner.pid, startTime: found[0]?.startTime },
    },
  ]);
  t.equal(plane.live, 1, 'no place is kept');
  t.match(lines, [{ event: 'adopted', processes: 1 }]);
  adopt(found, { plane, log });
  t.match(lines[1], { event: 'adoption_refused', pid: spinner.pid });
  t.equal(plane.live, 1);
});

t.test(
  'this process, pid 1 and kernel threads are never adopted; nothing is listed without rules',
  async (t) => {
    const { log } = logger();
    const found = await findAdoptable({ rules: [{ uid: process.getuid?.() ?? 0 }], libc, log });
    t.notOk(found.some(({ pid }) => pid === process.pid || pid <= 2));
    t.same(await findAdoptable({ rules: [], libc, log }), []);
  },
);

t.test('without `ps` the daemon starts without adopting, and says so', async (t) => {
  const path = process.env.PATH;
  process.env.PATH = '/nowhere';
  t.teardown(() => {
    process.env.PATH = path;
  });
  const { log, lines } = logger();
  t.same(await findAdoptable({ rules: [{ name: 'burn' }], libc, log }), []);
  t.match(lines, [{ event: 'adoption_failed', reason: /ps-list: .*ps.*ENOENT/ }]);
});
