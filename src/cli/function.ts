/**
 * `sfsd function put | list | show | delete`: what the daemon can run by name.
 */
import { type Command, Option } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import type { FunctionBody } from '../contracts/http.js';
import { type PolicyName, policyNames } from '../contracts/invocation.js';
import { withClient } from './connect.js';
import { type CliContext, commonOptions, daemonAddress, printJson, withDaemon, withJson } from './context.js';
import { bytesText, parseBytes, parseCount, parseTimeMs, parseWithin, timeText } from './quantities.js';

interface PutFlags {
  readonly command: string;
  readonly arg?: readonly string[];
  readonly env?: readonly string[];
  readonly cwd?: string;
  readonly memory?: number;
  readonly pids?: number;
  readonly timeout?: number;
  readonly concurrency?: number;
  readonly outputMax?: number;
  readonly policy?: PolicyName;
  readonly uid?: number;
  readonly gid?: number;
  readonly sliceMax?: number;
  readonly weight?: number;
}

export function addFunctionCommand(program: Command, context: CliContext): void {
  const group = program.command('function').description('register, show and delete functions');
  addPut(group, context);
  addList(group, context);
  addShow(group, context);
  addDelete(group, context);
}

function addPut(group: Command, context: CliContext): void {
  const command = group
    .command('put')
    .argument('<name>', 'letters, digits, - _ .')
    .description('register a function, or replace it')
    .requiredOption('--command <command>', 'the program: a path, or a name in the function’s own PATH')
    .option('--arg <text>', 'one argument; may be repeated', collect)
    .option('--env <key=value>', 'one environment variable; may be repeated. Nothing is inherited', collect)
    .option('--cwd <path>', 'working directory (default: /)')
    .option('--memory <size>', 'limit of each running instance, for example 128MiB', parseBytes)
    .option('--pids <count>', 'most tasks of each running instance', parseCount)
    .option('--timeout <time>', 'killed after this, for example 30s; 0 is never', parseTimeMs)
    .option('--concurrency <count>', 'most instances at once', parseCount)
    .option('--output-max <size>', 'output beyond this is dropped', parseBytes)
    .option(
      '--uid <uid>',
      'its owner, and who it runs as (default: you); another one needs the role operate',
      parseCount,
    )
    .option('--gid <gid>', 'the group that it runs in; needed with another uid', parseCount)
    .addOption(
      new Option('--policy <policy>', 'cfs opts out of FILTER (default: the daemon’s)').choices(policyNames),
    )
    .option(
      '--weight <weight>',
      'of its invocations under policy gittins, 0.01 to 100 (default: 1)',
      parseWithin(0.01, 100),
    )
    .option(
      '--slice-max <time>',
      'most CPU time in FILTER for each invocation, for example 50ms',
      parseTimeMs,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd function put hello --command cat\n  sfsd function put shout --command python3 --arg -c --arg "print(input().upper())" --memory 128MiB --timeout 30s',
    )
    .action(async (name: string, flags: PutFlags) => {
      const body = definition(flags);
      const saved = await withClient(daemonAddress(command, context), (client) =>
        client.putFunction(name, body),
      );
      if (commonOptions(command).json) printJson(context, saved);
      else context.terminal.out(`registered ${saved.name}: ${commandLine(saved)}\n`);
    });
  withJson(withDaemon(command));
}

function addList(group: Command, context: CliContext): void {
  const command = group
    .command('list')
    .description('list registered functions')
    .action(async () => {
      const list = await withClient(daemonAddress(command, context), (client) => client.functions());
      if (commonOptions(command).json) printJson(context, list);
      else if (list.length === 0)
        context.terminal.out('no functions; register one with `sfsd function put`\n');
      else await printList(list, context);
    });
  withJson(withDaemon(command));
}

function addShow(group: Command, context: CliContext): void {
  const command = group
    .command('show')
    .argument('<name>')
    .description('show one function’s definition')
    .action(async (name: string) => {
      const { textTable } = await import('./text-table.js');
      const body = await withClient(daemonAddress(command, context), (client) => client.function(name));
      const { columns } = context.terminal.size();
      if (commonOptions(command).json) printJson(context, body);
      else context.terminal.out(textTable({ rows: facts(body), columns }));
    });
  withJson(withDaemon(command));
}

function addDelete(group: Command, context: CliContext): void {
  const command = group
    .command('delete')
    .argument('<name>')
    .description('forget a function; running instances finish')
    .action(async (name: string) => {
      await withClient(daemonAddress(command, context), (client) => client.deleteFunction(name));
      if (commonOptions(command).json) printJson(context, { deleted: name });
      else context.terminal.out(`deleted ${name}\n`);
    });
  withJson(withDaemon(command));
}

/** Only what was asked for: the daemon fills in its configured defaults. */
function definition(flags: PutFlags): Partial<FunctionBody> {
  const { command, cwd, memory, pids, timeout, concurrency, outputMax, policy, sliceMax, weight, uid, gid } =
    flags;
  return {
    command,
    args: flags.arg ?? [],
    env: environment(flags.env ?? []),
    ...(cwd === undefined ? {} : { workingDirectory: cwd }),
    ...(memory === undefined ? {} : { memoryMaxBytes: memory }),
    ...(pids === undefined ? {} : { pidsMax: pids }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(outputMax === undefined ? {} : { outputMaxBytes: outputMax }),
    ...(policy === undefined ? {} : { policy }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(sliceMax === undefined ? {} : { sliceMaxMs: sliceMax }),
    ...(weight === undefined ? {} : { weight }),
  };
}

function environment(assignments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    assignments.map((assignment) => {
      const at = assignment.indexOf('=');
      if (at < 1)
        throw new SfsdError('SFSD_ERR_USAGE', {
          reason: `--env takes KEY=VALUE, not ${JSON.stringify(assignment)}`,
        });
      return [assignment.slice(0, at), assignment.slice(at + 1)];
    }),
  );
}

async function printList(list: readonly FunctionBody[], context: CliContext): Promise<void> {
  const { textTable } = await import('./text-table.js');
  context.terminal.out(
    textTable({
      head: ['name', 'at once', 'timeout', 'memory', 'policy', 'command'],
      rows: list.map((body) => [
        body.name,
        String(body.concurrency),
        timeoutText(body),
        memoryText(body),
        body.policy ?? 'default',
        commandLine(body),
      ]),
      right: [1, 2, 3],
      columns: context.terminal.size().columns,
    }),
  );
}

function facts(body: FunctionBody): string[][] {
  const environmentRows = Object.entries(body.env).map(([key, value], index) => [
    index === 0 ? 'environment' : '',
    `${key}=${value}`,
  ]);
  return [
    ['name', body.name],
    ['command', commandLine(body)],
    ['directory', body.workingDirectory],
    ...environmentRows,
    ['memory', memoryText(body)],
    ['pids', body.pidsMax === undefined ? 'no limit' : String(body.pidsMax)],
    ['timeout', timeoutText(body)],
    ['concurrency', String(body.concurrency)],
    ['output', `at most ${bytesText(body.outputMaxBytes)}`],
    ['policy', body.policy ?? 'default'],
    ['runs as', body.uid === undefined ? 'who asks' : `uid ${body.uid}, gid ${body.gid}`],
    ...(body.weight === undefined ? [] : [['weight', String(body.weight)]]),
    ['slice', body.sliceMaxMs === undefined ? 'S' : `at most ${timeText(body.sliceMaxMs)}`],
  ];
}

function timeoutText(body: FunctionBody): string {
  return body.timeoutMs === 0 ? 'none' : timeText(body.timeoutMs);
}

function memoryText(body: FunctionBody): string {
  return body.memoryMaxBytes === undefined ? 'no limit' : bytesText(body.memoryMaxBytes);
}

/** Quoted where a shell would need it, so that it can be tried by hand. */
function commandLine(body: FunctionBody): string {
  return [body.command, ...body.args]
    .map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
