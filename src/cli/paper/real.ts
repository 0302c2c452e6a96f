/**
 * The paper's workload on this host: real processes under the kernel and under sfsd, by `sfsd replay` itself. Each load leaves its run
 * folder beside the page, and what the page shows is read back from there.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Summary, switchRatios } from '../../trace/replay/comparison.js';
import { type DaemonShares, samplesOf } from '../../trace/replay/metrics.js';
import { readRunFolder } from '../../trace/report/read.js';
import { type RunFolder, runFiles } from '../../trace/report/run-folder.js';
import type { CliContext } from '../context.js';
import { runReplay } from '../replay/session.js';
import { type Evidence, type Observed, observedOf, type Pair } from './evidence.js';
import { durationScaleReal, loadsReal, type PaperSize, seed, sigma } from './size.js';

export interface RealOptions {
  readonly cores: number;
  readonly size: PaperSize;
  readonly folder: string;
  readonly context: CliContext;
  readonly step: (text: string) => void;
}

export interface RealEvidence {
  readonly evidence: Evidence;
  readonly warnings: readonly string[];
}

/** undefined: a signal ended it, and the replay has said so. */
export async function replayHost(options: RealOptions): Promise<RealEvidence | undefined> {
  const plain = new Map<number, Pair>();
  const switches = new Map<number, readonly number[]>();
  const daemon = new Map<number, DaemonShares>();
  const warnings: string[] = [];
  for (const load of loadsReal) {
    const run = await replayAt(load, options);
    if (run === undefined) return undefined;
    const { summary, records } = run;
    const of = (policy: 'cfs' | 'sfs') => records.filter((record) => record.policy === policy);
    plain.set(load, { cfs: observedReal(run, 'cfs'), sfs: observedReal(run, 'sfs') });
    switches.set(load, switchRatios(of('cfs'), of('sfs')));
    if (summary.sfs?.daemonCpu != null) daemon.set(load, summary.sfs.daemonCpu);
    warnings.push(...warningsOf(summary, load));
  }
  const evidence = {
    cores: options.cores,
    plain,
    blocking: plain,
    sliceExact: new Map<number, Pair>(),
    fixed: new Map<number, Observed>(),
    spiky: undefined,
    switches,
    daemon,
  };
  return { evidence, warnings };
}

async function replayAt(load: number, options: RealOptions): Promise<RunFolder | undefined> {
  const { size, context, step } = options;
  const folder = join(options.folder, `replay-load-${load}`);
  const count = size.requestsReal;
  step(`replaying ${count} requests on this host at load ${load}, under cfs and sfs`);
  const flags = {
    durations: 'table',
    gaps: 'poisson',
    load,
    count,
    scale: durationScaleReal,
    sigma,
    seed,
    mix: 'burn',
    sleepShare: 0,
  } as const;
  await runReplay(
    {
      source: { kind: 'generated', flags },
      policies: ['cfs', 'sfs'],
      socket: undefined,
      settings: {},
      outFolder: folder,
      keepLog: false,
      json: false,
      cores: undefined,
      command: `sfsd replay --durations table --sigma ${sigma} --load ${load} --count ${count} --scale ${durationScaleReal} --seed ${seed}`,
    },
    { ...context, terminal: { ...context.terminal, out: () => undefined } },
  );
  // Written last: without it there are no results to read.
  return existsSync(join(folder, runFiles.summary)) ? readRunFolder(folder) : undefined;
}

function observedReal({ records, series, summary }: RunFolder, policy: 'cfs' | 'sfs'): Observed {
  return observedOf(samplesOf(records.filter((record) => record.policy === policy)), {
    shortBelowMs: summary.workload.shortBelowMs,
    series: series.filter((row) => row.policy === policy),
  });
}

function warningsOf({ warnings }: Summary, load: number): readonly string[] {
  return warnings.map((warning) => `this host, load ${load}: ${warning}`);
}
