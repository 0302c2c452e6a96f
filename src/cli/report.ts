/**
 * `sfsd report DIR`: the table of a finished replay again, and its report.html made anew.
 */
import type { Command } from 'commander';
import { type CliContext, commonOptions, printJson, withJson } from './context.js';

export function addReportCommand(program: Command, context: CliContext): void {
  const command = program
    .command('report')
    .argument('<folder>', 'what `sfsd replay` wrote')
    .description('print a finished replay’s table again and rewrite its report.html')
    .addHelpText('after', '\nExample:\n  sfsd report out/replay-2026-01-31T12-00-00-000Z')
    .action(async (folder: string) => {
      const { readRunFolder } = await import('../trace/report/read.js');
      const { writeReport } = await import('../trace/report/outputs.js');
      const { summaryLines, summaryTable } = await import('../trace/report/table.js');
      const content = await readRunFolder(folder);
      const report = await writeReport(folder, content);
      const { summary } = content;
      if (commonOptions(command).json) printJson(context, { folder, report, summary });
      else {
        const { terminal } = context;
        terminal.out(`${summaryTable(summary, { frames: terminal.interactive })}\n\n`);
        terminal.out(`${summaryLines(summary).join('\n')}\n\nreport: ${report}\n`);
      }
    });
  withJson(command);
}
