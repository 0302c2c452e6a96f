/** Which token files are used, and which are refused with what to do. */
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readTokenFile } from '../../src/daemon/token-file.js';

const folder = mkdtempSync(join(tmpdir(), 'sfsd-tokens-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const daemon = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const path = join(folder, 'tokens.json');
const secret = 'abcdefghijklmnopqrstuvwxyz0123456789';
const good = { name: 'gateway', token: secret, role: 'submit', uid: 1001, gid: 1002 };

function read(content: unknown, mode = 0o600) {
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(path, mode);
  return readTokenFile(path, daemon);
}

t.test('each token has its role and the user of its functions', async (t) => {
  const operator = { name: 'operator', token: `${secret}1`, role: 'operate' };
  const reader = { name: 'reader', token: `${secret}2`, role: 'read' };
  const table = read({ tokens: [good, operator, reader] });
  t.same(table.find(secret), { name: 'gateway', role: 'submit', credentials: { uid: 1001, gid: 1002 } });
  t.same(table.find(`${secret}1`), { name: 'operator', role: 'operate', credentials: daemon });
  t.same(table.find(`${secret}2`), { name: 'reader', role: 'read', credentials: { uid: -1, gid: -1 } });
  t.equal(table.find(`${secret}3`), undefined);
  t.equal(table.find(''), undefined);
});

t.test('a file that others can read or write is refused', async (t) => {
  for (const mode of [0o640, 0o604, 0o620, 0o602, 0o644])
    t.throws(() => read({ tokens: [good] }, mode), {
      code: 'SFSD_ERR_TOKEN_FILE',
      message: /so others can use it; chmod 0600 it/,
    });
  t.doesNotThrow(() => read({ tokens: [good] }, 0o400));
});

t.test(
  'a file of another user is refused',
  { skip: daemon.uid !== 0 && 'needs root to give it away' },
  async (t) => {
    read({ tokens: [good] });
    chownSync(path, 65534, 0);
    t.throws(() => readTokenFile(path, daemon), {
      code: 'SFSD_ERR_TOKEN_FILE',
      message: /belongs to uid 65534/,
    });
    chownSync(path, 0, 0);
    t.doesNotThrow(
      () => readTokenFile(path, { uid: 1001, gid: 1001 }),
      'root\u2019s is anyone\u2019s to trust',
    );
  },
);

t.test('what is no regular file, or is missing, is refused', async (t) => {
  t.throws(() => readTokenFile(folder, daemon), {
    code: 'SFSD_ERR_TOKEN_FILE',
    message: /not a regular file/,
  });
  t.throws(() => readTokenFile(join(folder, 'none'), daemon), {
    code: 'SFSD_ERR_TOKEN_FILE',
    message: /ENOENT/,
  });
  const link = join(folder, 'link');
  read({ tokens: [good] });
  symlinkSync(path, link);
  t.doesNotThrow(() => readTokenFile(link, daemon), 'what a link leads to is looked at');
});

t.test('what stands in it is checked, and never quoted', async (t) => {
  for (const [content, reason] of [
    ['{', /is not JSON/],
    [{}, /required property 'tokens'/],
    [{ tokens: [] }, /fewer than 1/],
    [{ tokens: [{ ...good, role: 'none' }] }, /tokens.0.role must be .*read, submit, operate/],
    [{ tokens: [{ ...good, token: 'short-secret' }] }, /tokens.0.token must match/],
    [{ tokens: [{ ...good, more: 1 }] }, /additional properties: more/],
    [{ tokens: [{ ...good, uid: 0 }] }, /all of root's processes would be its own/],
    [{ tokens: [{ ...good, uid: undefined, gid: undefined }] }, /gateway needs uid and gid/],
    [{ tokens: [{ ...good, gid: undefined }] }, /gateway needs both uid and gid/],
    [{ tokens: [good, { ...good, token: `${secret}1` }] }, /gateway is there twice/],
    [{ tokens: [good, { ...good, name: 'other' }] }, /other has the token of another one/],
  ] as const) {
    const attempt = () => read(content);
    t.throws(attempt, { code: 'SFSD_ERR_TOKEN_FILE', message: reason });
    try {
      attempt();
    } catch (thrown) {
      t.notMatch((thrown as Error).message, /short-secret|abcdefghij/);
    }
  }
});
