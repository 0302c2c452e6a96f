/**
 * The outputs of all running programs, looked at together ten times a second.
 *
 *   add ─▶ fresh ──tick: nothing yet──▶ polled ──tick: readable──▶ looked at ─▶ streamed by Node's loop, or ended
 *            └── ended before the next tick: it was never polled ──▶ forgotten
 *
 * Most programs say one thing, at their end, and that is read when they have ended. For the rest one epoll over all pipes answers
 * which of them have something, so a tick costs one system call however many programs run and however long they are silent. A
 * program that fills its pipe (64 KiB) waits for the next tick, once.
 *
 * Rejected: timers for each program (a wake of the control plane costs more than what is done in it: with three looks for each,
 * wakes were a third of what a launch costs); a stream object for each (more than all else in a launch).
 */
import { instant, type Tick } from '../contracts/time.js';
import type { Libc } from '../linux/libc.js';
import { Poller } from '../linux/poller.js';

/** What is polled: an output that no stream has taken over. */
export interface SilentOutput {
  readonly fd: number;
  /** Takes what is there. 'over': it has been forgotten, since a stream has taken it over or it has ended. */
  look(): 'silent' | 'over';
}

const now = instant(0);

export class OutputWatch {
  readonly #poller: Poller;
  readonly #tick: Tick;
  readonly #fresh = new Set<SilentOutput>();
  readonly #polled = new Map<number, SilentOutput>();
  #leave: (() => void) | undefined;

  /** Throws SFSD_ERR_KERNEL. */
  constructor(libc: Libc, tick: Tick) {
    this.#poller = new Poller(libc);
    this.#tick = tick;
  }

  add(output: SilentOutput): void {
    this.#fresh.add(output);
    this.#leave ??= this.#tick.join(() => this.#look());
  }

  /** Idempotent. Its descriptor is still open. */
  forget(output: SilentOutput): void {
    if (!this.#fresh.delete(output) && this.#polled.delete(output.fd)) this.#poller.remove(output.fd);
    if (this.#fresh.size > 0 || this.#polled.size > 0) return;
    this.#leave?.();
    this.#leave = undefined;
  }

  close(): void {
    this.#leave?.();
    this.#poller.close();
  }

  #look(): void {
    // What is left over when more are ready than one wait brings comes with the next tick.
    const ready = this.#poller.wait(now, now);
    for (let event = 0; event < ready; event++) this.#polled.get(this.#poller.token(event))?.look();
    for (const output of this.#fresh) {
      if (output.look() === 'over') continue;
      this.#fresh.delete(output);
      this.#poller.add(output.fd, output.fd);
      this.#polled.set(output.fd, output);
    }
  }
}
