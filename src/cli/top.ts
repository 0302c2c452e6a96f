/**
 * `sfsd top`: the daemon, live. One status request per interval; rates are differences between two of them. Where there is no
 * terminal, or with --once, the same lines are printed once.
 */
import type { Command } from 'commander';
import { SfsdError } from '../contracts/errors.js';
import type { StatusBody } from '../contracts/http.js';
import type { SfsdClient } from './client.js';
import { withClient } from './connect.js';
import { type CliContext, commonOptions, daemonAddress, printJson, withDaemon, withJson } from './context.js';
import { parsePositive } from './quantities.js';

/** Below this the view costs the host more than it shows. */
const intervalMinMs = 50;

export function addTopCommand(program: Command, context: CliContext): void {
  const command = program
    .command('top')
    .description(
      'watch S, the queue, FILTER workers, what functions use, rates, the budget and the daemon’s own CPU time',
    )
    .option('--interval <ms>', 'between two looks, in milliseconds', parseInterval, 1000)
    .option('--once', 'print one view and end')
    .addHelpText('after', '\nq quits.\n\nExamples:\n  sfsd top\n  sfsd top --interval 250\n  sfsd top --once')
    .action(async (options: { readonly interval: number; readonly once?: boolean }) => {
      const json = commonOptions(command).json === true;
      const once = options.once === true || json || !context.terminal.interactive;
      await withClient(daemonAddress(command, context), (client) =>
        once
          ? printOnce({ client, intervalMs: options.interval, json }, context)
          : watch(client, options.interval),
      );
    });
  withJson(withDaemon(command));
}

function parseInterval(text: string): number {
  const intervalMs = parsePositive(text);
  if (intervalMs < intervalMinMs)
    throw new SfsdError('SFSD_ERR_USAGE', { reason: `--interval is at least ${intervalMinMs}` });
  return intervalMs;
}

async function printOnce(
  look: { readonly client: SfsdClient; readonly intervalMs: number; readonly json: boolean },
  context: CliContext,
): Promise<void> {
  const { ratesBetween, topLines } = await import('./top/view.js');
  const before = await look.client.status();
  await sleep(look.intervalMs);
  const now = await look.client.status();
  if (look.json) printJson(context, { status: now, rates: ratesBetween(before, now) });
  else {
    const { columns } = context.terminal.size();
    const lines = topLines({ now, before, columns, rows: Number.POSITIVE_INFINITY });
    context.terminal.out(`${lines.join('\n')}\n`);
  }
}

/** Until `q`, a signal, or the loss of the terminal. A daemon that stops answering is shown as such and waited for. */
async function watch(client: SfsdClient, intervalMs: number): Promise<void> {
  const { Screen } = await import('./top/screen.js');
  const { topLines } = await import('./top/view.js');
  let now = await client.status();
  let before: StatusBody | undefined;
  let trouble: string | undefined;
  const screen = new Screen(({ columns, rows }) => topLines({ now, before, columns, rows, trouble }));
  screen.open();
  try {
    while (await screen.wait(intervalMs)) {
      try {
        const next = await client.status();
        // A restarted daemon counts from zero: its first view has no rates.
        before = next.pid === now.pid ? now : undefined;
        now = next;
        trouble = undefined;
      } catch (thrown) {
        if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
        trouble = thrown.message;
      }
      screen.draw();
    }
  } finally {
    screen.close();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
