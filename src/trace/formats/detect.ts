/**
 * Which format a trace has, by the first line that is not blank:
 *
 *   {...                                   a compiled workload (json-lines.ts)
 *   a header that names end_timestamp      Azure Functions 2021
 *   five cells apart by blanks, no comma   an SFS list
 *   anything else                          Azure Functions 2019, whose reader says what is wrong with it
 */
import { SfsdError } from '../../contracts/errors.js';
import { readLines } from './lines.js';

export type TraceFormat = 'azure2019' | 'azure2021' | 'sfs' | 'workload';

export const traceFormats: readonly TraceFormat[] = ['azure2019', 'azure2021', 'sfs', 'workload'];

/** All files of a trace have one format. Throws SFSD_ERR_TRACE_INVALID when they differ, SFSD_ERR_FILE. */
export async function detectFormat(files: readonly string[]): Promise<TraceFormat> {
  let format: TraceFormat | undefined;
  for (const file of files) {
    const own = await formatOfFile(file);
    if (format !== undefined && own !== format) {
      const reason = `the file is ${own}, those before it are ${format}; name one format with --format`;
      throw new SfsdError('SFSD_ERR_TRACE_INVALID', { file, reason });
    }
    format = own;
  }
  return format ?? 'azure2019';
}

async function formatOfFile(file: string): Promise<TraceFormat> {
  for await (const { text } of readLines(file)) {
    if (text.trim() !== '') return formatOfLine(text);
  }
  return 'azure2019';
}

export function formatOfLine(line: string): TraceFormat {
  const text = line.trim();
  if (text.startsWith('{')) return 'workload';
  const names = text.toLowerCase().split(',');
  if (names.some((name) => name.trim() === 'end_timestamp')) return 'azure2021';
  return names.length === 1 && text.split(/\s+/).length === 5 ? 'sfs' : 'azure2019';
}
