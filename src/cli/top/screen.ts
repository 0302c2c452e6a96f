/**
 * The terminal while `top` owns it.
 *
 *   open: alternate screen, cursor hidden, raw keys     close: all of it undone, once, whatever ends us
 *
 * Each frame overwrites the last one in place and clears what is longer, in one write: clearing first would flicker.
 */
import type { TerminalSize } from '../terminal.js';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Ctrl-C arrives as a byte in raw mode. */
const quitKeys = ['q', 'Q', '\u0003'];

export class Screen {
  readonly #render: (size: TerminalSize) => readonly string[];
  readonly #onQuit = (): void => this.#quit();
  readonly #onResize = (): void => this.draw();
  readonly #onKey = (key: string): void => {
    if (quitKeys.some((quit) => key.includes(quit))) this.#quit();
  };
  readonly #restore = (): void => this.#leave();
  #wake: (() => void) | undefined;
  #open = false;
  #quitting = false;

  constructor(render: (size: TerminalSize) => readonly string[]) {
    this.#render = render;
  }

  open(): void {
    this.#open = true;
    process.stdout.write(enter);
    process.on('exit', this.#restore);
    for (const signal of endSignals) process.on(signal, this.#onQuit);
    process.stdout.on('resize', this.#onResize);
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.setEncoding('utf8').on('data', this.#onKey).on('end', this.#onQuit).resume();
    }
    this.draw();
  }

  draw(): void {
    if (!this.#open) return;
    const { columns = 80, rows = 24 } = process.stdout;
    const lines = this.#render({ columns, rows }).slice(0, rows);
    process.stdout.write(`${home}${lines.map((line) => `${line}${clearLine}`).join('\r\n')}${clearBelow}`);
  }

  /** Resolves true after `ms`, false as soon as the user or a signal wants out. */
  wait(ms: number): Promise<boolean> {
    if (this.#quitting) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#wake = undefined;
        resolve(true);
      }, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(false);
      };
    });
  }

  close(): void {
    process.stdout.off('resize', this.#onResize);
    for (const signal of endSignals) process.off(signal, this.#onQuit);
    process.stdin.off('data', this.#onKey).off('end', this.#onQuit).pause();
    this.#leave();
    process.off('exit', this.#restore);
  }

  #quit(): void {
    this.#quitting = true;
    this.#wake?.();
    this.#wake = undefined;
  }

  #leave(): void {
    if (!this.#open) return;
    this.#open = false;
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdout.write(leave);
  }
}
