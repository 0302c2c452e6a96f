/**
 * `sfsd why ID`: the life of one invocation, told from the decisions that the scheduling plane recorded.
 */
import type { Command } from 'commander';
import type { ExplanationBody } from '../contracts/http.js';
import { withClient } from './connect.js';
import { type CliContext, commonOptions, daemonAddress, printJson, withDaemon, withJson } from './context.js';
import { lifeStory, verdict } from './life-story.js';
import { timeText } from './quantities.js';
import { paint } from './terminal.js';

export function addWhyCommand(program: Command, context: CliContext): void {
  const command = program
    .command('why')
    .argument('<id>', 'the invocation’s id')
    .description('tell what was decided about an invocation, and why')
    .option('--source <source>', 'who registered it: api (default), function, or a hook’s name')
    .addHelpText('after', '\nExamples:\n  sfsd why 7f3a\n  sfsd why req-81 --source openfaas --json')
    .action(async (id: string, options: { readonly source?: string }) => {
      const body = await withClient(daemonAddress(command, context), (client) =>
        client.explain(id, options.source),
      );
      if (commonOptions(command).json) printJson(context, body);
      else printStory(context, body);
    });
  withJson(withDaemon(command));
}

function printStory(context: CliContext, body: ExplanationBody): void {
  const { terminal } = context;
  const { columns } = terminal.size();
  const name = `${body.functionName}, invocation ${body.source}/${body.id}`;
  terminal.out(`${paint(terminal, 'bold', name)} (${body.state})\n\n`);
  const story = lifeStory(body);
  const times = story.map((sentence) => timeText(sentence.afterMs));
  const width = Math.max(0, ...times.map((time) => time.length));
  story.forEach((sentence, index) => {
    const time = (times[index] ?? '').padStart(width);
    const lines = wrap(sentence.text, Math.max(20, columns - width - 4));
    lines.forEach((line, at) => {
      terminal.out(`  ${at === 0 ? paint(terminal, 'dim', time) : ' '.repeat(width)}  ${line}\n`);
    });
  });
  if (body.incomplete)
    terminal.out('\nSome decisions are missing: the log overflowed, or this invocation had too many.\n');
  terminal.out(`\n${wrap(`Verdict: ${verdict(body)}`, columns).join('\n')}\n`);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
