/**
 * `sfsd config check` and `sfsd config show`: the configuration as the daemon would read it, without starting one. All faults at once.
 */
import type { Command } from 'commander';
import type { SfsdConfig } from '../contracts/config.js';
import { type CliContext, commonOptions, printJson, withJson } from './context.js';
import { overrides } from './start.js';

interface SetFlag {
  readonly set?: readonly string[];
}

export const installedConfigPath = '/etc/sfsd/sfsd.json';

export function addConfigCommand(program: Command, context: CliContext): void {
  const config = program.command('config').description('check a configuration, or show its effective values');
  const check = withSet(config.command('check'))
    .argument('[file]', 'configuration file (JSON)', installedConfigPath)
    .description('list every fault of a configuration; exit code 1 when there is one')
    .addHelpText(
      'after',
      `\nThe environment counts too, as for \`sfsd start\`. Examples:\n  sfsd config check\n  sfsd config check new.json && mv new.json ${installedConfigPath} && systemctl reload sfsd`,
    )
    .action(async (file: string, options: SetFlag) => {
      const values = await effective(context, { file, options });
      if (commonOptions(check).json) printJson(context, values);
      else context.terminal.out(`${file}: no fault\n`);
    });
  withJson(check);
  const show = withSet(config.command('show'))
    .argument('[file]', `configuration file (JSON); without it the defaults are shown`)
    .description('print every key with its effective value')
    .action(async (file: string | undefined, options: SetFlag) => {
      const values = await effective(context, { file, options });
      if (commonOptions(show).json) printJson(context, values);
      else context.terminal.out(linesOf(values));
    });
  withJson(show);
}

function withSet(command: Command): Command {
  return command.option(
    '--set <key=value>',
    'override one value; may be repeated',
    (value: string, before: readonly string[] = []) => [...before, value],
  );
}

async function effective(
  context: CliContext,
  { file, options }: { readonly file: string | undefined; readonly options: SetFlag },
): Promise<SfsdConfig> {
  const { loadConfig } = await import('../daemon/config/config.js');
  return loadConfig({
    ...(file === undefined ? {} : { path: file }),
    environment: context.terminal.environment,
    flags: overrides(options.set ?? []),
  });
}

function linesOf(values: SfsdConfig): string {
  const lines = Object.entries(values).flatMap(([section, keys]) =>
    Object.entries(keys as Readonly<Record<string, unknown>>).map(
      ([name, value]) => `${section}.${name} = ${JSON.stringify(value)}\n`,
    ),
  );
  return lines.join('');
}
