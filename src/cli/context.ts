/**
 * What every subcommand is given, and the options that all of them share.
 *
 * An option is looked up in this order: the subcommand's own flag, the same flag before the subcommand, the environment, the
 * default. Global flags are declared on both levels instead of letting commander collect them anywhere: a `--json` that is the
 * value of `function put --arg` must stay a value.
 */
import type { Command } from 'commander';
import type { Terminal } from './terminal.js';

/** A command that ran and whose answer is no, or whose subject is broken: 1. Bad usage: 2. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const defaultSocketPath = '/run/sfsd/sfsd.sock';

export interface CliContext {
  readonly terminal: Terminal;
  readonly version: string;
  /** Sets how the process ends; a thrown error sets it too. */
  exitWith(code: number): void;
}

export interface CommonOptions {
  readonly socket?: string;
  readonly json?: boolean;
}

export function withSocket(command: Command): Command {
  return command.option(
    '--socket <path>',
    'the daemon’s socket (default: $SFSD_SOCKET, or /run/sfsd/sfsd.sock)',
  );
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON for scripts');
}

export function commonOptions(command: Command): CommonOptions {
  const chain: CommonOptions[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) chain.push(at.opts<CommonOptions>());
  const socket = chain.find((options) => options.socket !== undefined)?.socket;
  return {
    ...(socket === undefined ? {} : { socket }),
    json: chain.some((options) => options.json === true),
  };
}

/** The socket that was asked for by flag or environment; undefined when neither names one. */
export function namedSocket(command: Command, context: CliContext): string | undefined {
  return commonOptions(command).socket ?? (context.terminal.environment.SFSD_SOCKET || undefined);
}

export function socketPath(command: Command, context: CliContext): string {
  return namedSocket(command, context) ?? defaultSocketPath;
}

export function printJson(context: CliContext, value: unknown): void {
  context.terminal.out(`${JSON.stringify(value, null, 2)}\n`);
}
