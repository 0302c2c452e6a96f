/**
 * Everything that runs functions, as one thing that opens and closes: spawner, cgroups, registry, launcher.
 */
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { SfsdConfig } from '../contracts/config.js';
import type { FunctionStore, Launch } from '../contracts/function.js';
import { isRealTime } from '../contracts/modes.js';
import type { SchedulingPlane } from '../contracts/scheduling-plane.js';
import type { Store } from '../contracts/store.js';
import { type Clock, type Duration, duration, type Tick } from '../contracts/time.js';
import { FunctionRegistry } from '../functions/function-registry.js';
import { Launcher } from '../functions/launcher.js';
import { OutputWatch } from '../functions/output-watch.js';
import { Spawner } from '../functions/spawner.js';
import { CgroupLayout } from '../linux/cgroup-layout.js';
import { daemonGroup, removeLeftovers } from '../linux/cgroup-leftovers.js';
import { InstanceCgroups } from '../linux/instance-cgroups.js';
import type { Libc } from '../linux/libc.js';
import type { Permission } from './permission.js';

const spawnerPath = fileURLToPath(new URL('../../../native/build/spawner', import.meta.url));

const finishPollMs = 20;
/** For functions that do not finish by themselves at a stop. */
const endMaxMs = 1000;

export interface FunctionRoomOptions {
  readonly config: SfsdConfig;
  readonly libc: Libc;
  readonly clock: Clock;
  readonly tick: Tick;
  readonly plane: SchedulingPlane;
  readonly permission: Permission;
  readonly store: Store;
  readonly countLaunches: (spawnerPid: number, births: Duration) => void;
  readonly log: Logger;
}

/** What a reload may change: read anew at each use. */
export interface RoomLimits {
  readonly registeredMax: number;
  readonly killGraceMs: number;
}

interface Parts {
  /** The launcher reads it at each use. */
  readonly limits: { killGraceMs: number };
  readonly spawner: Spawner;
  readonly cgroups: InstanceCgroups;
  readonly outputs: OutputWatch;
  readonly registry: FunctionRegistry;
  readonly launcher: Launcher;
}

export class FunctionRoom {
  readonly store: FunctionStore;
  readonly launch: Launch;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.store = parts.registry;
    this.launch = parts.launcher.launch;
  }

  static async open({
    config,
    libc,
    clock,
    tick,
    plane,
    permission,
    store,
    countLaunches,
    log,
  }: FunctionRoomOptions): Promise<FunctionRoom> {
    const limits = { ...config.functions };
    const registry = loadedRegistry({ limits, store, log });
    // One daemon, one parent group: a private daemon beside the host's must not touch its groups.
    const layout = CgroupLayout.detect();
    removeLeftovers(layout);
    const cgroups = new InstanceCgroups(layout, { parent: daemonGroup(process.pid) });
    if (cgroups.refusedMounts.length > 0)
      log.warn({ event: 'cgroups_refused', mounts: cgroups.refusedMounts });
    try {
      const spawner = await Spawner.start({
        libc,
        programPath: spawnerPath,
        ...(limits.spawnerSocket === '' ? {} : { socketPath: limits.spawnerSocket }),
        ...(permission.left === undefined ? {} : { cpuGroupFile: permission.left.procsFile }),
        priority: isRealTime(permission.mode) ? config.priorities.spawner : 0,
        sessionNice: config.priorities.sessionNice,
        account: (pid, birthsUs) => countLaunches(pid, duration(birthsUs)),
        report: (event) => (event.event === 'spawner_lost' ? log.error(event) : log.info(event)),
      });
      const outputs = new OutputWatch(libc, tick);
      const launcher = new Launcher({
        libc,
        clock,
        spawner,
        cgroups,
        plane,
        slots: registry.slots,
        outputs,
        limits,
      });
      return new FunctionRoom({ limits, spawner, cgroups, outputs, registry, launcher });
    } catch (thrown) {
      cgroups.close();
      throw thrown;
    }
  }

  setLimits({ registeredMax, killGraceMs }: Readonly<RoomLimits>): void {
    this.#parts.registry.setRegisteredMax(registeredMax);
    this.#parts.limits.killGraceMs = killGraceMs;
  }

  get spawnerPid(): number | undefined {
    return this.#parts.spawner.pid;
  }

  /** Lets running functions finish for `withinMs`, then ends them: SIGTERM, and SIGKILL within `endMaxMs`. */
  async finish(withinMs: number): Promise<void> {
    const { launcher } = this.#parts;
    for (let waitedMs = 0; waitedMs < withinMs && launcher.running() > 0; waitedMs += finishPollMs) {
      await new Promise((resolve) => setTimeout(resolve, finishPollMs));
    }
    await launcher.stop(endMaxMs);
  }

  async close(): Promise<void> {
    await this.#parts.spawner.close();
    this.#parts.outputs.close();
    this.#parts.cgroups.close();
  }
}

/** Rows told of one by one; the metric has the number of all. */
const unusableToldMax = 20;

interface RegistryParts {
  readonly limits: SfsdConfig['functions'];
  readonly store: Store;
  readonly log: Logger;
}

/** What the store holds is registered before anybody can ask. */
function loadedRegistry({ limits, store, log }: RegistryParts): FunctionRegistry {
  const { registeredMax } = limits;
  const rows = store.functions;
  const registry = new FunctionRegistry({ registeredMax, defaults: limits, rows, wallClock: Date.now });
  const unusable = registry.load(store.storedFunctions);
  for (const row of unusable.slice(0, unusableToldMax)) log.error({ event: 'function_set_aside', ...row });
  if (registry.size > 0) log.info({ event: 'functions_loaded', count: registry.size });
  return registry;
}
