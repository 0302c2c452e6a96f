/**
 * Files of a trace, of whatever format, to what the generator samples or to a report.
 */
import { SfsdError } from '../../contracts/errors.js';
import { type AzureOptions, loadAzure2019, readAzure2019 } from '../formats/azure2019.js';
import { azure2021 } from '../formats/azure2021.js';
import { detectFormat, type TraceFormat } from '../formats/detect.js';
import { loadLists, readLists } from '../formats/invocation-list.js';
import { readWorkload } from '../formats/json-lines.js';
import type { ValidationReport } from '../formats/report.js';
import { sfsList } from '../formats/sfs-list.js';
import type { Trace } from './window.js';

export interface TraceOptions extends Pick<AzureOptions, 'strict' | 'onBad' | 'minMs'> {
  /** Default: as the files look (detect.ts). */
  readonly format?: TraceFormat;
}

/** Throws SFSD_ERR_TRACE_INVALID, naming every finding that refuses the trace, and SFSD_ERR_FILE. */
export async function loadTrace(files: readonly string[], options: TraceOptions): Promise<Trace> {
  switch (options.format ?? (await detectFormat(files))) {
    case 'azure2019':
      return loadAzure2019(files, options);
    case 'azure2021':
      return loadLists(files, azure2021, options);
    case 'sfs':
      return loadLists(files, sfsList, options);
    case 'workload':
      throw new SfsdError('SFSD_ERR_USAGE', {
        reason: `${files[0]} is a compiled workload: replay it with --workload`,
      });
  }
}

/** Never throws for what is in a trace: see `passed`. A compiled workload has to be right as it is: SFSD_ERR_TRACE_INVALID. */
export async function reportOnFiles(
  files: readonly string[],
  options: TraceOptions,
): Promise<ValidationReport> {
  switch (options.format ?? (await detectFormat(files))) {
    case 'azure2019':
      return (await readAzure2019(files, { ...options, keepCounts: false })).report;
    case 'azure2021':
      return (await readLists(files, azure2021, options)).report;
    case 'sfs':
      return (await readLists(files, sfsList, options)).report;
    case 'workload':
      return reportOnWorkloads(files, options);
  }
}

async function reportOnWorkloads(
  files: readonly string[],
  { strict = false }: TraceOptions,
): Promise<ValidationReport> {
  const names = new Set<string>();
  const reports: ValidationReport['files'][number][] = [];
  for (const file of files) {
    const { requests } = await readWorkload(file);
    for (const { functionName } of requests) names.add(functionName);
    reports.push({ file, kind: 'workload', rows: requests.length, accepted: requests.length });
  }
  const invocations = reports.reduce((sum, { rows }) => sum + rows, 0);
  const lost = { lostFunctions: 0, lostInvocations: 0 };
  return { strict, passed: true, files: reports, findings: [], functions: names.size, invocations, ...lost };
}
