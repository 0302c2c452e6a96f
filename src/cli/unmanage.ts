/**
 * `sfsd unmanage ID`: the scheduler lets go of an invocation. Its process is demoted and lives on; a run that the daemon
 * launched itself is cancelled.
 */
import type { Command } from 'commander';
import { withClient } from './connect.js';
import { type CliContext, commonOptions, daemonAddress, printJson, withDaemon, withJson } from './context.js';

export function addUnmanageCommand(program: Command, context: CliContext): void {
  const command = program
    .command('unmanage')
    .argument('<id>', 'the invocation’s id')
    .description('stop scheduling an invocation: its process is demoted and lives on')
    .option('--source <source>', 'who registered it (default: api)')
    .addHelpText('after', '\nExample:\n  sfsd unmanage job-1 --source openfaas')
    .action(async (id: string, flags: { readonly source?: string }) => {
      await withClient(daemonAddress(command, context), (client) => client.unmanage(id, flags.source));
      if (commonOptions(command).json) printJson(context, { unmanaged: id });
      else context.terminal.out(`${id} is no longer managed\n`);
    });
  withJson(withDaemon(command));
}
