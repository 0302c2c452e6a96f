/**
 * `sfsd end ID`: tells the scheduler that a registered invocation has done its work, though its process may live on.
 */
import type { Command } from 'commander';
import { withClient } from './connect.js';
import { type CliContext, commonOptions, daemonAddress, printJson, withDaemon, withJson } from './context.js';

export function addEndCommand(program: Command, context: CliContext): void {
  const command = program
    .command('end')
    .argument('<id>', 'the invocation’s id')
    .description('report an invocation as completed')
    .option('--source <source>', 'who registered it (default: api)')
    .addHelpText('after', '\nExample:\n  sfsd end job-1')
    .action(async (id: string, flags: { readonly source?: string }) => {
      await withClient(daemonAddress(command, context), (client) => client.end(id, flags.source));
      if (commonOptions(command).json) printJson(context, { ended: id });
      else context.terminal.out(`${id} is completed\n`);
    });
  withJson(withDaemon(command));
}
