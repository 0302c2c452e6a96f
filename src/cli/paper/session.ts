/**
 * One `sfsd paper sfs`: simulations first, then the replays on this host, then the verdicts, paper.json and paper.html.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import { type CliContext, commonOptions, printJson } from '../context.js';
import { timeText } from '../quantities.js';
import { hostFacts } from '../replay/host.js';
import { textTable } from '../text-table.js';
import { formatClaim } from './claims.js';
import { paperDocument } from './document.js';
import { type Judged, judge } from './judge.js';
import { paperPage, valueText } from './page.js';
import { type RealEvidence, replayHost } from './real.js';
import { simulateHost } from './simulated.js';
import { fullSize, quickSize, seed, simulatedCores } from './size.js';
import { paperValue } from './verdict.js';

export interface PaperFlags {
  readonly out?: string;
  readonly quick?: boolean;
  readonly simOnly?: boolean;
}

export async function runPaper(
  flags: PaperFlags,
  { command, context }: { readonly command: Command; readonly context: CliContext },
): Promise<void> {
  const startedAt = Date.now();
  const createdAt = new Date(startedAt).toISOString();
  const folder = flags.out ?? join('out', `paper-sfs-${createdAt.replace(/[:.]/g, '-')}`);
  // Made now: a folder that cannot be written must not show after the run.
  await written(folder, () => mkdir(folder, { recursive: true }));
  const size = flags.quick === true ? quickSize : fullSize;
  const step = (text: string): void => context.terminal.err(`${timeText(Date.now() - startedAt)}: ${text}\n`);
  step(`seed ${seed} for every workload`);
  const simulated = new Map(
    await inTurn(
      simulatedCores,
      async (cores) => [cores, await simulateHost({ cores, size, step })] as const,
    ),
  );
  const cores = availableParallelism();
  const real: RealEvidence | undefined =
    flags.simOnly === true ? undefined : await replayHost({ cores, size, folder, context, step });
  if (real === undefined && flags.simOnly !== true) {
    step('no page was written');
    return;
  }
  const evidence = { simulated, real: real?.evidence };
  const judged = judge(evidence);
  const elapsedMs = Date.now() - startedAt;
  const facts = { judged, evidence, size, warnings: real?.warnings ?? [], createdAt, elapsedMs };
  const document = paperDocument(facts);
  const { kernel, cpuModel } = hostFacts();
  const page = join(folder, 'paper.html');
  await written(page, () =>
    writeFile(page, paperPage({ ...facts, host: `${cores} cores, ${cpuModel}, Linux ${kernel}` })),
  );
  const json = join(folder, 'paper.json');
  await written(json, () => writeFile(json, `${JSON.stringify(document, null, 2)}\n`));
  step('done');
  if (commonOptions(command).json === true) printJson(context, { folder, page, ...document });
  else context.terminal.out(`${verdictTable(judged, context)}\npage: ${page}\n`);
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

async function written(file: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

function verdictTable(judged: readonly Judged[], { terminal }: CliContext): string {
  const count = judged.filter(({ verdict }) => verdict === 'reproduced').length;
  const table = textTable({
    head: ['', 'claim', 'paper', '12 cores', '72 cores', 'here', 'verdict'],
    rows: judged.map((one) => {
      const paper = paperValue(one.claim.rule);
      return [
        one.claim.figure,
        one.claim.text,
        paper === null ? '' : formatClaim(one.claim, paper),
        ...simulatedCores.map((cores) => valueText(one, 'simulated', cores)),
        valueText(one, 'real'),
        one.verdict === 'none' ? 'no figure' : one.verdict,
      ];
    }),
    right: [2, 3, 4, 5],
    columns: terminal.size().columns,
  });
  return `${table}\n${count} of ${judged.length} claims reproduced; the page gives the reason for each other.`;
}
