// Builds the optional peers ffi-napi and ref-napi from source in .cache/ffi-napi, for the tests and the bench; sfsd itself never needs
// them. Against Node 20's headers they compile with -fpermissive and with node-addon-api 8 (ffi-napi/package.json forces it).
// What was built is kept until Node, the machine or the list of packages changes; `outcome.json` says whether it can be used, and if
// not, why: then the tests of it are skipped with that reason.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const scripts = dirname(fileURLToPath(import.meta.url));
const list = join(scripts, 'ffi-napi');
const home = join(dirname(scripts), '.cache', 'ffi-napi');
const outcomeFile = join(home, 'outcome.json');
const compilers = ['g++', 'make', 'python3'];
/** Downloads included; 18 s were measured on two idle cores. */
const timeoutMs = 120_000;
/** Without a registry the tests are skipped soon, and not after npm's own minute. */
const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=20000'];

/** A build is for one Node and one list of packages. */
function keyOf() {
  const { modules } = process.versions;
  const packages = readFileSync(join(list, 'package-lock.json'), 'utf8');
  return JSON.stringify({ modules, arch: process.arch, packages });
}

function kept(key) {
  try {
    const outcome = JSON.parse(readFileSync(outcomeFile, 'utf8'));
    return outcome.ok && outcome.key === key;
  } catch {
    return false;
  }
}

function attempt() {
  const missing = compilers.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  if (missing.length > 0) return `it cannot be compiled without ${missing.join(', ')}`;
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(list, name), join(home, name));
  // Headers that came with this Node; without them node-gyp downloads some.
  const prefix = dirname(dirname(process.execPath));
  const headers = existsSync(join(prefix, 'include', 'node', 'node.h')) ? { npm_config_nodedir: prefix } : {};
  const words = [
    'ci',
    '--ignore-scripts=false',
    '--build-from-source',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    ...patience,
  ];
  const done = spawnSync('npm', words, {
    cwd: home,
    env: { ...process.env, ...headers, CXXFLAGS: '-fpermissive -w', JOBS: 'max' },
    encoding: 'utf8',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  if (done.error !== undefined) return `npm: ${done.error.message}`;
  if (done.status !== 0) return `npm ci failed: ${lastErrorOf(done.stderr)}`;
  return undefined;
}

/** npm ends with where its log is; the line that says what happened comes before. */
function lastErrorOf(text) {
  const lines = text.split('\n').filter((line) => /error/i.test(line) && !/complete log|_logs/.test(line));
  return (
    lines.find((line) => /code E|fatal error|error:/.test(line)) ??
    lines[0] ??
    'no reason given'
  ).trim();
}

function prepare() {
  const key = keyOf();
  if (kept(key)) return;
  const started = Date.now();
  const reason = attempt();
  mkdirSync(home, { recursive: true });
  writeFileSync(
    outcomeFile,
    JSON.stringify(reason === undefined ? { ok: true, key } : { ok: false, reason }),
  );
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(reason === undefined ? `ffi-napi: built in ${seconds} s` : `ffi-napi: not built: ${reason}`);
}

/** Resolves when `outcome.json` has been written, by a process of its own. */
export function ffiNapiReady() {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prepare();
