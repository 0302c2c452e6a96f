/**
 * `sfsd register`: hands a process that already runs to the scheduler, as a platform's hook does.
 */
import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { type PolicyName, policyNames } from '../contracts/invocation.js';
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
import { parseCount, parseTimeMs, parseWithin } from './quantities.js';

interface RegisterFlags {
  readonly pid: number;
  readonly function: string;
  readonly id?: string;
  readonly source?: string;
  readonly policy?: PolicyName;
  readonly sliceMax?: number;
  readonly weight?: number;
  readonly expected?: number;
}

export function addRegisterCommand(program: Command, context: CliContext): void {
  const command = program
    .command('register')
    .description('have a running process scheduled as an invocation; prints its id')
    .requiredOption('--pid <pid>', 'all of its threads, and children born later', parseCount)
    .requiredOption('--function <name>', 'what it is an invocation of')
    .option('--id <id>', 'unique with its source (default: one is made up)')
    .option('--source <source>', 'who tells of it (default: api)')
    .addOption(new Option('--policy <policy>', 'default: the daemon’s').choices(policyNames))
    .option('--slice-max <time>', 'most CPU time in FILTER, for example 50ms', parseTimeMs)
    .option('--weight <weight>', 'under policy gittins, 0.01 to 100 (default: 1)', parseWithin(0.01, 100))
    .option('--expected <time>', 'CPU time that it is expected to use, for policy gittins', parseTimeMs)
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd register --pid 4711 --function resize\n  sfsd register --pid $! --function resize --id job-1 && wait && sfsd why job-1',
    )
    .action(async (flags: RegisterFlags) => {
      const { pid, source, policy, sliceMax, weight, expected } = flags;
      const id = flags.id ?? `${pid}-${randomBytes(4).toString('hex')}`;
      const [answer] = await withClient(daemonAddress(command, context), (client) =>
        client.register([
          {
            id,
            functionName: flags.function,
            pid,
            ...(source === undefined ? {} : { source }),
            ...(policy === undefined ? {} : { policy }),
            ...(sliceMax === undefined ? {} : { sliceMaxMs: sliceMax }),
            ...(weight === undefined ? {} : { weight }),
            ...(expected === undefined ? {} : { expectedMs: expected }),
          },
        ]),
      );
      if (commonOptions(command).json) printJson(context, answer);
      if (answer !== undefined && 'code' in answer) {
        context.terminal.err(`${answer.code}: ${answer.message}\n`);
        context.exitWith(exitCodes.failed);
      } else if (!commonOptions(command).json) context.terminal.out(`${id}\n`);
    });
  withJson(withDaemon(command));
}
