/**
 * What a command knows of the terminal it was started from. Commands write through this, so that a test can read what they
 * said; only `top` and the progress bar also touch the real terminal.
 */

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** Standard output is a terminal. */
  readonly interactive: boolean;
  readonly colors: boolean;
  size(): TerminalSize;
  out(content: string | Uint8Array): void;
  err(text: string): void;
  /** All of standard input; undefined when it is a terminal, where nobody meant to type a body. */
  readInput(): Promise<Uint8Array | undefined>;
}

/** Width where none is known: what a log viewer or a mail shows without wrapping. */
export const defaultSize: TerminalSize = { columns: 100, rows: 24 };

export function processTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process;
  // A reader that went away (`| head`) is no fault of ours and nobody is left to tell.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  return {
    environment: env,
    interactive: stdout.isTTY === true,
    colors: stdout.isTTY === true && colorsWanted(env),
    size: () => ({
      columns: stdout.columns ?? (Number(env.COLUMNS) || defaultSize.columns),
      rows: stdout.rows ?? (Number(env.LINES) || defaultSize.rows),
    }),
    out: (content) => void stdout.write(content),
    err: (text) => void stderr.write(text),
    readInput: async () => {
      if (stdin.isTTY) return undefined;
      const chunks: Buffer[] = [];
      for await (const chunk of stdin) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  };
}

/** https://no-color.org: any value but the empty one turns colors off. */
export function colorsWanted(environment: NodeJS.ProcessEnv): boolean {
  return (environment.NO_COLOR ?? '') === '' && environment.TERM !== 'dumb';
}

export type Color = 'red' | 'yellow' | 'green' | 'dim' | 'bold';

const colorCodes: Readonly<Record<Color, number>> = { red: 31, yellow: 33, green: 32, dim: 2, bold: 1 };

export function paint(terminal: Pick<Terminal, 'colors'>, color: Color, text: string): string {
  return terminal.colors ? `\u001b[${colorCodes[color]}m${text}\u001b[0m` : text;
}
