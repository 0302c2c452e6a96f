/**
 * A daemon under load 0.9 for a long time: it neither grows nor slows.
 *
 *   warm-up ─▶ segment ─▶ load ─▶ the same segment          sampled every 5 s: memory and descriptors of the daemon
 *
 * The functions are real and of many kinds: short and long ones, sleepers, talkers, asynchronous ones, and one that is put anew again and
 * again. A segment is a seeded list of arrivals; its dispatch is the time from a request's arrival to the instant at which its program
 * runs, as the daemon's own records have it. Arrivals are open-loop: a slow daemon gets no fewer.
 *
 * SFSD_SOAK_MINUTES (20) is for all of it; of a short trial a tenth is warm-up.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Client } from 'undici';
import type { ResultBody } from '../../src/contracts/http.js';
import { RandomStream } from '../../src/trace/workload/random.js';
import { DaemonUnderTest, sleep } from './daemon-under-test.js';
import { observeInRealTime } from './processes.js';

const minutes = Number(process.env.SFSD_SOAK_MINUTES ?? '20');
const totalMs = minutes * 60_000;
const warmUpMs = Math.min(120_000, totalMs / 10);
const segmentMs = Math.min(60_000, totalMs / 5);
const load = 0.9;
const seed = 20_260_401;
const sampleMs = 5000;
const growthMaxMibPerMinute = 1;
const dispatchChangeMaxMs = 1;
/** Requests under way at once; beyond it the generator would be what is measured. */
const underWayMax = 2000;
const pageBytes = 4096;

interface Kind {
  readonly name: string;
  readonly share: number;
  readonly cpuMs: number;
  readonly isAsync?: boolean;
}

/** CPU time of each: 33 ms in the mean. */
const kinds: readonly Kind[] = [
  { name: 'burn', share: 0.55, cpuMs: 10 },
  { name: 'burn', share: 0.2, cpuMs: 40 },
  { name: 'burn', share: 0.05, cpuMs: 300 },
  { name: 'burn', share: 0.05, cpuMs: 20, isAsync: true },
  { name: 'sleeper', share: 0.1, cpuMs: 2 },
  { name: 'talker', share: 0.05, cpuMs: 3 },
];
const meanCpuMs = kinds.reduce((sum, { share, cpuMs }) => sum + share * cpuMs, 0);

interface Arrival {
  readonly afterMs: number;
  readonly kind: Kind;
}

/** Poisson arrivals; the same seed gives the same list. */
function arrivals(random: RandomStream, lengthMs: number): Arrival[] {
  const meanGapMs = meanCpuMs / (load * availableParallelism());
  const list: Arrival[] = [];
  for (let afterMs = 0; afterMs < lengthMs; afterMs += -meanGapMs * Math.log(1 - random.uniform())) {
    let rest = random.uniform();
    const kind = kinds.find(({ share }) => {
      rest -= share;
      return rest < 0;
    });
    list.push({ afterMs, kind: kind ?? { name: 'burn', share: 0, cpuMs: 10 } });
  }
  return list;
}

interface Sample {
  readonly atMinutes: number;
  readonly mib: number;
  readonly fds: number;
}

class Soak {
  readonly #daemon: DaemonUnderTest;
  readonly #clients: readonly Client[];
  readonly samples: Sample[] = [];
  readonly failures: string[] = [];
  #underWay = 0;
  #count = 0;

  constructor(daemon: DaemonUnderTest) {
    this.#daemon = daemon;
    this.#clients = Array.from({ length: 64 }, () => daemon.client());
  }

  get count(): number {
    return this.#count;
  }

  /** @returns dispatch times of the synchronous runs, in ms. */
  async play(list: readonly Arrival[]): Promise<number[]> {
    const dispatches: number[] = [];
    const began = performance.now();
    const pending: Promise<void>[] = [];
    for (const { afterMs, kind } of list) {
      const waitMs = began + afterMs - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      if (this.#underWay >= underWayMax) this.failures.push('the generator is full');
      else pending.push(this.#invoke(kind, dispatches));
    }
    await Promise.all(pending);
    return dispatches;
  }

  async sample(pid: number, atMs: number): Promise<void> {
    const resident = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    const fds = readdirSync(`/proc/${pid}/fd`).length;
    this.samples.push({ atMinutes: atMs / 60_000, mib: (resident * pageBytes) / 1024 ** 2, fds });
    await this.#daemon.putFunction('anew', { command: '/bin/true', args: [String(atMs)] });
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.destroy()));
  }

  async #invoke({ name, cpuMs, isAsync = false }: Kind, dispatches: number[]): Promise<void> {
    this.#underWay += 1;
    this.#count += 1;
    const client = this.#clients[this.#count % this.#clients.length] as Client;
    const path = `/v1/functions/${name}/invocations?${isAsync ? 'async' : 'detail'}=true`;
    try {
      const answer = await client.request({
        method: 'POST',
        path,
        body: name === 'burn' ? String(cpuMs) : '',
      });
      const text = await answer.body.text();
      if (answer.statusCode > 202) this.failures.push(`${answer.statusCode} ${text}`);
      else if (!isAsync) dispatches.push(dispatchOf(JSON.parse(text) as ResultBody));
    } catch (thrown) {
      this.failures.push(String(thrown));
    } finally {
      this.#underWay -= 1;
    }
  }
}

function dispatchOf({ enqueuedAtMs, startedAtMs }: ResultBody): number {
  return startedAtMs - enqueuedAtMs;
}

/** Least squares: MiB a minute. */
function slope(samples: readonly Sample[]): number {
  const mean = (pick: (sample: Sample) => number) =>
    samples.reduce((sum, each) => sum + pick(each), 0) / samples.length;
  const [x, y] = [mean(({ atMinutes }) => atMinutes), mean(({ mib }) => mib)];
  const covariance = mean(({ atMinutes, mib }) => (atMinutes - x) * (mib - y));
  const variance = mean(({ atMinutes }) => (atMinutes - x) ** 2);
  return covariance / variance;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';

t.test(
  `${minutes} minutes at load ${load}: no growth, no descriptors, the same dispatch`,
  { skip },
  async (t) => {
    t.setTimeout(totalMs + 300_000);
    observeInRealTime();
    const lifeMaxSeconds = Math.ceil(totalMs / 1000) + 240;
    const store = `store.path=${join(t.testdir(), 'sfsd.db')}`;
    // Results are kept up to a bound; a small one is reached while it warms up.
    const settings = [store, 'functions.resultsMax=100', 'log.level=warn'];
    const daemon = await DaemonUnderTest.start(settings, [], { lifeMaxSeconds });
    t.teardown(() => daemon.stop());
    await daemon.putBurn();
    await daemon.putFunction('sleeper', { command: '/bin/sleep', args: ['0.2'] });
    await daemon.putFunction('talker', {
      command: '/bin/sh',
      args: ['-c', 'head -c 20000 /dev/zero; echo x >&2'],
    });
    const pid = await daemon.pid();
    const soak = new Soak(daemon);
    t.teardown(() => soak.close());

    const stage = (name: string) =>
      t.comment(`${name}: ${soak.count} invocations, ${soak.failures.length} failed`);
    await soak.play(arrivals(new RandomStream(seed, 'soak'), warmUpMs));
    stage('warm');
    const began = performance.now();
    const sampling = setInterval(() => void soak.sample(pid, performance.now() - began), sampleMs);
    t.teardown(() => clearInterval(sampling));
    const first = await soak.play(arrivals(new RandomStream(seed + 1, 'soak'), segmentMs));
    stage('first segment');
    await soak.play(arrivals(new RandomStream(seed + 2, 'soak'), totalMs - warmUpMs - 2 * segmentMs));
    const last = await soak.play(arrivals(new RandomStream(seed + 1, 'soak'), segmentMs));
    stage('last segment');
    clearInterval(sampling);

    const growth = slope(soak.samples);
    const [p99First, p99Last] = [quantile(first, 0.99), quantile(last, 0.99)];
    const [opened, open] = [
      soak.samples.at(0)?.fds ?? 0,
      Math.min(...soak.samples.slice(-6).map(({ fds }) => fds)),
    ];
    t.comment(
      `${soak.count} invocations; ${soak.samples.at(0)?.mib.toFixed(1)} MiB, then ${soak.samples.at(-1)?.mib.toFixed(1)}; ` +
        `slope ${growth.toFixed(3)} MiB a minute; descriptors ${opened}, then ${open}; ` +
        `dispatch p50 ${quantile(first, 0.5).toFixed(2)} and ${quantile(last, 0.5).toFixed(2)} ms, p99 ${p99First.toFixed(2)} and ${p99Last.toFixed(2)} ms`,
    );
    t.same(soak.failures.slice(0, 5), [], `no failure of ${soak.count} invocations`);
    t.ok(growth < growthMaxMibPerMinute, `memory grows by ${growth.toFixed(3)} MiB a minute`);
    t.ok(open <= opened, `descriptors: ${opened}, then ${open}`);
    t.ok(
      Math.abs(p99Last - p99First) <= dispatchChangeMaxMs,
      `dispatch p99: ${p99First.toFixed(2)} ms, then ${p99Last.toFixed(2)} ms`,
    );
    t.equal((await daemon.status()).store.writeFailures, 0);
    t.equal((await daemon.status()).live, 0);
  },
);
