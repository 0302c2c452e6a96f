/**
 * `sfsd start`: the daemon in the foreground. Here flags become dotted configuration overrides; everything else, signals
 * included, is the daemon's own.
 */
import type { Command } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import { type CliContext, namedSocket, withSocket } from './context.js';

interface StartFlags {
  readonly config?: string;
  readonly set?: readonly string[];
}

export function addStartCommand(program: Command, context: CliContext): void {
  const command = program
    .command('start')
    .description('run the daemon in the foreground, until SIGTERM or SIGINT')
    .option('--config <file>', 'configuration file (JSON)')
    .option('--set <key=value>', 'override one configuration value; may be repeated', collect)
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd start\n  sfsd start --config /etc/sfsd/sfsd.json --set scheduler.workers=1\n  sfsd start --socket /tmp/sfsd.sock --set log.level=debug',
    )
    .action(async (options: StartFlags) => {
      const flags = overrides(options.set ?? []);
      const socket = namedSocket(command, context);
      if (socket !== undefined) flags['socket.path'] = socket;
      const { runDaemon } = await import('../daemon/run.js');
      const configPath = options.config === undefined ? {} : { configPath: options.config };
      context.exitWith(await runDaemon({ ...configPath, flags, environment: context.terminal.environment }));
    });
  withSocket(command);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** `scheduler.workers=2` is the number, `log.level=debug` the text: what reads as JSON is JSON. */
export function overrides(assignments: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    assignments.map((assignment) => {
      const [, key, text] = /^([a-zA-Z][\w.]*)=(.*)$/s.exec(assignment) ?? [];
      if (key === undefined || text === undefined)
        throw new SfsdError('SFSD_ERR_USAGE', {
          reason: `--set takes key=value, for example scheduler.workers=2, not ${JSON.stringify(assignment)}`,
        });
      return [key, settingOf(text)];
    }),
  );
}

function settingOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
