// `npm test`: tools, build, lint, then every test file. Files that share the machine's scheduler run one at a time, the rest
// two at a time. Ends with the line `N passed, N failed, N skipped`, and names the reason of each skip.
// `--full` adds the long tests (files *.full.ts). Words name what to run: `npm test scheduler` runs paths that hold it.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, relative } from 'node:path';
import { build, root } from './build.mjs';
import { ffiNapiReady } from './ffi-napi.mjs';

const fileTimeoutMs = 180_000;
const fullTimeoutMs = 60 * 60_000;
/** Rooms whose tests make real-time tasks or measure the machine: one at a time. */
const serialRooms = new Set(['kernel', 'e2e', 'linux', 'functions', 'daemon', 'cli', 'conformance', 'bench']);

const full = process.argv.includes('--full');
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));

function testFiles() {
  const home = join(root, 'dist', 'test');
  return (
    readdirSync(home, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.js') || (full && name.endsWith('.full.js')))
      // What an earlier build left of a test that is no more is not run.
      .filter((name) => existsSync(join(root, 'test', name.replace(/js$/, 'ts'))))
      .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
      .sort()
      .map((name) => ({ name, path: join(home, name), serial: serialRooms.has(name.split('/')[0] ?? '') }))
  );
}

/** Runs one file with a bound on its time; resolves with its counts, its skips and, when it failed, its output. */
function runFile(file) {
  return new Promise((resolve) => {
    const started = Date.now();
    const limit = file.name.endsWith('.full.js') ? fullTimeoutMs : fileTimeoutMs;
    const child = spawn(process.execPath, ['--single-threaded-gc', '--enable-source-maps', file.path], {
      cwd: root,
      env: { ...process.env, TAP_COLORS: '0', TAP_TIMEOUT: String(limit / 1000) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const take = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    const timer = setTimeout(() => {
      take(`\nnot ok - the file ran longer than ${limit / 1000} s and was killed\n`);
      child.kill('SIGKILL');
    }, limit);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve(summarise({ file, output, ok: code === 0, ending: signal ?? code, ms: Date.now() - started }));
    });
  });
}

function summarise({ file, output, ok, ending, ms }) {
  const counts = /^# \{ total: (\d+)(.*)\}$/m.exec(output);
  const count = (word) => Number(new RegExp(`${word}: (\\d+)`).exec(counts?.[2] ?? '')?.[1] ?? 0);
  const passed = count('pass');
  const failed = Math.max(count('fail'), ok ? 0 : 1);
  const skips = [...output.matchAll(/^\s*ok \d+ - (.*?) # SKIP(.*)$/gm)].map((skip) => ({
    test: `${file.name}: ${skip[1]}`,
    reason: skip[2]?.trim() || 'no reason given',
  }));
  const empty = ok && counts === null;
  return { file, output, passed, failed: empty ? 1 : failed, skips, ending, ms, empty };
}

function report(result) {
  const mark = result.failed === 0 ? 'ok  ' : 'FAIL';
  console.log(`${mark} ${result.file.name} (${result.passed} passed, ${(result.ms / 1000).toFixed(1)} s)`);
  if (result.failed === 0) return;
  if (result.empty) console.log('  the file ran no test');
  console.log(`  exit ${result.ending}`);
  console.log(result.output.split('\n').slice(-400).join('\n'));
}

async function runAll(files, width) {
  const results = [];
  const waiting = [...files];
  const lane = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file);
      report(result);
      results.push(result);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}

// Beside the build, which leaves a core free; awaited before the tests, some of which measure.
const ffiNapi = ffiNapiReady();
build({ quiet: false });
if (!process.argv.includes('--no-lint')) {
  console.log('lint: biome check');
  const lint = spawnSync(
    process.execPath,
    [join('node_modules', '@biomejs', 'biome', 'bin', 'biome'), 'check', '.'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  if (lint.status !== 0) {
    console.log('0 passed, 1 failed, 0 skipped');
    process.exit(1);
  }
}

await ffiNapi;
const files = testFiles();
const results = [
  ...(await runAll(
    files.filter((file) => !file.serial),
    Math.min(2, cpus().length),
  )),
  ...(await runAll(
    files.filter((file) => file.serial),
    1,
  )),
];
const total = (pick) => results.reduce((sum, result) => sum + pick(result), 0);
const skips = results.flatMap((result) => result.skips);
for (const skip of skips) console.log(`skipped: ${skip.test}: ${skip.reason}`);
for (const result of results)
  if (result.failed > 0) console.log(`failed: ${relative(root, result.file.path)}`);
const failed = total((result) => result.failed) + (results.length === 0 ? 1 : 0);
console.log(`${total((result) => result.passed)} passed, ${failed} failed, ${skips.length} skipped`);
process.exit(failed === 0 ? 0 : 1);
