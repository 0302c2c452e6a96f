/** `sfsd install` and `sfsd uninstall`: the service files of this package, put on a host and taken away. */
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { type CliContext, commonOptions, printJson, withJson } from './context.js';
import type { StepReport } from './install/host-steps.js';
import type { FileReport } from './install/installer.js';

interface RootFlag {
  readonly root: string;
}

export function addInstallCommands(program: Command, context: CliContext): void {
  const prefix = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, '');
  const install = program
    .command('install')
    .description('put units, configuration, man page and the entries for user and folders in place')
    .option('--root <dir>', 'the host’s root folder, of an image for example', '/')
    .addHelpText(
      'after',
      '\nA changed configuration is never overwritten. Examples:\n  sfsd install && systemctl enable --now sfsd\n  sfsd install --root /mnt/image --json',
    )
    .action(async ({ root }: RootFlag) => {
      const { install: put } = await import('./install/installer.js');
      const { afterInstall } = await import('./install/host-steps.js');
      const files = put({ root, prefix, node: process.execPath, version: context.version });
      print(install, context, { files, steps: afterInstall(root), next: 'systemctl enable --now sfsd' });
    });
  withJson(install);
  const uninstall = program
    .command('uninstall')
    .description('stop the service and remove what `sfsd install` has put in place')
    .option('--root <dir>', 'the host’s root folder, of an image for example', '/')
    .addHelpText('after', '\nWhat was changed since, the configuration for example, is kept and named.')
    .action(async ({ root }: RootFlag) => {
      const { uninstall: take } = await import('./install/installer.js');
      const { afterUninstall, beforeUninstall } = await import('./install/host-steps.js');
      const before = beforeUninstall(root);
      const files = take(root);
      print(uninstall, context, { files, steps: [...before, ...afterUninstall(root)] });
    });
  withJson(uninstall);
}

interface Report {
  readonly files: readonly FileReport[];
  readonly steps: readonly StepReport[];
  readonly next?: string;
}

function print(command: Command, context: CliContext, report: Report): void {
  if (commonOptions(command).json) {
    printJson(context, { files: report.files, steps: report.steps });
    return;
  }
  const line = (outcome: string, subject: string, reason: string | undefined) =>
    context.terminal.out(`${outcome.padEnd(9)}  ${subject}${reason === undefined ? '' : ` (${reason})`}\n`);
  for (const { path, outcome, reason } of report.files) line(outcome, path, reason);
  for (const { command: words, outcome, reason } of report.steps) line(outcome, words, reason);
  if (report.files.length === 0) context.terminal.out('Nothing was installed by `sfsd install` here.\n');
  else if (report.next !== undefined) context.terminal.out(`Start it: ${report.next}\n`);
}
