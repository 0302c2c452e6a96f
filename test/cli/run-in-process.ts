/**
 * Runs a command line in this process on a terminal that only remembers.
 */
import { runCli } from '../../src/cli/program.js';
import type { Terminal } from '../../src/cli/terminal.js';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly colors?: boolean;
  readonly stdin?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const out: Buffer[] = [];
  let err = '';
  const terminal: Terminal = {
    environment: options.environment ?? {},
    interactive: false,
    colors: options.colors ?? false,
    size: () => ({ columns: options.columns ?? 80, rows: options.rows ?? 24 }),
    out: (content) => void out.push(Buffer.from(content)),
    err: (text) => {
      err += text;
    },
    readInput: async () => (options.stdin === undefined ? undefined : Buffer.from(options.stdin)),
  };
  const code = await runCli(argv, terminal);
  return { code, out: Buffer.concat(out).toString('utf8'), err };
}
