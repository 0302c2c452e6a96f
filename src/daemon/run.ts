/**
 * The composition root: the only place where adapters are constructed.
 *
 *   start  1. configuration, log  2. C library, clock, and that we are alone  3. what is permitted  4. what forks: strays of an earlier
 *          daemon, the guard, processes to adopt, pidusage's first call  5. store, scheduling thread, plane  6. spawner, functions
 *          7. own priority  8. protected processes, adoption  9. API on its socket -> ready, which a supervisor is told
 *   stop   refuse new work; demote everything; let running functions finish for a while, end the rest; close the API, the
 *          spawner, the cgroups, the store: within 5 s
 *
 * What is acquired on the way up goes onto one stack and is released in reverse order, also when a later step fails.
 */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { type Listening, listen } from '../api/listen.js';
import { createServer } from '../api/server.js';
import { listenTcp } from '../api/tcp.js';
import type { TokenTable } from '../api/token-table.js';
import type { SfsdConfig } from '../contracts/config.js';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { Store } from '../contracts/store.js';
import type { Clock } from '../contracts/time.js';
import { CgroupLayout } from '../linux/cgroup-layout.js';
import type { Libc } from '../linux/libc.js';
import { MonotonicClock } from '../linux/monotonic-clock.js';
import { adopt, findAdoptable } from './adoption.js';
import { loadConfig } from './config/config.js';
import { raiseControlPlane } from './control-priority.js';
import { CpuAccounts } from './cpu-accounts.js';
import { ffiBody, openLibc, type PlaneReports, warnOfFallback } from './ffi.js';
import { FunctionRoom } from './function-room.js';
import { type GuardRoom, openGuardRoom } from './guard/guard-room.js';
import { lockInstance } from './guard/instance-lock.js';
import { createLogger } from './logger.js';
import { PeerReader } from './peers.js';
import { probePermission, reportPermission } from './permission.js';
import { BeliefKeeper } from './plane/belief-keeper.js';
import { type Scheduling, startScheduling } from './plane/scheduling.js';
import { ProcessUsage, primeProcessUsage } from './process-usage.js';
import { HostProcesses } from './processes.js';
import { type Protection, startProtection } from './protection.js';
import { Releases } from './releases.js';
import { FunctionResources } from './resource-view.js';
import { inheritedSocket } from './service/inherited-socket.js';
import { reloadOnHangup } from './service/reloading.js';
import { Supervisor } from './service/supervisor.js';
import { SharedTick } from './shared-tick.js';
import { openStore } from './store-opening.js';
import { readTokenFile } from './token-file.js';
import { packageVersion } from './version.js';

export interface DaemonOptions {
  readonly configPath?: string;
  /** Dotted configuration keys. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** URL of a kernel adapter's module instead of the Linux one; for the bench. */
  readonly kernelModule?: string;
}

/** While anything runs: how often decisions are taken in and silent outputs looked at. */
const tickMs = 100;
/** Running functions may finish for this long after SIGTERM; the rest of the 5 s is for ending those that do not. */
const finishMaxMs = 2500;

/** Runs until SIGTERM or SIGINT. Returns the exit code: 0 after an orderly stop, 1 when it had to give up. */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  const config = configOf(options);
  const log = createLogger(config.log);
  const releases = new Releases(log);
  try {
    const { ended, supervisor } = await start({ config, log, releases, options });
    const cause = await ended;
    supervisor.stopping();
    log.info({ event: 'stopping', cause: cause.name });
    await releases.run();
    log.info({ event: 'stopped' });
    return cause.exitCode;
  } catch (thrown) {
    await releases.run();
    if (thrown instanceof SfsdError) throw thrown;
    throw new SfsdError('SFSD_ERR_INTERNAL', { reason: reasonOf(thrown) }, { cause: thrown });
  }
}

function configOf({ configPath, environment, flags }: DaemonOptions): SfsdConfig {
  return loadConfig({ ...(configPath === undefined ? {} : { path: configPath }), environment, flags });
}

interface EndCause {
  readonly name: string;
  readonly exitCode: number;
}

interface StartContext {
  readonly config: SfsdConfig;
  readonly log: Logger;
  readonly releases: Releases;
  readonly options: DaemonOptions;
}

/** Resolves once the API answers; `ended` says when and why to stop. */
async function start(
  context: StartContext,
): Promise<{ readonly ended: Promise<EndCause>; readonly supervisor: Supervisor }> {
  const { config, log, releases, options } = context;
  const ending = new Ending(log);
  // Released last: a second SIGTERM must not cut an orderly stop short.
  ending.listenToSignals(releases);
  const tokens = readTokens(config);
  const { libc, report } = openLibc(config.linux.ffi);
  const supervisor = new Supervisor({ libc, environment: options.environment, pid: process.pid, log });
  releases.push('supervisor', async () => supervisor.close());
  const clock = new MonotonicClock(libc);
  const lock = await lockInstance(libc, config.socket.path);
  releases.push('lock', async () => lock.close());
  const layout = CgroupLayout.detect();
  const probed = probePermission(libc, config, layout);
  releases.push('cpu group', async () => probed.left?.comeBack());
  const guard = await openGuardRoom({ config, libc, layout, permission: probed, log });
  releases.push('guard', () => guard.close());
  const { permission } = guard;
  reportPermission(permission, log);

  const adoptable = await findAdoptable({ rules: config.adopt.rules, libc, log });
  await primeProcessUsage();

  const { environment } = options;
  const uid = process.getuid?.() ?? 0;
  const store = await openStore({ config: config.store, environment, uid, clock, log });
  releases.push('store', () => store.close());
  const keeper = config.scheduler.policy === 'gittins' ? new BeliefKeeper(store, log) : undefined;
  releases.push('beliefs', async () => keeper?.close());
  const tick = new SharedTick(tickMs);
  const accounts = new CpuAccounts({ libc, clock });
  const scheduling = await startScheduling({
    config,
    libc,
    clock,
    tick,
    permission,
    accounts,
    journal: guard.journal,
    beliefs: keeper === undefined ? [] : store.storedBeliefs,
    ...(keeper === undefined ? {} : { onEnded: keeper.ended.bind(keeper) }),
    ...(options.kernelModule === undefined ? {} : { kernelModule: options.kernelModule }),
    onLost: (error) => {
      log.fatal({ event: 'scheduling_thread_lost', reason: error.message });
      ending.end({ name: 'scheduling_thread_lost', exitCode: 1 });
    },
  });
  releases.push('scheduling', () => scheduling.close());
  const room = await FunctionRoom.open({
    config,
    libc,
    clock,
    tick,
    plane: scheduling.plane,
    permission,
    store,
    countLaunches: scheduling.countLaunches,
    log,
  });
  releases.push('functions', () => room.close());
  accounts.countSpawner(() => room.spawnerPid);
  const priority = raiseControlPlane({
    config,
    libc,
    permission,
    log,
    schedulingTid: scheduling.tid,
    spawnerPid: () => room.spawnerPid,
  });
  releases.push('priority', async () => priority.close());
  const protection = await startProtection({
    config,
    libc,
    clock,
    layout,
    permission,
    journal: guard.protectedShare,
    log,
    spawnerPid: () => room.spawnerPid,
    count: scheduling.countProtected,
  });
  releases.push('protection', async () => protection.close());
  adopt(adoptable, { plane: scheduling.plane, log });
  const ffi = { configured: config.linux.ffi, control: report, scheduling: scheduling.ffi };
  warnOfFallback(ffi, log);
  await openApi(context, { libc, clock, store, scheduling, room, protection, ffi, guard, tokens });
  // Released first: demoted and refused before anything is torn down.
  releases.push('work', async () => {
    await scheduling.stop();
    await room.finish(finishMaxMs);
  });
  log.info({
    event: 'ready',
    socket: config.socket.path,
    mode: permission.mode,
    workers: scheduling.workers,
  });
  const apply = (next: SfsdConfig) => {
    log.level = next.log.level;
    room.setLimits(next.functions);
    scheduling.setWorkers(next.scheduler.workers);
  };
  const load = () => configOf(options);
  const stopReloading = reloadOnHangup({ running: config, load, apply, supervisor, clock, log });
  releases.push('reload', async () => stopReloading());
  supervisor.ready(`Ready: mode ${permission.mode}, ${scheduling.workers} FILTER workers`);
  supervisor.watch(scheduling.turns);
  return { ended: ending.ended, supervisor };
}

interface ApiParts {
  readonly libc: Libc;
  readonly clock: Clock;
  readonly store: Store;
  readonly scheduling: Scheduling;
  readonly room: FunctionRoom;
  readonly protection: Protection;
  readonly ffi: PlaneReports;
  readonly guard: GuardRoom;
  readonly tokens: TokenTable | undefined;
}

async function openApi({ config, log, releases, options }: StartContext, parts: ApiParts): Promise<void> {
  const { libc, clock, store, scheduling, room, protection, ffi, guard, tokens } = parts;
  const resources = new FunctionResources({
    clock,
    live: () => scheduling.plane.liveInvocations(),
    read: new ProcessUsage().read,
  });
  const peers = new PeerReader(libc);
  const app = createServer({
    functions: room.store,
    launch: room.launch,
    store,
    plane: scheduling.plane,
    processes: new HostProcesses(libc, () => [room.spawnerPid]),
    peerOf: (socket) => peers.of(socket),
    ...(tokens === undefined ? {} : { tokens }),
    daemonUid: process.getuid?.() ?? 0,
    stopping: () => scheduling.plane.stopping,
    version: packageVersion(),
    ffi: ffiBody(ffi),
    protection: () => protection.status,
    guard: () => guard.status(),
    resources: () => resources.look(),
    config,
    logger: log,
  });
  const inherited = inheritedSocket({
    environment: options.environment,
    pid: process.pid,
    path: config.socket.path,
  });
  const listening = await listen(app, {
    ...config.socket,
    ...(inherited === undefined ? {} : { inherited }),
  });
  releases.push('api', () => listening.close());
  if (tokens !== undefined) await openTcp({ config, log, releases }, app, listening);
}

/** Both ways in close at once: each may wait for its answers. */
async function openTcp(
  { config, log, releases }: Pick<StartContext, 'config' | 'log' | 'releases'>,
  app: FastifyInstance,
  listening: Listening,
): Promise<void> {
  const tcp = await listenTcp(app, config.tcp);
  releases.push('tcp', async () => {
    await Promise.all([tcp.close(), listening.close()]);
  });
  const { host, port } = tcp;
  log.info({ event: 'tcp_listening', host, port });
  if (!isLoopback(host))
    log.warn({ event: 'tcp_in_the_clear', host, reason: 'tokens can be read on the way' });
}

function isLoopback(host: string): boolean {
  return host === '::1' || host.startsWith('127.');
}

/** Read before anything is started: a daemon whose tokens are not as they should be does not come up. */
function readTokens({ tcp }: SfsdConfig): TokenTable | undefined {
  if (tcp.port === 0) return undefined;
  const daemon = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return readTokenFile(tcp.tokenFile, daemon);
}

/** Why the daemon ends: a signal, or the loss of what it cannot do without. The first cause counts. */
class Ending {
  readonly ended: Promise<EndCause>;
  #resolve: (cause: EndCause) => void = () => {};
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  end(cause: EndCause): void {
    this.#resolve(cause);
  }

  listenToSignals(releases: Releases): void {
    const signals = ['SIGTERM', 'SIGINT'] as const;
    const handlers = signals.map((name) => ({ name, handler: () => this.end({ name, exitCode: 0 }) }));
    for (const { name, handler } of handlers) process.on(name, handler);
    // Its default is the end; until the configuration can be reloaded it means nothing.
    const ignore = () => {};
    process.on('SIGHUP', ignore);
    // Both are bugs: demote everything in order all the same, and let a supervisor start anew.
    const failures = ['uncaughtException', 'unhandledRejection'] as const;
    const fail = (error: unknown) => {
      this.#log.fatal({
        event: 'control_plane_failed',
        reason: reasonOf(error),
        stack: (error as Error | undefined)?.stack,
      });
      this.end({ name: 'control_plane_failed', exitCode: 1 });
    };
    for (const name of failures) process.on(name, fail);
    releases.push('signals', async () => {
      for (const name of failures) process.off(name, fail);
      for (const { name, handler } of handlers) process.off(name, handler);
      process.off('SIGHUP', ignore);
    });
  }
}
