/**
 * What a reader must know of the rows that are not CFS and SFS: which were computed, within what FIFO and RR ran, what Gittins knew.
 */
import { type ReplayPolicy, replayPolicies } from '../../contracts/replay.js';
import type { ReportedPolicy, RunSummary, Summary } from '../replay/comparison.js';
import { formatMs } from './format.js';

/** The daemon's default, and the most that it takes. */
const budgetPercentDefault = 93;

export function isComputed(policy: ReportedPolicy): policy is 'ideal' | 'srtf' {
  return policy === 'ideal' || policy === 'srtf';
}

/** Those that ran, in the order of the report. */
export function ranPolicies(summary: Summary): readonly ReplayPolicy[] {
  return replayPolicies.filter((policy) => summary[policy] !== null);
}

/** One sentence each. */
export function referenceNotes(summary: Summary): readonly string[] {
  const { fifo, rr, srtf, gittins, host } = summary;
  const computed =
    srtf === null ? 'IDEAL (alone on the host) is' : 'IDEAL (alone on the host) and SRTF (clairvoyant) are';
  const notes = [`${computed} computed from the demands that were measured.`];
  const references = [...(fifo === null ? [] : ['FIFO']), ...(rr === null ? [] : ['RR'])];
  if (references.length > 0)
    notes.push(
      `${references.join(' and ')} ran as the kernel has them, but within the FILTER budget: real-time for at most ` +
        `${budgetPercent(fifo ?? rr)}% of any 100 ms, so that the host stays its owner's. In the gaps all of them are under CFS.`,
    );
  if (rr !== null && host.roundRobinQuantumMs !== null)
    notes.push(
      `RR's turns are the kernel's quantum of ${formatMs(host.roundRobinQuantumMs)} (sched_rr_timeslice_ms).`,
    );
  if (gittins?.settings?.['store.path'] !== undefined && gittins.settings['store.path'] !== 'none')
    notes.push(
      'Gittins began as on a host that serves these functions already: with what as many runs of another seed have taught it.',
    );
  return notes;
}

/** Its settings in the form of `--set`. */
export function settingTexts(run: RunSummary): readonly string[] {
  return Object.entries(run.settings ?? {}).map(([key, value]) => `${key}=${String(value)}`);
}

function budgetPercent(run: RunSummary | null): number {
  const value = run?.settings?.['scheduler.budgetPercent'];
  return typeof value === 'number' ? value : budgetPercentDefault;
}
