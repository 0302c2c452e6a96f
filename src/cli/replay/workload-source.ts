/** Where a replay's workload comes from: a file that was compiled before, or the generator. */
import { SfsdError } from '../../contracts/errors.js';
import { readWorkload } from '../../trace/formats/json-lines.js';
import { generateWorkload } from '../../trace/workload/generate.js';
import { applicationMix, burnOnly } from '../../trace/workload/mix.js';
import type { Workload } from '../../trace/workload/workload.js';
import { generatorChoice, type WorkloadFlags } from '../workload-options.js';
import type { WorkloadSource } from './plan.js';

export async function loadWorkload(source: WorkloadSource): Promise<Workload> {
  if (source.kind === 'file') return readWorkload(source.file);
  // A comparison is of exact shares: two seeds then differ in order, not in how many long functions they drew.
  return compileWorkload(source.flags, { stratified: true });
}

/** What the generator refuses was asked for on the command line: bad usage. */
export async function compileWorkload(
  flags: WorkloadFlags,
  options: { readonly stratified: boolean },
): Promise<Workload> {
  const mix = flags.mix === 'burn' ? burnOnly : applicationMix;
  try {
    return await generateWorkload({ ...generatorChoice(flags, options.stratified), mix });
  } catch (thrown) {
    if (!(thrown instanceof SfsdError) || thrown.code !== 'SFSD_ERR_WORKLOAD_INVALID') throw thrown;
    throw new SfsdError('SFSD_ERR_USAGE', { reason: String(thrown.details.reason) }, { cause: thrown });
  }
}
