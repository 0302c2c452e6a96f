/**
 * `sfsd doctor`: what this host allows, one line for each fact that the daemon depends on.
 *
 *   ok         as it should be
 *   degraded   it works all the same, and the line says what we do instead
 *   broken     it does not work, and the line says what to do; exit code 1
 */
import type { Command } from 'commander';
import {
  type CliContext,
  commonOptions,
  exitCodes,
  namedSocket,
  printJson,
  withJson,
  withSocket,
} from './context.js';
import type { Finding, FindingState } from './doctor/finding.js';
import { type Color, paint } from './terminal.js';

const stateColors: Readonly<Record<FindingState, Color>> = { ok: 'green', degraded: 'yellow', broken: 'red' };

export function addDoctorCommand(program: Command, context: CliContext): void {
  const command = program
    .command('doctor')
    .description('check what this host allows the daemon to do')
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd doctor\n  sfsd doctor --json | jq \'.[] | select(.state != "ok")\'',
    )
    .action(async () => {
      const { examine } = await import('./doctor/examine.js');
      const findings = await examine({ socket: namedSocket(command, context) });
      if (commonOptions(command).json) printJson(context, findings);
      else printFindings(findings, context);
      if (findings.some((finding) => finding.state === 'broken')) context.exitWith(exitCodes.failed);
    });
  withJson(withSocket(command));
}

function printFindings(findings: readonly Finding[], context: CliContext): void {
  const { terminal } = context;
  const width = Math.max(...findings.map((finding) => finding.subject.length));
  for (const { state, subject, fact, advice } of findings) {
    terminal.out(
      `${paint(terminal, stateColors[state], state.padEnd(8))}  ${subject.padEnd(width)}  ${fact}\n`,
    );
    if (advice !== undefined) terminal.out(`${' '.repeat(width + 12)}${advice}\n`);
  }
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length;
  terminal.out(`\n${count('ok')} ok, ${count('degraded')} degraded, ${count('broken')} broken\n`);
}
