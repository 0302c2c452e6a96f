/** `sfsd config check` and `show`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { run } from './run-in-process.js';

t.test('check lists every fault at once, and exits 1', async (t) => {
  const path = join(t.testdir(), 'c.json');
  writeFileSync(path, '{"scheduler":{"pollMs":"soon","colour":1},"log":{"level":"loud"}}');
  const { code, err } = await run(['config', 'check', path]);
  t.equal(code, 1);
  t.match(err, /SFSD_ERR_CONFIG_INVALID.*3 fault/);
  for (const fault of [
    /scheduler\.pollMs must be number/,
    /scheduler\.colour is not a known key/,
    /log\.level/,
  ])
    t.match(err, fault);
});

t.test('a good file is told so, and --json gives the effective values', async (t) => {
  const path = join(t.testdir(), 'c.json');
  writeFileSync(path, '{"scheduler":{"window":7}}');
  t.strictSame(await run(['config', 'check', path]), { code: 0, out: `${path}: no fault\n`, err: '' });
  const { out } = await run(['config', 'check', path, '--json', '--set', 'scheduler.pollMs=2']);
  t.match(JSON.parse(out), { scheduler: { window: 7, pollMs: 2 }, log: { level: 'info' } });
});

t.test('show prints each key, with the defaults where there is no file', async (t) => {
  const { out } = await run(['config', 'show']);
  t.match(out, /^scheduler\.window = 100$/m);
  t.match(out, /^socket\.path = "\/run\/sfsd\/sfsd\.sock"$/m);
  const { code, err } = await run(['config', 'show', '/nowhere/c.json']);
  t.equal(code, 1);
  t.match(err, /SFSD_ERR_FILE.*nowhere/);
});

t.test('the example configuration has no fault', async (t) => {
  const example = new URL('../../../systemd/sfsd.json', import.meta.url).pathname;
  t.equal((await run(['config', 'check', example])).code, 0);
});
