/**
 * `sfsd invoke NAME`: runs a registered function once. Its standard output is ours, byte for byte; when it fails, its standard
 * error is ours too and the exit code is 1.
 */
import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { ResultBody } from '../contracts/http.js';
import { type PolicyName, policyNames } from '../contracts/invocation.js';
import type { SfsdClient } from './client.js';
import { withClient } from './connect.js';
import {
  type CliContext,
  commonOptions,
  daemonAddress,
  exitCodes,
  printJson,
  withDaemon,
  withJson,
} from './context.js';
import { bytesText, parseTimeMs, timeText } from './quantities.js';

interface InvokeFlags {
  readonly data?: string;
  readonly file?: string;
  readonly async?: boolean;
  readonly policy?: PolicyName;
  readonly detail?: boolean;
  readonly expected?: number;
  readonly id?: string;
}

export function addInvokeCommand(program: Command, context: CliContext): void {
  const command = program
    .command('invoke')
    .argument('<name>', 'a registered function')
    .description(
      'run a function: its body from --data, --file or standard input, its result on standard output',
    )
    .addOption(new Option('--data <text>', 'the body, as text').conflicts('file'))
    .option('--file <path>', 'the body, from a file; - is standard input')
    .addOption(new Option('--async', 'do not wait: print the id at once').conflicts('detail'))
    .addOption(new Option('--policy <policy>', 'this run’s policy').choices(policyNames))
    .option('--expected <time>', 'CPU time that it is expected to use, for policy gittins', parseTimeMs)
    .option('--detail', 'also print times, switches and memory (on standard error)')
    .option('--id <id>', 'the invocation’s id (default: one is made up)')
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd invoke hello --data world\n  cat page.html | sfsd invoke shorten > short.html\n  sfsd why "$(sfsd invoke hello --async)"',
    )
    .action(async (name: string, flags: InvokeFlags) => {
      const body = await readBody(flags, context);
      await withClient(daemonAddress(command, context), (client) =>
        invoke({ client, name, flags, body, json: commonOptions(command).json === true }, context),
      );
    });
  withJson(withDaemon(command));
}

interface Invoke {
  readonly client: SfsdClient;
  readonly name: string;
  readonly flags: InvokeFlags;
  readonly body: Uint8Array;
  readonly json: boolean;
}

async function invoke(request: Invoke, context: CliContext): Promise<void> {
  const { client, name, flags, json } = request;
  const options = { body: request.body, id: flags.id, policy: flags.policy, expectedMs: flags.expected };
  if (flags.async === true) {
    const accepted = await client.invokeAsync(name, options);
    if (json) printJson(context, accepted);
    else context.terminal.out(`${accepted.id}\n`);
    return;
  }
  try {
    if (json || flags.detail === true) printResult(await client.invokeDetailed(name, options), json, context);
    else context.terminal.out(await client.invoke(name, options));
  } catch (thrown) {
    const stderr = (thrown as { stderr?: unknown } | undefined)?.stderr;
    if (typeof stderr === 'string' && stderr !== '') context.terminal.err(withNewline(stderr));
    throw thrown;
  }
}

function printResult(result: ResultBody, json: boolean, context: CliContext): void {
  const { terminal } = context;
  if (json) printJson(context, result);
  else {
    terminal.out(Buffer.from(result.stdoutBase64, 'base64'));
    const stderr = Buffer.from(result.stderrBase64, 'base64').toString('utf8');
    if (stderr !== '') terminal.err(withNewline(stderr));
    terminal.err(`${detailLines(result).join('\n')}\n`);
  }
  if (result.exit !== 'exited 0') context.exitWith(exitCodes.failed);
}

function detailLines(result: ResultBody): string[] {
  const { voluntarySwitches, involuntarySwitches } = result;
  return [
    `id          ${result.id}`,
    `exit        ${result.exit}${result.truncated ? ' (output truncated)' : ''}`,
    `turnaround  ${timeText(result.turnaroundMs)}, program started after ${timeText(result.startedAtMs - result.arrivedAtMs)}`,
    `CPU         ${timeText(result.cpuMs)}`,
    `switches    ${voluntarySwitches} voluntary, ${involuntarySwitches} involuntary`,
    `memory      ${bytesText(result.rssMaxBytes)} at most`,
    `decisions   ${result.decisions.map((decision) => decision.kind).join(', ') || 'none'}`,
  ];
}

async function readBody(flags: InvokeFlags, context: CliContext): Promise<Uint8Array> {
  if (flags.data !== undefined) return Buffer.from(flags.data, 'utf8');
  if (flags.file === undefined || flags.file === '-')
    return (await context.terminal.readInput()) ?? new Uint8Array(0);
  try {
    return await readFile(flags.file);
  } catch (thrown) {
    throw new SfsdError('SFSD_ERR_FILE', { file: flags.file, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
