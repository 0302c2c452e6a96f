/**
 * `sfsd trace gen` and `sfsd trace validate` without their command line: files in, plain data out.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import type { ValidationReport } from '../formats/report.js';
import { readDurationTable } from './durations.js';
import { compileWorkload, type GeneratorInputs } from './generator.js';
import { type GeneratorOptions, generatorOptionsOf } from './generator-options.js';
import { loadTrace, reportOnFiles, type TraceOptions } from './trace-source.js';
import { type Trace, type TraceWindow, windowOf } from './window.js';
import type { Workload } from './workload.js';

/** The sample in traces/azure2019-sample. */
export const bundledSample = fileURLToPath(new URL('../../../../traces/azure2019-sample', import.meta.url));

export interface GenerateOptions
  extends Omit<Partial<GeneratorOptions>, 'requests'>,
    TraceOptions,
    TraceWindow {
  /** `all`: every invocation of the trace. */
  readonly requests?: number | 'all';
  /** Files or folders of a trace; the bundled sample when a trace is needed and none is named. */
  readonly trace?: readonly string[];
  /** A duration table; the bundled one when absent. */
  readonly table?: string;
}

/** Throws SFSD_ERR_WORKLOAD_INVALID, SFSD_ERR_TRACE_INVALID or SFSD_ERR_FILE, each naming all that is wrong. */
export async function generateWorkload(given: GenerateOptions): Promise<Workload> {
  const {
    trace: paths,
    table,
    strict,
    onBad,
    minMs,
    format,
    fromMinute,
    toMinute,
    requests,
    ...rest
  } = given;
  const asked = requests === 'all' ? rest : { ...rest, ...defined({ requests }) };
  const options = generatorOptionsOf(asked);
  const inputs: { -readonly [Name in keyof GeneratorInputs]: GeneratorInputs[Name] } = {};
  if (options.durations === 'table') inputs.table = readDurationTable(table);
  if (options.durations === 'azure2019' || options.gaps === 'trace') {
    const sources = paths ?? [bundledSample];
    const how = defined({ strict, onBad, minMs, format });
    const trace = await loadTrace(await filesOf(sources), how);
    inputs.trace = windowOf(relative(trace), defined({ fromMinute, toMinute }));
    inputs.traceName = sources.map((path) => basename(path)).join(' ');
  }
  if (requests === 'all' && inputs.trace !== undefined) {
    const all = inputs.trace.report.invocations;
    return compileWorkload(generatorOptionsOf({ ...asked, requests: all }), inputs);
  }
  return compileWorkload(options, inputs);
}

/** Never throws for what is in the files: see `passed`. Throws SFSD_ERR_FILE when one cannot be read. */
export async function validateTrace(
  paths: readonly string[],
  options: TraceOptions = {},
): Promise<ValidationReport> {
  return reportOnFiles(await filesOf(paths), options);
}

type Defined<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<Fields>;
}

/** Every CSV file of each folder, in the order of names, and every file as it is named. */
export async function filesOf(paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) throw new SfsdError('SFSD_ERR_USAGE', { reason: 'no file or folder was named' });
  const lists = await Promise.all(paths.map(listOf));
  return lists.flat();
}

async function listOf(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => name.endsWith('.csv')).sort();
    if (names.length === 0) throw new Error('the folder holds no .csv file');
    return names.map((name) => join(path, name));
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

/** A workload names a trace's files without the folders of the host that compiled it, so that its bytes are the same on every host. */
function relative(trace: Trace): Trace {
  const short = <Named extends { readonly file: string }>(named: Named): Named => ({
    ...named,
    file: join(basename(dirname(named.file)), basename(named.file)),
  });
  const { files, findings } = trace.report;
  return { ...trace, report: { ...trace.report, files: files.map(short), findings: findings.map(short) } };
}
