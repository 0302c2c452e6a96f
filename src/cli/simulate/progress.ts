/** How far a simulation is: a bar on a terminal, a line every ten seconds elsewhere; both on standard error. */
import { SingleBar } from 'cli-progress';
import { colorsWanted } from '../terminal.js';

const lineEveryMs = 10_000;

export interface Step {
  readonly label: string;
  readonly arrived: number;
  readonly requests: number;
}

export interface SimulationProgress {
  update(step: Step): void;
  stop(): void;
}

export function createSimulationProgress(options: {
  readonly stderr: NodeJS.WriteStream;
  readonly environment: NodeJS.ProcessEnv;
  write(line: string): void;
}): SimulationProgress {
  return options.stderr.isTTY
    ? barOn(options.stderr, colorsWanted(options.environment))
    : linesTo(options.write);
}

function barOn(stderr: NodeJS.WriteStream, colors: boolean): SimulationProgress {
  let bar: SingleBar | undefined;
  let shown = '';
  const stop = (): void => {
    bar?.stop();
    bar = undefined;
  };
  return {
    stop,
    update: ({ label, arrived, requests }) => {
      if (label !== shown) stop();
      shown = label;
      if (bar === undefined) {
        bar = new SingleBar({
          format: '{label} {bar} {value}/{total} arrived',
          stream: stderr,
          barsize: 24,
          barCompleteChar: colors ? '\u2588' : '#',
          barIncompleteChar: '.',
          hideCursor: true,
          gracefulExit: false,
          clearOnComplete: true,
        });
        bar.start(requests, 0, { label });
      }
      bar.update(arrived, { label });
    },
  };
}

function linesTo(write: (line: string) => void): SimulationProgress {
  let due = Date.now() + lineEveryMs;
  return {
    stop: () => undefined,
    update: ({ label, arrived, requests }) => {
      if (Date.now() < due) return;
      due = Date.now() + lineEveryMs;
      write(`${label}: ${arrived} of ${requests} arrived`);
    },
  };
}
