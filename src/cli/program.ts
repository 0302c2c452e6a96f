/**
 * Command line to exit code: 0 done, 1 failed or broken, 2 bad usage. Every failure ends as `code: message` on standard error,
 * with what to do next where the message does not say it.
 *
 * A subcommand's file holds its options and help; what its action needs beyond that is imported when it runs, so that
 * `sfsd status` loads neither the daemon nor the replay.
 */
import { Command, CommanderError } from 'commander';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import { addConfigCommand } from './config.js';
import { type CliContext, type ExitCode, exitCodes, withDaemon, withJson } from './context.js';
import { addDoctorCommand } from './doctor.js';
import { addEndCommand } from './end.js';
import { addFunctionCommand } from './function.js';
import { addInstallCommands } from './install.js';
import { addInvokeCommand } from './invoke.js';
import { addPaperCommand } from './paper.js';
import { addRegisterCommand } from './register.js';
import { addReplayCommand } from './replay.js';
import { addReportCommand } from './report.js';
import { addSimulateCommand } from './simulate.js';
import { addStartCommand } from './start.js';
import { addStatusCommand } from './status.js';
import { paint, type Terminal } from './terminal.js';
import { addTopCommand } from './top.js';
import { addTraceCommand } from './trace.js';
import { addUnmanageCommand } from './unmanage.js';
import { packageVersion } from './version.js';
import { addWhyCommand } from './why.js';

/** What to do about codes whose message only says what happened. */
const nextSteps: Readonly<Record<string, string>> = {
  SFSD_ERR_FUNCTION_UNKNOWN:
    '`sfsd function list` shows what is registered, `sfsd function put` registers one.',
  SFSD_ERR_FUNCTION_BUSY: 'Retry later, or raise its limit with `sfsd function put --concurrency`.',
  SFSD_ERR_FUNCTIONS_FULL: '`sfsd function list` shows them, `sfsd function delete` removes one.',
  SFSD_ERR_INVOCATION_UNKNOWN: 'Check the id, and name its source with --source when it is not `api`.',
  SFSD_ERR_INVOCATION_DUPLICATE: 'Choose another id, or leave it out to get one.',
  SFSD_ERR_QUEUE_FULL: '`sfsd top` shows what is running.',
  SFSD_ERR_STOPPING: 'Retry once it has been started again.',
  SFSD_ERR_UNAUTHENTICATED: 'Check that --token-file holds a token of the daemon’s tcp.tokenFile.',
  SFSD_ERR_FORBIDDEN:
    'Ask an operator for a role: access.rules of the daemon’s configuration, or the token’s role (docs/access.md).',
  SFSD_ERR_RATE_LIMITED: 'Send less, or in lists; an operator can raise access.requestsPerSecond.',
  SFSD_ERR_PERMISSION: '`sfsd doctor` shows what is missing on this host.',
};

export async function runCli(argv: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const context: CliContext = {
    terminal,
    version: packageVersion(),
    exitWith: (code) => {
      exitCode = code;
    },
  };
  const program = buildProgram(context);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return thrown instanceof CommanderError
      ? reportUsage(thrown, { terminal, command: commandPath(program, argv) })
      : reportFailure(thrown, terminal);
  }
}

function buildProgram(context: CliContext): Command {
  const { terminal } = context;
  const program = new Command('sfsd')
    .description('Runs short serverless functions first, and lets long ones share what is left.')
    .version(context.version, '-V, --version', 'print the version')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHelpWidth: () => terminal.size().columns,
      getErrHelpWidth: () => terminal.size().columns,
      getOutHasColors: () => terminal.colors,
      getErrHasColors: () => false,
      // Reported with its code by reportFailure.
      outputError: () => undefined,
    })
    .showHelpAfterError(false);
  withJson(withDaemon(program));
  addStartCommand(program, context);
  addStatusCommand(program, context);
  addTopCommand(program, context);
  addWhyCommand(program, context);
  addInvokeCommand(program, context);
  addFunctionCommand(program, context);
  addRegisterCommand(program, context);
  addEndCommand(program, context);
  addUnmanageCommand(program, context);
  addReplayCommand(program, context);
  addSimulateCommand(program, context);
  addPaperCommand(program, context);
  addTraceCommand(program, context);
  addReportCommand(program, context);
  addDoctorCommand(program, context);
  addConfigCommand(program, context);
  addInstallCommands(program, context);
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed or broken, 2 bad usage. `sfsd COMMAND --help` shows examples.',
  );
  return program;
}

function reportFailure(thrown: unknown, terminal: Terminal): ExitCode {
  const code = (thrown as { code?: unknown } | undefined)?.code;
  const coded = typeof code === 'string' && code.startsWith('SFSD_ERR_');
  const error = coded
    ? (thrown as Error)
    : new SfsdError('SFSD_ERR_INTERNAL', { reason: reasonOf(thrown) }, { cause: thrown });
  const shown = coded ? code : 'SFSD_ERR_INTERNAL';
  terminal.err(`${paint(terminal, 'red', shown)}: ${error.message}\n`);
  const next = nextSteps[shown];
  if (next !== undefined) terminal.err(`${next}\n`);
  if (!coded && terminal.environment.SFSD_DEBUG !== undefined && thrown instanceof Error)
    terminal.err(`${thrown.stack}\n`);
  return shown === 'SFSD_ERR_USAGE' ? exitCodes.usage : exitCodes.failed;
}

/** commander throws for `--help` and `--version` too, with exit code 0. */
function reportUsage(
  thrown: CommanderError,
  { terminal, command }: { readonly terminal: Terminal; readonly command: string },
): ExitCode {
  if (thrown.exitCode === 0) return exitCodes.ok;
  if (thrown.code === 'commander.help') return exitCodes.usage;
  const reason = thrown.message
    .replace(/^error: /, '')
    .replace(/\n(\(Did you mean .*\))$/, ' $1')
    .replace(/\.$/, '');
  terminal.err(`${paint(terminal, 'red', 'SFSD_ERR_USAGE')}: ${reason}.\nSee \`${command} --help\`.\n`);
  return exitCodes.usage;
}

/** `sfsd function put`, as far as the words name commands. */
function commandPath(program: Command, argv: readonly string[]): string {
  let path = program.name();
  let command: Command | undefined = program;
  for (const word of argv) {
    command = command.commands.find((one) => one.name() === word);
    if (command === undefined) break;
    path += ` ${word}`;
  }
  return path;
}
