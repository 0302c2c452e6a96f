/**
 * The registered functions that stand for a workload's applications. One function serves every demand: the demand travels on
 * standard input, so that registering does not grow with the workload.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SfsdError } from '../../contracts/errors.js';
import type { FunctionBody } from '../../contracts/http.js';
import { applicationsOf } from '../../trace/workload/calibrate.js';
import type { Application, Workload } from '../../trace/workload/workload.js';
import type { SfsdClient } from '../client.js';

const native = fileURLToPath(new URL('../../../../native/', import.meta.url));
/** Above the replay's own bound on requests in flight: the load is the workload's alone. */
const concurrency = 4096;
const outputMaxBytes = 64 * 1024;
/** The system's own first: a version manager's wrapper of that name costs more than the function. */
const pythons = ['/usr/bin/python3', '/usr/local/bin/python3'];

interface Program {
  /** What must be there. */
  readonly file: string;
  readonly install: string;
  readonly definition: Partial<FunctionBody>;
}

function programOf(application: Application): Program {
  const common = { timeoutMs: 0, concurrency, outputMaxBytes };
  if (application === 'burn') {
    const command = `${native}build/burn`;
    return { file: command, install: 'npm run build', definition: { ...common, command, args: ['--stdin'] } };
  }
  const command = pythons.find((path) => existsSync(path));
  if (command === undefined)
    throw new SfsdError('SFSD_ERR_MISSING_TOOL', {
      tool: 'python3',
      install: 'apt-get install -y --no-install-recommends python3-minimal, or replay with --mix burn',
    });
  const file = `${native}workloads/${application}.py`;
  return { file, install: 'npm run build', definition: { ...common, command, args: [file] } };
}

export function functionNameOf(application: Application): string {
  return `replay-${application}`;
}

/** Throws SFSD_ERR_MISSING_TOOL when a program is not there. Registering again replaces. */
export async function registerFunctions(client: SfsdClient, workload: Workload): Promise<void> {
  for (const application of applicationsOf(workload)) {
    const { file, install, definition } = programOf(application);
    if (!existsSync(file)) throw new SfsdError('SFSD_ERR_MISSING_TOOL', { tool: file, install });
    await client.putFunction(functionNameOf(application), definition);
  }
}

/** For a daemon that goes on after us. */
export async function deleteFunctions(client: SfsdClient, workload: Workload): Promise<void> {
  for (const application of applicationsOf(workload))
    await client.deleteFunction(functionNameOf(application));
}
