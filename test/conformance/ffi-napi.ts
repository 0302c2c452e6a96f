/**
 * Where scripts/ffi-napi.mjs has put the optional peers for the tests, or why it could not.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../src/contracts/errors.js';
import { loadFfiNapiLibc } from '../../src/linux/ffi-napi-libc.js';
import type { LoadLibc } from '../../src/linux/libc.js';

const home = fileURLToPath(new URL('../../../.cache/ffi-napi/', import.meta.url));

/** For NODE_PATH of a daemon under test. */
export const ffiNapiModules = join(home, 'node_modules');

/** Undefined: it was built. */
export function whyNoFfiNapi(): string | undefined {
  try {
    const outcome = JSON.parse(readFileSync(join(home, 'outcome.json'), 'utf8')) as {
      readonly ok: boolean;
      readonly reason?: string;
    };
    return outcome.ok ? undefined : (outcome.reason ?? 'it was not built');
  } catch (thrown) {
    return `not built by scripts/ffi-napi.mjs: ${reasonOf(thrown)}`;
  }
}

export const loadBuiltFfiNapi: LoadLibc = () => {
  const reason = whyNoFfiNapi();
  return reason === undefined ? loadFfiNapiLibc(join(home, 'package.json')) : { ok: false, reason };
};
