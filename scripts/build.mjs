// Builds everything: the C programs, then the TypeScript. Installs a missing compiler, make or python3 when it may,
// and names the apt line when it may not. `--quiet` prints only what failed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeHeaders } from './node-headers.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Programs that the build and the workloads need, and the Debian package that brings each. */
const tools = [
  { program: 'gcc', debian: 'gcc libc6-dev' },
  { program: 'g++', debian: 'g++' },
  { program: 'make', debian: 'make' },
  { program: 'python3', debian: 'python3-minimal' },
];

function isThere(program) {
  return (process.env.PATH ?? '')
    .split(':')
    .some((folder) => folder !== '' && existsSync(join(folder, program)));
}

/** Installs the Debian packages of missing tools; exits with what to type where it may not. */
export function ensureTools(wanted = tools) {
  const missing = wanted.filter((tool) => !isThere(tool.program));
  if (missing.length === 0) return;
  const packages = missing.flatMap((tool) => tool.debian.split(' '));
  const line = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const names = missing.map((tool) => tool.program).join(', ');
  if (process.env.SFSD_TEST_DEPS === 'skip' || process.getuid?.() !== 0 || !isThere('apt-get')) {
    console.error(`SFSD_ERR_MISSING_TOOL: ${names} missing. Install with:\n  ${line}`);
    process.exit(1);
  }
  console.error(`installing ${names}: ${line}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  run('apt-get', ['update', '-q'], { env, tolerate: true });
  run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], { env });
}

function run(program, args, { env = process.env, tolerate = false } = {}) {
  const done = spawnSync(program, args, {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (done.status === 0 || tolerate) return;
  process.stderr.write(`${done.stdout ?? ''}${done.stderr ?? ''}`);
  console.error(`failed: ${program} ${args.join(' ')}`);
  process.exit(1);
}

export function build({ quiet }) {
  const say = quiet ? () => {} : (text) => console.log(text);
  ensureTools();
  const headers = nodeHeaders();
  if (headers.reason !== undefined) {
    console.error(headers.reason);
    process.exit(1);
  }
  say('native: make (the first time half a minute: SQLite)');
  const node = [`NODE_INCLUDE=${headers.folder}`, `NODE_ABI=${process.versions.modules}`];
  run('make', ['-s', '-j2', '-C', 'native', ...node, 'all']);
  say('types and code: tsc --build');
  run(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc'), '--build']);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!existsSync(join(root, 'node_modules'))) {
    console.error('run `npm ci` first');
    process.exit(1);
  }
  build({ quiet: process.argv.includes('--quiet') });
}
