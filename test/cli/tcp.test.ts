/** The command line over TCP: the token's way, and what it says when a token does not do. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createServer } from '../../src/api/server.js';
import { listenTcp } from '../../src/api/tcp.js';
import { TokenTable } from '../../src/api/token-table.js';
import { rig } from '../api/simulated.js';
import { run } from './run-in-process.js';

t.setTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), 'sfsd-cli-tcp-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const secret = 'g'.repeat(40);
function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content, { mode: 0o600 });
  return join(folder, name);
}
const good = file('good', `${secret}\n`);
const wrong = file('wrong', 'w'.repeat(40));

const tokens = new TokenTable([{ name: 'ci', role: 'read', secret, credentials: { uid: -1, gid: -1 } }]);
const app = createServer({ ...rig().ports, tokens });
await app.ready();
const listening = await listenTcp(app, { host: '127.0.0.1', port: 0 });
t.teardown(() => Promise.all([app.close(), listening.close()]));
const url = `http://127.0.0.1:${listening.port}`;

t.test('flags and environment name the daemon and the token, before and after the subcommand', async (t) => {
  for (const argv of [
    ['status', '--url', url, '--token-file', good],
    ['--url', url, '--token-file', good, 'status'],
  ])
    t.match(await run(argv, { environment: {} }), { code: 0, out: /^queue/m });
  const environment = { SFSD_URL: url, SFSD_TOKEN_FILE: good };
  t.match(await run(['function', 'list'], { environment }), { code: 0 });
  const socket = await run(['status', '--socket', '/nowhere/s'], { environment });
  t.match(
    socket,
    { code: 1, err: /SFSD_ERR_DAEMON_UNREACHABLE.*\/nowhere\/s/ },
    'a named socket comes first',
  );
});

t.test('a token that is unknown, or may not do that, is told with what to do next', async (t) => {
  const unknown = await run(['status', '--url', url, '--token-file', wrong], { environment: {} });
  t.match(unknown, { code: 1, err: /SFSD_ERR_UNAUTHENTICATED.*none of them.*tcp\.tokenFile/s });
  const argv = ['function', 'put', 'a', '--command', 'x', '--url', url, '--token-file', good];
  const refused = await run(argv, { environment: {} });
  t.match(refused, { code: 1, err: /SFSD_ERR_FORBIDDEN.*token ci has the role read.*docs\/access\.md/s });
});

t.test('what is missing or wrong about address and token is said', async (t) => {
  const said = async (...argv: string[]) => run(['status', ...argv], { environment: {} });
  t.match(await said('--url', url), { code: 2, err: /needs a token: give --token-file/ });
  t.match(await said('--url', 'localhost:1', '--token-file', good), { code: 2, err: /http:\/\/HOST:PORT/ });
  const none = join(folder, 'none');
  t.match(await said('--url', url, '--token-file', none), { code: 1, err: /SFSD_ERR_TOKEN_FILE.*ENOENT/ });
  const all = file('all', '{"tokens":[]}');
  t.match(await said('--url', url, '--token-file', all), { code: 1, err: /one token and nothing else/ });
});
