/** Files that cannot be used: set aside where they are damaged, refused and left alone where they are somebody's. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { damagedMax } from '../../src/store/damaged-file.js';
import { schemaVersion } from '../../src/store/schema.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { codeOf, mountTmpfs, namesIn, needsRoot, now, open, pathIn, put, setAsideIn } from './files.js';

const pageBytes = 4096;

/** A store of some pages, closed. */
function filled(path: string): void {
  const file = open(path);
  put(file, ...Array.from({ length: 500 }, (_, index) => `function-${index}`));
  file.close();
}

function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  'is no database': (path) => writeFileSync(path, randomBytes(20_000)),
  'has a damaged header': (path) => overwrite(path, 16, Buffer.alloc(84, 0xff)),
  'has a damaged page': (path) => overwrite(path, pageBytes * 3, Buffer.alloc(pageBytes, 0xa5)),
  'is cut short': (path) => truncateSync(path, Math.floor(statSync(path).size / pageBytes / 2) * pageBytes),
  'is cut within a page': (path) => truncateSync(path, statSync(path).size - 1000),
  'is cut to nothing': (path) => truncateSync(path, 0),
};

for (const [what, damage] of Object.entries(damages)) {
  t.test(`a file that ${what} is set aside, and a new one is begun`, async (t) => {
    const path = pathIn(t);
    filled(path);
    damage(path);
    const damaged = readFileSync(path);
    const file = open(path);
    t.equal(file.contents.setAside, `${path}.damaged-20260102T030405.000Z`);
    t.same(file.contents.functions, []);
    t.same(readFileSync(file.contents.setAside ?? ''), damaged, 'as it was');
    put(file, 'a');
    file.close();
    t.same(namesIn(path), ['a']);
  });
}

t.test('the log of a damaged file goes with it, and is not taken for that of the new one', async (t) => {
  const path = pathIn(t);
  writeFileSync(path, randomBytes(9000));
  writeFileSync(`${path}-wal`, 'a log');
  const file = open(path);
  t.equal(readFileSync(`${file.contents.setAside}-wal`, 'utf8'), 'a log');
  file.close();
});

t.test('the newest damaged files are kept, a few', async (t) => {
  const path = pathIn(t);
  for (let round = 0; round < damagedMax + 3; round += 1) {
    writeFileSync(path, randomBytes(9000));
    open(path, { now: now + round * 1000 }).close();
  }
  const kept = setAsideIn(dirname(path)).sort();
  t.equal(kept.length, damagedMax);
  t.match(kept[0], '20260102T030408');
});

t.test('a file of a newer version is refused and left alone', async (t) => {
  const path = pathIn(t);
  filled(path);
  const database = openSqlite(path);
  database.pragma(`user_version = ${schemaVersion + 1}`);
  database.close();
  const before = readFileSync(path);
  t.throws(() => open(path), {
    code: 'SFSD_ERR_STORE_NEWER',
    message: `schema version ${schemaVersion + 1}; this sfsd knows versions up to ${schemaVersion}`,
  });
  t.same(readFileSync(path), before);
  t.same(setAsideIn(dirname(path)), []);
});

t.test("somebody else's database is refused and left alone", async (t) => {
  const path = pathIn(t);
  const database = openSqlite(path);
  database.exec('CREATE TABLE theirs (a)');
  database.close();
  const before = readFileSync(path);
  t.throws(() => open(path), { code: 'SFSD_ERR_STORE_UNUSABLE', message: "somebody else's database" });
  t.same(readFileSync(path), before);
});

t.test('what is no regular file is refused', async (t) => {
  const path = pathIn(t);
  symlinkSync('/etc/passwd', path);
  t.throws(() => open(path), { code: 'SFSD_ERR_STORE_UNUSABLE', message: 'not a regular file' });
  rmSync(path);
  mkdirSync(path);
  t.equal(
    codeOf(() => open(path)),
    'SFSD_ERR_STORE_UNUSABLE',
  );
});

t.test('a read-only file system is refused, with its path and the reason', { skip: needsRoot }, async (t) => {
  const folder = mountTmpfs(t, 'size=1m');
  const path = join(folder, 'sfsd.db');
  filled(path);
  execFileSync('mount', ['-o', 'remount,ro', folder]);
  t.throws(() => open(path), { code: 'SFSD_ERR_STORE_UNUSABLE', message: path });
  t.throws(() => open(join(folder, 'new.db')), {
    code: 'SFSD_ERR_STORE_UNUSABLE',
    message: 'EROFS: read-only file system',
  });
});

t.test(
  'a full disk refuses a change whole, keeps what was there, and works again',
  { skip: needsRoot },
  async (t) => {
    const folder = mountTmpfs(t, 'size=256k');
    const path = join(folder, 'sfsd.db');
    const ballast = join(folder, 'ballast');
    const file = open(path);
    put(file, 'early');
    fill(ballast);
    const large = Array.from({ length: 500 }, (_, index) => `late-${index}`);
    t.throws(() => put(file, ...large), { code: 'SFSD_ERR_STORE_FAILED', message: 'SQLITE_FULL' });
    rmSync(ballast);
    put(file, 'later');
    file.close();
    t.same(namesIn(path), ['early', 'later']);
  },
);

t.test('a full disk does not keep the store from opening', { skip: needsRoot }, async (t) => {
  const folder = mountTmpfs(t, 'size=256k');
  const path = join(folder, 'sfsd.db');
  const first = open(path);
  put(first, 'a');
  first.apply([{ kind: 'begin', row: { source: 'api', id: 'x', functionName: 'a', arrivedAtUnixMs: 1 } }]);
  first.close();
  fill(join(folder, 'ballast'));
  const second = open(path);
  t.match(second.contents, { functions: [{ name: 'a' }], lost: [{ id: 'x', lostAtUnixMs: now }] });
  t.match(second.contents.lostUnwritten, 'SQLITE_FULL');
  second.close();
});

/** Until nothing fits any more. */
function fill(path: string): void {
  const fd = openSync(path, 'w');
  try {
    for (;;) writeSync(fd, Buffer.alloc(1024));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown;
  } finally {
    closeSync(fd);
  }
}
