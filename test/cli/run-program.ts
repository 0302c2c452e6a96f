/**
 * Runs bin/sfsd as a user does, with a bound on its time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const program = join(import.meta.dirname, '../../../bin/sfsd');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves once standard error has held the text. */
  said(text: string): Promise<void>;
}

export function startProgram(
  argv: readonly string[],
  options: { readonly limitMs: number; readonly environment?: NodeJS.ProcessEnv },
): Running {
  const child = spawn(program, argv, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', ...options.environment },
    timeout: options.limitMs,
    killSignal: 'SIGKILL',
  });
  let out = '';
  let err = '';
  const waiting: { readonly text: string; readonly resolve: () => void }[] = [];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
    for (const { text, resolve } of waiting) if (err.includes(text)) resolve();
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  const said = (text: string): Promise<void> =>
    Promise.race([
      new Promise<void>((resolve) => {
        waiting.push({ text, resolve });
        if (err.includes(text)) resolve();
      }),
      ended.then(({ err: all }) => {
        if (!all.includes(text)) throw new Error(`it ended without saying ${text}:\n${all}`);
      }),
    ]);
  return { child, ended, said };
}
