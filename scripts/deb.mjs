// `npm run deb`: the Debian package, by dpkg-deb alone: no network, no packaging tool. It brings the Node runtime that builds it (Debian 12
// has Node 18) and the packages that the daemon needs in production, so it fits hosts of the same architecture with this C library or a
// later one. `--out FOLDER` (default: out/), `--version V` (default: that of package.json). The same tree gives the same package.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, root } from './build.mjs';

const home = 'usr/lib/sfsd';
const templates = join(root, 'scripts', 'deb');

function option(name, otherwise) {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
}

function output(program, args, options = {}) {
  const done = spawnSync(program, args, { encoding: 'utf8', ...options });
  if (done.status === 0) return done.stdout.trim();
  console.error(`failed: ${program} ${args.join(' ')}\n${done.error?.message ?? done.stderr}`);
  process.exit(1);
}

/** What package-lock.json says is needed in production, as far as it is installed: other machines' prebuilt parts are not. */
function productionModules() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(([path, entry]) => path !== '' && !entry.dev && !entry.peer && existsSync(join(root, path)))
    .map(([path]) => path);
}

function put(tree, path, content, mode = 0o644) {
  const target = join(tree, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
  chmodSync(target, mode);
}

/** What only compiles, tests or measures, or is another system's: two thirds of the files. */
const endings = /\.(tsbuildinfo|d\.ts|d\.mts|d\.cts|map|c|cc|cpp|h|hh|o|exe)$/;
const folders = /(^|\/)node_modules\/.*\/(tests?|benchmarks?|examples?|deps|musl_x64|musl_arm64)$/;
const programs = new Set(['native/build/bench', 'native/build/.static-probe']);

function isNeeded(path) {
  return !endings.test(path) && !folders.test(path) && !programs.has(path);
}

function copy(tree, from, to) {
  cpSync(join(root, from), join(tree, to), {
    recursive: true,
    dereference: false,
    filter: (path) => isNeeded(relative(root, path)),
  });
}

async function stage(tree) {
  const { fillIn, packagePlaces, placementsIn } = await import(
    join(root, 'dist/src/cli/install/placements.js')
  );
  for (const part of [
    'bin/sfsd',
    'dist/src',
    'native/build',
    'native/workloads',
    'traces',
    'systemd',
    'package.json',
    'LICENSE',
  ])
    copy(tree, part, join(home, part));
  copy(tree, 'docs', join(home, 'docs'));
  for (const path of productionModules()) copy(tree, path, join(home, path));
  mkdirSync(join(tree, home, 'node/bin'), { recursive: true });
  cpSync(process.execPath, join(tree, home, 'node/bin/node'));
  mkdirSync(join(tree, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/sfsd/bin/sfsd', join(tree, 'usr/bin/sfsd'));
  const places = { prefix: `/${home}`, node: `/${home}/node/bin/node` };
  for (const { source, target } of placementsIn(packagePlaces)) {
    const text = fillIn(readFileSync(join(root, source), 'utf8'), places);
    if (target.endsWith('.8')) put(tree, `${target}.gz`, gzipSync(text, { level: 9 }));
    else put(tree, target, text);
  }
  put(
    tree,
    'usr/share/doc/sfsd/changelog.gz',
    gzipSync(readFileSync(join(root, 'CHANGELOG.md')), { level: 9 }),
  );
  put(
    tree,
    'usr/share/doc/sfsd/copyright',
    'License: Apache-2.0; see /usr/share/common-licenses/Apache-2.0\n\n/usr/lib/sfsd/node is Node.js (MIT and others, https://github.com/nodejs/node/blob/main/LICENSE).\nSQLite, in native/build/better-sqlite3-*.node, is in the public domain.\nEach folder of /usr/lib/sfsd/node_modules holds its own licence.\n',
  );
}

/** The C library that this Node was linked against is not asked for; the one that is here is known to do. */
function libcVersion() {
  return /(\d+\.\d+)$/m.exec(output('ldd', ['--version']).split('\n')[0])?.[1] ?? '2.31';
}

function control(tree, version) {
  const architecture = output('dpkg', ['--print-architecture']);
  const kibibytes = filesIn(tree).reduce((sum, path) => sum + Math.ceil(statSync(path).size / 1024), 0);
  const fields = readFileSync(join(templates, 'control'), 'utf8')
    .replace('@VERSION@', version)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@LIBC@', libcVersion())
    .replace('@SIZE@', String(kibibytes));
  const sums = filesIn(tree)
    .map((path) => [relative(tree, path), createHash('md5').update(readFileSync(path)).digest('hex')])
    .sort()
    .map(([path, sum]) => `${sum}  ${path}\n`);
  put(tree, 'DEBIAN/md5sums', sums.join(''));
  put(tree, 'DEBIAN/control', fields);
  put(tree, 'DEBIAN/conffiles', '/etc/sfsd/sfsd.json\n');
  for (const script of ['postinst', 'prerm', 'postrm'])
    put(tree, `DEBIAN/${script}`, readFileSync(join(templates, script)), 0o755);
  return architecture;
}

function filesIn(tree) {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !join(entry.parentPath, '').startsWith(join(tree, 'DEBIAN')))
    .map((entry) => join(entry.parentPath, entry.name));
}

function openToAll(tree) {
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}

export async function buildPackage({ out, version }) {
  build({ quiet: true });
  const work = mkdtempSync(join(tmpdir(), 'sfsd-deb-'));
  try {
    const tree = join(work, 'tree');
    mkdirSync(tree);
    await stage(tree);
    openToAll(tree);
    const architecture = control(tree, version);
    chmodSync(tree, 0o755);
    mkdirSync(out, { recursive: true });
    const file = join(out, `sfsd_${version}_${architecture}.deb`);
    const epoch = spawnSync('git', ['log', '-1', '--format=%ct'], {
      cwd: root,
      encoding: 'utf8',
    }).stdout?.trim();
    const env = { ...process.env, SOURCE_DATE_EPOCH: epoch || '0' };
    // zstd at 3 takes 1 s where xz takes a minute, for a file half as large again.
    output('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z3', '--build', tree, file], { env });
    return file;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const out = resolve(option('--out', join(root, 'out')));
  console.log(await buildPackage({ out, version: option('--version', version) }));
}
