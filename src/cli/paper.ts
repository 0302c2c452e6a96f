/**
 * `sfsd paper sfs`: the SFS paper's evaluation again, simulated at its size and real at this host's.
 */
import type { Command } from 'commander';
import { type CliContext, withJson } from './context.js';
import type { PaperFlags } from './paper/session.js';

export function addPaperCommand(program: Command, context: CliContext): void {
  const group = program.command('paper').description('rerun the evaluation of a paper and compare');
  const command = group
    .command('sfs')
    .description('Figures 7, 8, 11, 12, 14, 16 and Table II of the SFS paper: claim, our figure, verdict')
    .option('--out <folder>', 'where paper.html and paper.json go (default: out/paper-sfs-TIME)')
    .option('--quick', 'a few requests only: shows that it works, not what is true')
    .option('--sim-only', 'no replays on this host; Table II then has no figure')
    .addHelpText(
      'after',
      `
Under 8 minutes on 2 cores; the replays need root, as \`sfsd replay\` does, and an otherwise idle host.

Examples:
  sfsd paper sfs --out paper
  sfsd paper sfs --sim-only --json`,
    )
    .action(async (flags: PaperFlags) => {
      const { runPaper } = await import('./paper/session.js');
      await runPaper(flags, { command, context });
    });
  withJson(command);
}
