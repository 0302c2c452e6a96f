/** Programs that must be there: Node, our own C programs, and what the workloads need. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadFfiNapiLibc } from '../../linux/ffi-napi-libc.js';
import { broken, degraded, type Finding, ok } from './finding.js';

/** package.json, "engines". */
const nodeMin = [20, 11] as const;
const nativeBuild = fileURLToPath(new URL('../../../../native/build/', import.meta.url));

export function nodeFinding(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const recent = major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1]);
  const fact = `Node ${process.versions.node} on ${process.arch}`;
  if (!recent) return broken('Node', fact, `Install Node ${nodeMin.join('.')} or later.`);
  if (process.execArgv.includes('--single-threaded-gc')) return ok('Node', fact);
  return degraded(
    'Node',
    `${fact}, without --single-threaded-gc`,
    'Started by bin/sfsd it has the flag; without it, garbage collection waits for threads that starve.',
  );
}

export function spawnerFinding(): Finding {
  const program = join(nativeBuild, 'spawner');
  if (isExecutable(program)) return ok('spawner', program);
  return broken('spawner', `${program} is not there`, 'Build it: npm run build');
}

/** Both are one C code: what demotes everything when the daemon cannot. */
export function guardFinding(): Finding {
  const missing = ['guard', 'sfsd-demote-all']
    .map((name) => join(nativeBuild, name))
    .filter((file) => !isExecutable(file));
  if (missing.length === 0) return ok('guard', join(nativeBuild, 'guard'));
  return broken('guard', `${missing.join(' and ')} not there`, 'Build it: npm run build');
}

export function compilerFinding(): Finding {
  const missing = ['gcc', 'make'].filter((program) => inPath(program) === undefined);
  if (missing.length === 0) return ok('C compiler', inPath('gcc') ?? 'gcc');
  return degraded(
    'C compiler',
    `${missing.join(' and ')} missing`,
    'What is built already runs; to build again: apt-get install -y --no-install-recommends gcc libc6-dev make',
  );
}

export function pythonFinding(): Finding {
  const program = inPath('python3');
  if (program !== undefined) return ok('Python', program);
  return degraded(
    'Python',
    'python3 is missing',
    'Replay runs `burn` only. For fib, md and sa: apt-get install -y --no-install-recommends python3-minimal',
  );
}

/** Optional: missing is as it should be, unless it is there and does not work. */
export function ffiNapiFinding(): Finding {
  const loaded = loadFfiNapiLibc();
  if (loaded.ok) return ok('ffi-napi', 'the optional peer is loaded too; linux.ffi chooses');
  if (loaded.reason.includes('Cannot find module'))
    return ok('ffi-napi', 'the optional peer is not installed; koffi makes the kernel calls');
  return degraded('ffi-napi', loaded.reason, 'Where linux.ffi asks for it, koffi is used instead.');
}

function inPath(program: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(':')
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
