/**
 * What every subcommand is given, and the options that all of them share.
 *
 * An option is looked up in this order: the subcommand's own flag, the same flag before the subcommand, the environment, the
 * default. Global flags are declared on both levels instead of letting commander collect them anywhere: a `--json` that is the
 * value of `function put --arg` must stay a value.
 */
import type { Command } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import type { DaemonAddress } from './connect.js';
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
  readonly url?: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

export function withSocket(command: Command): Command {
  return command.option(
    '--socket <path>',
    'the daemon’s socket (default: $SFSD_SOCKET, or /run/sfsd/sfsd.sock)',
  );
}

/** For commands that talk to a daemon, which may be reached over TCP instead. */
export function withDaemon(command: Command): Command {
  return withSocket(command)
    .option('--url <url>', 'the daemon over TCP, for example http://127.0.0.1:7373 (default: $SFSD_URL)')
    .option('--token-file <path>', 'a file that holds the token for it alone (default: $SFSD_TOKEN_FILE)');
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON for scripts');
}

export function commonOptions(command: Command): CommonOptions {
  const chain: CommonOptions[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) chain.push(at.opts<CommonOptions>());
  const socket = chain.find((options) => options.socket !== undefined)?.socket;
  const url = chain.find((options) => options.url !== undefined)?.url;
  const tokenFile = chain.find((options) => options.tokenFile !== undefined)?.tokenFile;
  return {
    ...(socket === undefined ? {} : { socket }),
    ...(url === undefined ? {} : { url }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
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

/** A socket that is named by flag comes before a URL of the environment. */
export function daemonAddress(command: Command, context: CliContext): DaemonAddress {
  const { environment } = context.terminal;
  const { socket, url: flag, tokenFile = environment.SFSD_TOKEN_FILE } = commonOptions(command);
  const url = flag ?? (socket === undefined ? environment.SFSD_URL : undefined);
  if (url === undefined || url === '') return socketPath(command, context);
  if (!/^https?:\/\/[^/]+\/?$/.test(url))
    throw new SfsdError('SFSD_ERR_USAGE', { reason: `--url takes http://HOST:PORT, not ${url}` });
  if (tokenFile === undefined || tokenFile === '')
    throw new SfsdError('SFSD_ERR_USAGE', { reason: `${url} needs a token: give --token-file` });
  return { url, tokenFile };
}

export function printJson(context: CliContext, value: unknown): void {
  context.terminal.out(`${JSON.stringify(value, null, 2)}\n`);
}
