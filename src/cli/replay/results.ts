/** What a replay ends with: the run folder, the table, and a code that says whether anything was lost. */
import { compare } from '../../trace/replay/comparison.js';
import type { ReplayRun } from '../../trace/replay/replay.js';
import { writeRunFolder } from '../../trace/report/outputs.js';
import { summaryLines, summaryTable } from '../../trace/report/table.js';
import { type CliContext, exitCodes, printJson } from '../context.js';
import { hostFacts } from './host.js';
import type { ReplayPlan } from './plan.js';

export interface Results {
  readonly runs: readonly ReplayRun[];
  /** Warnings that the figures cannot show themselves. */
  readonly doubts: readonly string[];
  readonly folder: string;
  readonly plan: ReplayPlan;
}

export async function reportRuns(
  { runs, doubts, folder, plan }: Results,
  context: CliContext,
): Promise<void> {
  const compared = compare(runs, {
    host: hostFacts(),
    command: plan.command,
    createdAt: new Date().toISOString(),
  });
  const summary = { ...compared, warnings: [...compared.warnings, ...doubts] };
  const files = await writeRunFolder(folder, { summary, runs });
  if (plan.json) printJson(context, { folder, report: files.report, summary });
  else {
    const { terminal } = context;
    terminal.out(`\n${summaryTable(summary, { frames: terminal.interactive })}\n\n`);
    terminal.out(`${summaryLines(summary).join('\n')}\n\nreport: ${files.report}\n`);
  }
  const incomplete = runs.some((run) => run.records.some((record) => record.fate !== 'completed'));
  if (incomplete) context.exitWith(exitCodes.failed);
}
