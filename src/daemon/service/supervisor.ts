/**
 * What the daemon tells the one who started it (systemd's sd_notify(3)): datagrams of `NAME=value` lines to $NOTIFY_SOCKET. Node has no
 * datagrams of AF_UNIX, and `systemd-notify` would be a fork: they go out by the C library.
 *
 *   start ─▶ READY=1 ─▶ WATCHDOG=1 ... ─▶ RELOADING=1, READY=1 ─▶ ... ─▶ STOPPING=1
 *
 * A ping says that both planes live: it is sent from the control plane's own event loop, and only if the scheduling thread's loop has
 * turned since the last one. That loop turns at least every 100 ms, also when there is nothing to do.
 *
 * Nothing here may fail the daemon or hold it up: no call waits, and where nobody listens nothing is said. A datagram for which the
 * supervisor's queue has no room is tried again, for it must not take a daemon that is ready for one that is not; a ping is not: the
 * next one follows.
 */
import type { Logger } from 'pino';
import type { Libc } from '../../linux/libc.js';

const datagram = 2;
const tryAgain = -11;
const retryMs = 50;
/** 5 s: a supervisor that is starved for longer has its own start timeout. */
const retriesMax = 100;
/** Pings in one watchdog interval: two may be late or lost. */
const pingsPerInterval = 4;
/** A supervisor that asks for more often would be told of nothing else. */
const pingIntervalMsMin = 100;

export interface SupervisorOptions {
  readonly libc: Libc;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly log: Logger;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #path: string | undefined;
  #socket: number | undefined;
  #retry: NodeJS.Timeout | undefined;
  #pings: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#path = options.environment.NOTIFY_SOCKET || undefined;
  }

  /** The API answers. */
  ready(status: string): void {
    this.#tell(`READY=1\nSTATUS=${status}`, retriesMax);
  }

  /** @param monotonicUs when: systemd tells by it whether the READY=1 that follows belongs to this one. */
  reloading(monotonicUs: number): void {
    this.#tell(`RELOADING=1\nMONOTONIC_USEC=${monotonicUs}`, retriesMax);
  }

  stopping(): void {
    this.#stopPings();
    this.#tell('STOPPING=1\nSTATUS=Stopping: everything is demoted, running functions may finish', 0);
  }

  /**
   * Begins to ping, if that was asked of this process.
   * @param turns how often the scheduling loop has turned so far.
   */
  watch(turns: () => number): void {
    const intervalMs = this.#pingIntervalMs();
    if (intervalMs === undefined) return;
    let seen = -1;
    let withheld = false;
    const ping = () => {
      const now = turns();
      if (now === seen) {
        if (!withheld) this.#options.log.error({ event: 'watchdog_withheld', turns: now, intervalMs });
        withheld = true;
        return;
      }
      seen = now;
      withheld = false;
      this.#tell('WATCHDOG=1', 0);
    };
    ping();
    this.#pings = setInterval(ping, intervalMs);
    this.#pings.unref();
  }

  close(): void {
    this.#stopPings();
    clearTimeout(this.#retry);
    this.#forgetSocket();
  }

  #pingIntervalMs(): number | undefined {
    const { environment, pid } = this.#options;
    const intervalUs = Number(environment.WATCHDOG_USEC);
    const isMeant = environment.WATCHDOG_PID === undefined || Number(environment.WATCHDOG_PID) === pid;
    if (this.#path === undefined || !isMeant || !(intervalUs > 0)) return undefined;
    return Math.max(pingIntervalMsMin, intervalUs / 1000 / pingsPerInterval);
  }

  #stopPings(): void {
    clearInterval(this.#pings);
    this.#pings = undefined;
  }

  #tell(text: string, retries: number): void {
    // What is said now stands in for what was not yet heard.
    if (retries > 0) clearTimeout(this.#retry);
    const result = this.#send(text);
    if (result >= 0) return;
    this.#forgetSocket();
    if (retries > 0) {
      this.#retry = setTimeout(() => this.#tell(text, retries - 1), retryMs);
      return;
    }
    if (result !== tryAgain) this.#options.log.warn({ event: 'supervisor_unreachable', errno: -result });
  }

  #send(text: string): number {
    const { libc } = this.#options;
    if (this.#path === undefined) return 0;
    this.#socket ??= libc.connectUnix(datagram, this.#path);
    if (this.#socket < 0) return this.#socket;
    const bytes = new TextEncoder().encode(text);
    return libc.sendWithFds(this.#socket, bytes, bytes.length, []);
  }

  #forgetSocket(): void {
    if (this.#socket !== undefined && this.#socket >= 0) this.#options.libc.close(this.#socket);
    this.#socket = undefined;
  }
}
