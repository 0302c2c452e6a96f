/**
 * Where demands come from: each source is the inverse of its distribution function, so that one quantile gives one demand.
 * Random quantiles make a random workload; evenly spaced ones make a stratified workload with the exact shares (stratified.ts).
 *
 *   table      the duration table of the SFS evaluation (paper, Table I), in traces/durations/sfs-table.json: log-uniform in a bucket
 *   lognormal  exp(mu + sigma z) seconds, mu -0.38, sigma 2.36: fit of the functions' average durations in Azure 2019
 *   azure2019  a function by its share of invocations, then its percentile bands (azure-sample.ts)
 */
import { readFileSync } from 'node:fs';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import { inverseNormal } from './inverse-normal.js';

/** A demand before the duration scale, and what to call the function that has it. */
export interface Draw {
  readonly ms: number;
  readonly name: string;
}

export interface DurationSource {
  /** @param quantile in (0, 1). */
  at(quantile: number): Draw;
}

export interface DurationBucket {
  readonly fromMs: number;
  readonly toMs: number;
  readonly sharePercent: number;
}

export interface DurationTable {
  readonly buckets: readonly DurationBucket[];
}

const bundledTable = new URL('../../../../traces/durations/sfs-table.json', import.meta.url);

/** Throws SFSD_ERR_FILE, or SFSD_ERR_TRACE_INVALID when it is no table of ascending buckets whose shares sum to 100. */
export function readDurationTable(file: string | URL = bundledTable): DurationTable {
  const name = file instanceof URL ? file.pathname : file;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file: name, reason: reasonOf(thrown) }, { cause: thrown });
  }
  try {
    return checked(JSON.parse(text));
  } catch (thrown) {
    throw new SfsdError(
      'SFSD_ERR_TRACE_INVALID',
      { file: name, reason: reasonOf(thrown) },
      { cause: thrown },
    );
  }
}

function checked(value: unknown): DurationTable {
  const table = value as Partial<DurationTable> | null;
  if (!Array.isArray(table?.buckets)) throw new Error('buckets is not a list');
  const buckets = table.buckets as readonly Partial<DurationBucket>[];
  let end = 0;
  let total = 0;
  const sound = buckets.map(
    ({ fromMs = Number.NaN, toMs = Number.NaN, sharePercent = Number.NaN }, index) => {
      if (!(fromMs >= end && fromMs > 0 && toMs > fromMs && sharePercent > 0)) {
        throw new Error(`bucket ${index + 1} is not ascending, or has no positive share`);
      }
      end = toMs;
      total += sharePercent;
      return { fromMs, toMs, sharePercent };
    },
  );
  if (Math.abs(total - 100) > 0.01) throw new Error(`the shares sum to ${total} percent, not to 100`);
  return { buckets: sound };
}

/** @param functionsMin each bucket is cut, evenly on a logarithmic axis, until there are as many functions; demands stay the same. */
export function tableSource({ buckets }: DurationTable, functionsMin = 1): DurationSource {
  const parts = Math.ceil(functionsMin / buckets.length);
  return {
    at: (quantile) => {
      let below = 0;
      for (const [index, { fromMs, toMs, sharePercent }] of buckets.entries()) {
        const share = sharePercent / 100;
        if (quantile < below + share || index === buckets.length - 1) {
          const inside = Math.min(1, (quantile - below) / share);
          return {
            ms: fromMs * (toMs / fromMs) ** inside,
            name: nameOf({ fromMs, toMs }, { part: Math.min(parts - 1, Math.floor(inside * parts)), parts }),
          };
        }
        below += share;
      }
      throw new SfsdError('SFSD_ERR_WORKLOAD_INVALID', { reason: 'the duration table has no bucket' });
    },
  };
}

function nameOf(
  { fromMs, toMs }: Pick<DurationBucket, 'fromMs' | 'toMs'>,
  { part, parts }: { readonly part: number; readonly parts: number },
): string {
  const edge = (at: number) => Math.round(fromMs * (toMs / fromMs) ** (at / parts));
  return `${edge(part)}-${edge(part + 1)}ms`;
}

/** Seconds; fit of Shahrad et al., USENIX ATC 2020, section 3.4. */
export const azureLogNormal = { mu: -0.38, sigma: 2.36 } as const;

export function logNormalSource({ mu, sigma } = azureLogNormal): DurationSource {
  return {
    at: (quantile) => ({ ms: 1000 * Math.exp(mu + sigma * inverseNormal(quantile)), name: 'lognormal' }),
  };
}
