/**
 * Real children for tests on the real kernel: Python programs, bounded in time from outside by timeout(1), driven line by line.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import type { Test } from 'tap';
import type { TaskGroup } from '../../src/contracts/task-group.js';

const secondsMax = '30';

/** The interpreter itself: a version manager's wrapper would put a shell in between. */
export const interpreter = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim();

export interface Child {
  readonly pid: number;
  readonly startTime: string;
  readonly group: Extract<TaskGroup, { kind: 'process' }>;
  /** Sends one line, and resolves with the line that comes back. */
  ask(line?: string): Promise<string>;
  /** Sends one line that has no answer. */
  tell(line?: string): void;
  /** The next line that comes, unasked. */
  next(): Promise<string>;
  kill(signal?: NodeJS.Signals): void;
  /** Resolves once it has been reaped. */
  readonly ended: Promise<void>;
}

/**
 * Runs Python code that sees `say(text)`, `hear()` (the next line from us; ends the program when we are gone), os, sys, threading,
 * time, ctypes, and spin (seconds of the calling thread's own CPU time). Resolves once it runs. The children that it forks die with its input, if they `hear`, or in time.
 */
export async function startPython(t: Test, code: string): Promise<Child> {
  const prelude = `
import os, sys, threading, time, ctypes, signal
def say(*text): os.write(1, (' '.join(map(str, text)) + '\\n').encode())
def hear():
    line = sys.stdin.readline()
    if line == '': os._exit(0)
    return line.strip()
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
say(os.getpid())
`;
  const wrapper = spawn('timeout', ['-s', 'KILL', secondsMax, interpreter, '-S', '-c', prelude + code], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: wrapper.stdout });
  const answers = new Answers(lines);
  const pid = Number(await answers.next());
  const startTime = startTimeOf(pid);
  const ended = new Promise<void>((resolve) => wrapper.on('close', () => resolve()));
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => killQuietly(pid, signal);
  t.teardown(async () => {
    kill();
    wrapper.stdin.destroy();
    wrapper.stdout.destroy();
    await exited(wrapper);
  });
  return {
    pid,
    startTime,
    group: { kind: 'process', pid, startTime },
    ask(line = 'go') {
      wrapper.stdin.write(`${line}\n`);
      return answers.next();
    },
    tell(line = 'go') {
      wrapper.stdin.write(`${line}\n`);
    },
    next: () => answers.next(),
    kill,
    ended,
  };
}

/** Field 22, by the simplest means: the tests' own reading of it. */
export function startTimeOf(pid: number): string {
  return statFields(`/proc/${pid}/stat`)[19] ?? '';
}

/** R, S, D, Z, ... */
export function stateOf(pid: number): string {
  return statFields(`/proc/${pid}/stat`)[0] ?? '';
}

function statFields(file: string): string[] {
  const text = readFileSync(file, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Waits for something that another process is about to do. */
export async function until(fact: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!fact()) {
    if (Date.now() > deadline) throw new Error(`not within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export const skipUnlessRoot =
  process.getuid?.() === 0 ? false : 'needs root: real-time priorities, cgroups and ns_last_pid';

function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.on('exit', () => resolve()));
}

function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {} // Gone already.
}

/** Lines in order, waited for one at a time. */
class Answers {
  readonly #lines: string[] = [];
  #waiting: ((line: string) => void) | undefined;

  constructor(input: Interface) {
    input.on('line', (line) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting === undefined) this.#lines.push(line);
      else waiting(line);
    });
  }

  next(): Promise<string> {
    const line = this.#lines.shift();
    if (line !== undefined) return Promise.resolve(line);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
