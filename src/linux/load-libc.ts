/**
 * The C library by the FFI that was asked for, koffi where that one does not load: a setting must not keep the daemon from starting.
 * Asked for once by each thread that makes kernel calls (ffi-napi-libc.ts says why).
 */
import type { FfiName } from '../contracts/config.js';
import { loadFfiNapiLibc } from './ffi-napi-libc.js';
import { loadKoffiLibc } from './koffi-libc.js';
import type { Libc } from './libc.js';

export type LoadedLibc =
  | {
      readonly ok: true;
      readonly libc: Libc;
      /** Why it is not the one that was asked for; absent: it is. */
      readonly fallbackReason?: string;
    }
  | { readonly ok: false; readonly reason: string };

export function loadLibc(wanted: FfiName): LoadedLibc {
  if (wanted === 'koffi') return loadKoffiLibc();
  const loaded = loadFfiNapiLibc();
  if (loaded.ok) return loaded;
  const instead = loadKoffiLibc();
  if (!instead.ok) return { ok: false, reason: `${loaded.reason}; ${instead.reason}` };
  return { ...instead, fallbackReason: loaded.reason };
}
