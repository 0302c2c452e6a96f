import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SfsdError } from '../../../src/contracts/errors.js';
import { environmentName, loadConfig } from '../../../src/daemon/config/config.js';
import { configurationDocument } from '../../../src/daemon/config/config-document.js';

function faultsOf(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof SfsdError) return `${thrown.code}\n${thrown.message}`;
    throw thrown;
  }
  return 'no fault';
}

t.test('without any source the defaults hold, frozen to the leaves', async (t) => {
  const config = loadConfig({ environment: {}, flags: {} });
  t.equal(config.socket.path, '/run/sfsd/sfsd.sock');
  t.equal(config.scheduler.window, 100);
  t.equal(config.scheduler.overloadFactor, 3);
  t.ok(Object.isFrozen(config) && Object.isFrozen(config.scheduler));
});

t.test('flags win over the environment, the environment over the file', async (t) => {
  const path = join(t.testdir(), 'config.json');
  writeFileSync(path, JSON.stringify({ scheduler: { pollMs: 1, window: 10, reserveCpus: 3 } }));
  const config = loadConfig({
    path,
    environment: {
      SFSD_SCHEDULER_WINDOW: '20',
      SFSD_SCHEDULER_RESERVE_CPUS: '2',
      SFSD_SOCKET: '/tmp/a.sock',
    },
    flags: { 'scheduler.reserveCpus': '1' },
  });
  t.equal(config.scheduler.pollMs, 1);
  t.equal(config.scheduler.window, 20);
  t.equal(config.scheduler.reserveCpus, 1);
  t.equal(config.socket.path, '/tmp/a.sock');
});

t.test('every fault is listed at once, each with where it came from', async (t) => {
  const path = join(t.testdir(), 'config.json');
  writeFileSync(
    path,
    JSON.stringify({ scheduler: { pollMs: 'soon', colour: 1 }, surprise: { x: 1 }, empty: {}, log: 3 }),
  );
  const faults = faultsOf(() =>
    loadConfig({ path, environment: { SFSD_SCHEDULER_BUDGET_PERCENT: '99' }, flags: { 'a.b.c': '1' } }),
  );
  t.match(faults, /SFSD_ERR_CONFIG_INVALID/);
  t.match(faults, /scheduler\.pollMs must be number/);
  t.match(faults, /scheduler\.colour is not a known key/);
  t.match(faults, /surprise is not a known section/);
  t.match(faults, /empty is not a known section/);
  t.match(faults, /log must be an object/);
  t.match(faults, /environment SFSD_SCHEDULER_BUDGET_PERCENT: scheduler\.budgetPercent must be <= 93/);
  t.match(faults, /flag a\.b\.c: a\.b\.c must be SECTION\.KEY/);
});

t.test('faults that no single key shows are found too', async (t) => {
  const faults = faultsOf(() =>
    loadConfig({
      environment: {},
      flags: { 'scheduler.sliceMinMs': 50, 'scheduler.sliceMaxMs': 20, 'priorities.filter': 9 },
    }),
  );
  t.match(faults, /sliceMinMs must not be above/);
  t.match(faults, /priorities must rise/);
  const adopting = faultsOf(() =>
    loadConfig({ environment: { SFSD_ADOPT_RULES: '[{"name":"a"},{"policy":"cfs"}]' }, flags: {} }),
  );
  const modes = faultsOf(() =>
    loadConfig({
      environment: {},
      flags: {
        'priorities.realtime': false,
        'priorities.mode': 'fifo',
        'priorities.protected': 8,
        'protect.rules': [{ command: 'gateway' }, { commandPattern: '(' }],
      },
    }),
  );
  t.match(modes, /realtime is false, but priorities\.mode is fifo/);
  t.match(modes, /must rise: control < protected < scheduling/);
  t.match(modes, /protect\.rules\[1\]\.commandPattern: .*Unterminated group/);
  t.match(adopting, /1 fault\(s\):\n {2}adopt\.rules\[1\] fits every process/);
});

t.test('a file that is not there, or is not JSON, is named', async (t) => {
  t.match(
    faultsOf(() => loadConfig({ path: '/nowhere/c.json', environment: {}, flags: {} })),
    /SFSD_ERR_FILE\n.*nowhere/,
  );
  const path = join(t.testdir(), 'config.json');
  writeFileSync(path, '{"scheduler": ');
  t.match(
    faultsOf(() => loadConfig({ path, environment: {}, flags: {} })),
    /is not JSON/,
  );
});

t.test('a misspelt variable is a fault; what belongs to no section is not ours', async (t) => {
  const environment = { SFSD_SCHEDULER_WORKRS: '1', SFSD_DEBUG: '1', SFSD_SOCKET: '/tmp/a.sock' };
  const faults = faultsOf(() => loadConfig({ environment, flags: {} }));
  t.match(faults, /1 fault\(s\):\n {2}environment SFSD_SCHEDULER_WORKRS is not a known key$/);
});

t.test('environment names follow the keys', async (t) => {
  t.equal(environmentName('scheduler.reserveCpus'), 'SFSD_SCHEDULER_RESERVE_CPUS');
  t.equal(environmentName('functions.outputMaxBytes'), 'SFSD_FUNCTIONS_OUTPUT_MAX_BYTES');
});

t.test('docs/configuration.md says what the schema says', async (t) => {
  const path = new URL('../../../../docs/configuration.md', import.meta.url);
  t.equal(readFileSync(path, 'utf8'), configurationDocument());
});
