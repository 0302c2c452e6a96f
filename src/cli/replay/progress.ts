/**
 * How far a replay is: a bar on a terminal, a line every ten seconds elsewhere. Both on standard error, so that the table (or
 * `--json`) stays alone on standard output.
 */
import { SingleBar } from 'cli-progress';
import type { ReplayProgress } from '../../trace/replay/replay.js';
import { timeText } from '../quantities.js';
import { colorsWanted } from '../terminal.js';

const lineEveryMs = 10_000;

export interface Progress {
  /** A step by its name; ends the bar of the one before. */
  step(text: string): void;
  replay(progress: ReplayProgress): void;
  stop(): void;
}

/** What is left of a run: the rest of its arrivals, or for the answers after the last one, unknown. */
export function remainingText(progress: ReplayProgress): string {
  const leftMs = progress.spanMs - progress.elapsedMs;
  if (progress.answered + progress.refused >= progress.requested) return 'done';
  return leftMs > 0 ? `about ${timeText(leftMs)} left` : 'waiting for the last answers';
}

export function createProgress(options: {
  readonly stderr: NodeJS.WriteStream;
  readonly environment: NodeJS.ProcessEnv;
}): Progress {
  if (options.stderr.isTTY) return new BarProgress(options.stderr, colorsWanted(options.environment));
  return new LineProgress(
    (line) => options.stderr.write(`${line}\n`),
    () => Date.now(),
  );
}

class BarProgress implements Progress {
  readonly #stderr: NodeJS.WriteStream;
  readonly #mark: string;
  #bar: SingleBar | undefined;

  constructor(stderr: NodeJS.WriteStream, colors: boolean) {
    this.#stderr = stderr;
    this.#mark = colors ? '\u2588' : '#';
  }

  step(text: string): void {
    this.stop();
    this.#stderr.write(`${text}\n`);
  }

  replay(progress: ReplayProgress): void {
    const payload = {
      policy: progress.policy,
      answered: progress.answered,
      remaining: remainingText(progress),
    };
    if (this.#bar === undefined) {
      this.#bar = new SingleBar({
        format: `{policy} {bar} {answered}/${progress.requested} answered, {remaining}`,
        stream: this.#stderr,
        barsize: 24,
        barCompleteChar: this.#mark,
        barIncompleteChar: '.',
        hideCursor: true,
        gracefulExit: false,
      });
      this.#bar.start(progress.requested, 0, payload);
    }
    this.#bar.update(progress.answered + progress.refused, payload);
  }

  stop(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }
}

export class LineProgress implements Progress {
  readonly #write: (line: string) => void;
  readonly #nowMs: () => number;
  #due = 0;

  constructor(write: (line: string) => void, nowMs: () => number) {
    this.#write = write;
    this.#nowMs = nowMs;
  }

  step(text: string): void {
    this.#write(text);
    this.#due = this.#nowMs() + lineEveryMs;
  }

  replay(progress: ReplayProgress): void {
    if (this.#nowMs() < this.#due) return;
    const { policy, answered, requested } = progress;
    this.step(`${policy}: ${answered} of ${requested} answered, ${remainingText(progress)}`);
  }

  stop(): void {
    this.#due = 0;
  }
}
