/**
 * The registered functions that stand for a workload's. One serves every demand of an application, as the demand travels on standard
 * input, so that registering does not grow with the workload; a policy that learns of each function needs each of them to be there.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SfsdError } from '../../contracts/errors.js';
import type { FunctionBody } from '../../contracts/http.js';
import { applicationsOf } from '../../trace/workload/calibrate.js';
import type { Application, Workload, WorkloadRequest } from '../../trace/workload/workload.js';
import type { SfsdClient } from '../client.js';

const native = fileURLToPath(new URL('../../../../native/', import.meta.url));
/** Above the replay's own bound on requests in flight: the load is the workload's alone. */
const concurrency = 4096;
const outputMaxBytes = 64 * 1024;
const nameLengthMax = 100;
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

/** What a request's function is called here. */
export type NameOf = (request: WorkloadRequest) => string;

/** @param apart each function of the workload is one here. */
export function namesOf({ requests }: Workload, { apart }: { readonly apart: boolean }): NameOf {
  if (!apart) return ({ application }) => functionNameOf(application);
  const names = new Map<string, string>();
  for (const { functionName } of requests) {
    if (names.has(functionName)) continue;
    const plain = functionName.replace(/[^-a-zA-Z0-9_]/g, '-').slice(0, nameLengthMax);
    names.set(functionName, `replay-${names.size}-${plain}`);
  }
  return ({ functionName }) => names.get(functionName) ?? functionName;
}

/** Throws SFSD_ERR_MISSING_TOOL when a program is not there. Registering again replaces. */
export async function registerFunctions(
  client: SfsdClient,
  workload: Workload,
  nameOf: NameOf,
): Promise<void> {
  for (const [name, application] of functionsOf(workload, nameOf)) {
    const { file, install, definition } = programOf(application);
    if (!existsSync(file)) throw new SfsdError('SFSD_ERR_MISSING_TOOL', { tool: file, install });
    await client.putFunction(name, definition);
  }
}

/** For a daemon that goes on after us. */
export async function deleteFunctions(client: SfsdClient, workload: Workload, nameOf: NameOf): Promise<void> {
  for (const name of functionsOf(workload, nameOf).keys()) await client.deleteFunction(name);
}

/** By name; one for each application is always there, for the calibration. */
function functionsOf(workload: Workload, nameOf: NameOf): ReadonlyMap<string, Application> {
  const known = new Map<string, Application>();
  for (const application of applicationsOf(workload)) known.set(functionNameOf(application), application);
  for (const request of workload.requests) known.set(nameOf(request), request.application);
  return known;
}
