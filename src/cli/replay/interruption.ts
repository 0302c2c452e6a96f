/**
 * SIGINT and SIGTERM during a replay: the first one aborts the run in order (the daemon is stopped, nothing is reported), a second
 * one ends the process at once, and its exit handlers kill what is left.
 */

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Interrupted extends Error {
  constructor(signal: string) {
    super(`ended by ${signal}`);
    this.name = 'Interrupted';
  }
}

export class Interruption {
  readonly #controller = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (this.#controller.signal.aborted) process.exit(1);
    this.#controller.abort(new Interrupted(signal));
  };

  constructor() {
    for (const name of signals) process.on(name, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  release(): void {
    for (const name of signals) process.off(name, this.#onSignal);
  }
}
