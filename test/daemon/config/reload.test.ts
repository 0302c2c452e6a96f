import { pino } from 'pino';
import t from 'tap';
import { SfsdError } from '../../../src/contracts/errors.js';
import { loadConfig } from '../../../src/daemon/config/config.js';
import { differenceOf, liveKeys } from '../../../src/daemon/config/reload.js';
import { reloadOnce } from '../../../src/daemon/service/reloading.js';

const running = loadConfig({ environment: {}, flags: {} });
const configOf = (flags: Readonly<Record<string, unknown>>) => loadConfig({ environment: {}, flags });

t.test('a reload parts what changes now from what waits for a restart', async (t) => {
  const wanted = configOf({ 'log.level': 'debug', 'functions.killGraceMs': 7, 'scheduler.window': 10 });
  const { live, needRestart, effective } = differenceOf(running, wanted);
  t.strictSame(live.map(({ key, from, to }) => [key, from, to]).sort(), [
    ['functions.killGraceMs', 500, 7],
    ['log.level', 'info', 'debug'],
  ]);
  t.strictSame(needRestart, [{ key: 'scheduler.window', from: 100, to: 10 }]);
  t.equal(effective.log.level, 'debug');
  t.equal(effective.scheduler.window, 100, 'as it runs');
  t.strictSame(differenceOf(effective, wanted).live, [], 'a second reload changes nothing');
});

t.test('every live key is a key of the configuration', async (t) => {
  for (const key of liveKeys) {
    const [section = '', name = ''] = key.split('.');
    t.ok(name in ((running as unknown as Record<string, object>)[section] ?? {}), key);
  }
});

t.test('a faulty configuration changes nothing', async (t) => {
  const lines: string[] = [];
  const log = pino({ messageKey: 'event' }, { write: (line: string) => void lines.push(line) });
  const load = () => {
    throw new SfsdError('SFSD_ERR_CONFIG_INVALID', { count: 1, faults: '  log.level is loud' });
  };
  const after = reloadOnce(running, { load, apply: () => t.fail('nothing is applied'), log });
  t.equal(after, running);
  t.match(lines.join(''), /reload_refused/);
});
