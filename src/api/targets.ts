/**
 * Which tasks a registration may name. Refused, each with a code of its own:
 *
 *   SFSD_ERR_PID_NAMESPACE          a number of another pid namespace that cannot be translated
 *   SFSD_ERR_TARGET_INIT            pid 1, or a cgroup that holds it
 *   SFSD_ERR_TARGET_OURS            the daemon and what it started for itself, or a cgroup that holds them
 *   SFSD_ERR_TARGET_KERNEL_THREAD   a thread of the kernel
 *   SFSD_ERR_TARGET_HIDDEN          what the daemon itself may not look at
 *   SFSD_ERR_INVOCATION_GONE        no such process, or not the one that was meant: its start time differs
 *   SFSD_ERR_TARGET_FOREIGN         neither of the client's own uid nor inside an allowed cgroup; `operate` is not asked
 *
 * Of an operator's registration that brings the start time only the number is looked at here, since 20,000 a second must pass:
 * the scheduling thread verifies the process when it takes hold of it, and refuses the same ones.
 */
import { assert, SfsdError } from '../contracts/errors.js';
import type { RegistrationBody } from '../contracts/http.js';
import type { TaskGroup } from '../contracts/task-group.js';
import type { Client } from './clients.js';
import type { Processes, ProcessFacts, Translate } from './ports.js';

const init = 1;

/** The targets that one client names in one request. */
export class Targets {
  readonly #client: Client;
  readonly #processes: Processes;
  readonly #allowed: readonly string[];
  #translate: Translate | undefined;

  constructor(options: {
    readonly client: Client;
    readonly processes: Processes;
    readonly allowedCgroups: readonly string[];
  }) {
    this.#client = options.client;
    this.#processes = options.processes;
    this.#allowed = options.allowedCgroups;
  }

  /** Validation has seen to it that there is a pid or a cgroup, and not both. */
  groupOf(item: RegistrationBody): TaskGroup {
    if (item.pid === undefined) {
      assert(item.cgroup !== undefined, 'a registration names a pid or a cgroup');
      return this.#cgroup(item.cgroup);
    }
    const pid = this.#hostNumber(item.pid, item);
    const tids = item.tids?.map((tid) => this.#hostNumber(tid, item));
    const startTime = this.#verify(item, pid);
    return tids === undefined
      ? { kind: 'process', pid, startTime }
      : { kind: 'threads', pid, startTime, tids };
  }

  #cgroup(path: string): TaskGroup {
    const target = `cgroup ${path}`;
    const holder = this.#processes.holds(path);
    if (holder === 'init') throw new SfsdError('SFSD_ERR_TARGET_INIT', { target });
    if (holder === 'ours') throw new SfsdError('SFSD_ERR_TARGET_OURS', { target });
    if (!this.#isOperator && !this.#isAllowed(path)) throw this.#foreign(target);
    return { kind: 'cgroup', path };
  }

  #hostNumber(pid: number, { pidNamespace }: RegistrationBody): number {
    const { nestedPid } = this.#client;
    if (nestedPid === undefined || pidNamespace === 'host') return pid;
    this.#translate ??= this.#processes.translator(nestedPid);
    const translated = this.#translate(pid);
    if (typeof translated === 'number') return translated;
    throw new SfsdError('SFSD_ERR_PID_NAMESPACE', { pid, reason: translated.reason });
  }

  /** @returns the start time of the process that was looked at. */
  #verify({ id, startTime }: RegistrationBody, pid: number): string {
    const target = `process ${pid}`;
    if (pid === init) throw new SfsdError('SFSD_ERR_TARGET_INIT', { target });
    if (this.#processes.isOurs(pid)) throw new SfsdError('SFSD_ERR_TARGET_OURS', { target });
    if (this.#isOperator && startTime !== undefined) return startTime;
    const cgroups = !this.#isOperator && this.#allowed.length > 0;
    const facts = this.#processes.examine(pid, { cgroups });
    if (typeof facts === 'string') throw unfit(facts, { id, pid, target });
    if (startTime !== undefined && startTime !== facts.startTime) {
      const reason = `${target} started at ${facts.startTime}, not at ${startTime}`;
      throw new SfsdError('SFSD_ERR_INVOCATION_GONE', { id, reason });
    }
    if (!this.#isOperator && !this.#isWithinReach(facts)) throw this.#foreign(target);
    return facts.startTime;
  }

  #isWithinReach({ uid, cgroups }: ProcessFacts): boolean {
    return uid === this.#client.credentials.uid || cgroups.some((path) => this.#isAllowed(path));
  }

  #isAllowed(path: string): boolean {
    return this.#allowed.some((allowed) => path === allowed || path.startsWith(`${allowed}/`));
  }

  #foreign(target: string): SfsdError {
    return new SfsdError('SFSD_ERR_TARGET_FOREIGN', { client: this.#client.name, target });
  }

  get #isOperator(): boolean {
    return this.#client.role === 'operate';
  }
}

function unfit(
  why: Exclude<ReturnType<Processes['examine']>, ProcessFacts>,
  { id, pid, target }: { readonly id: string; readonly pid: number; readonly target: string },
): SfsdError {
  switch (why) {
    case 'gone':
      return new SfsdError('SFSD_ERR_INVOCATION_GONE', { id, reason: `no ${target}` });
    case 'ours':
      return new SfsdError('SFSD_ERR_TARGET_OURS', { target });
    case 'kernel-thread':
      return new SfsdError('SFSD_ERR_TARGET_KERNEL_THREAD', { pid });
    case 'hidden':
      return new SfsdError('SFSD_ERR_TARGET_HIDDEN', {
        pid,
        reason: 'it is a thread and no process, or this daemon may not read /proc of it',
      });
  }
}
