/**
 * Who makes the kernel calls of the two planes, and what to say when it is not the one that was configured: each plane loads its own
 * and falls back by itself.
 */
import type { Logger } from 'pino';
import type { FfiName } from '../contracts/config.js';
import { SfsdError } from '../contracts/errors.js';
import type { FfiBody } from '../contracts/http.js';
import type { Libc } from '../linux/libc.js';
import { loadLibc } from '../linux/load-libc.js';
import type { FfiReport } from './plane/thread-main.js';

/** @throws SfsdError SFSD_ERR_KERNEL when neither loads. */
export function openLibc(configured: FfiName): { readonly libc: Libc; readonly report: FfiReport } {
  const loaded = loadLibc(configured);
  if (!loaded.ok)
    throw new SfsdError('SFSD_ERR_KERNEL', { call: 'loading the C library', reason: loaded.reason });
  const { libc, fallbackReason } = loaded;
  const report = { used: libc.name, ...(fallbackReason === undefined ? {} : { fallbackReason }) };
  return { libc, report };
}

export interface PlaneReports {
  readonly configured: FfiName;
  readonly control: FfiReport;
  readonly scheduling: FfiReport;
}

export function warnOfFallback({ configured, ...planes }: PlaneReports, log: Logger): void {
  for (const [plane, { used, fallbackReason }] of Object.entries(planes)) {
    if (fallbackReason !== undefined)
      log.warn({ event: 'ffi_fallback', plane, configured, used, reason: fallbackReason });
  }
}

export function ffiBody({ configured, control, scheduling }: PlaneReports): FfiBody {
  const reason = control.fallbackReason ?? scheduling.fallbackReason;
  return {
    configured,
    control: control.used,
    scheduling: scheduling.used,
    ...(reason === undefined ? {} : { reason }),
  };
}
