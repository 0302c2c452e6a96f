import { Worker } from 'node:worker_threads';
import t from 'tap';
import { cpusIn, maskOf, UsableCpus } from '../../src/linux/cpus.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { ThreadClock } from '../../src/linux/thread-clock.js';
import { tickLength, ticksIn } from '../../src/linux/tick-length.js';
import { requireLibc } from '../kernel/harness.js';

const libc = requireLibc();

t.test('the monotonic clock gives whole microseconds of CLOCK_MONOTONIC and never goes back', async (t) => {
  const clock = new MonotonicClock(libc);
  let last = clock.now();
  for (let read = 0; read < 1000; read++) {
    const now = clock.now();
    if (now < last || !Number.isSafeInteger(now)) t.fail(`${now} after ${last}`);
    last = now;
  }
  const before = clock.now();
  const kernel = Number(process.hrtime.bigint() / 1000n);
  const after = clock.now();
  t.ok(before <= kernel && kernel <= after, 'the same time line as any other program of this host');
});

t.test('a worker thread reads the same time line', async (t) => {
  const clock = new MonotonicClock(libc);
  const moduleUrl = (name: string) =>
    JSON.stringify(new URL(`../../src/linux/${name}.js`, import.meta.url).href);
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     (async () => {
       const { loadKoffiLibc } = await import(${moduleUrl('koffi-libc')});
       const { MonotonicClock } = await import(${moduleUrl('monotonic-clock')});
       parentPort.postMessage(new MonotonicClock(loadKoffiLibc().libc).now());
     })();`,
    { eval: true },
  );
  const before = clock.now();
  const there = await new Promise<number>((resolve) => worker.on('message', resolve));
  t.ok(before <= there && there <= clock.now());
  await worker.terminate();
});

t.test('CPU clocks tell the calling thread, one of ours, and any process', async (t) => {
  const clock = new ThreadClock(libc);
  const before = clock.ofCallingThread();
  for (let spins = 0; clock.ofCallingThread() - before < 5000; spins++)
    if (spins > 1e8) t.fail('it stands still');
  t.ok(Math.abs((clock.ofOwnThread(libc.gettid()) ?? 0) - clock.ofCallingThread()) < 5000);
  t.ok((clock.ofProcess(process.pid) ?? 0) >= clock.ofCallingThread() - 5000);
  t.equal(clock.ofProcess(2 ** 22 - 1), undefined);
  t.equal(clock.ofOwnThread(1), undefined, "another process's thread cannot be read");
});

t.test('the tick comes from the kernel configuration', async (t) => {
  t.equal(ticksIn('# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n'), 250);
  t.equal(ticksIn('CONFIG_HZ=1000\n'), 1000);
  t.equal(ticksIn(''), undefined);
  t.ok([1000, 3333, 4000, 10_000].includes(tickLength()));
});

t.test('usable CPUs are those of our affinity without the lowest reserved ones', async (t) => {
  const all = new UsableCpus(libc, { reserve: 0 });
  t.ok(all.count >= 1);
  t.equal(all.refresh(), false, 'nothing has changed');
  t.same(new UsableCpus(libc, { reserve: 1000 }).numbers, all.numbers.slice(-1), 'one always remains');
  if (all.count > 1) t.same(new UsableCpus(libc, { reserve: 1 }).numbers, all.numbers.slice(1));
  const [first = 0] = all.numbers;
  const whole = new Uint8Array(1024);
  libc.schedGetaffinity(0, whole);
  t.equal(libc.schedSetaffinity(0, maskOf(first)), 0);
  t.equal(
    all.refresh(),
    whole.some((byte, index) => byte !== maskOf(first)[index]),
  );
  t.same(all.numbers, [first]);
  libc.schedSetaffinity(0, whole);
  all.refresh();
  t.same(all.numbers, cpusIn(whole));
});

t.test('a mask names its CPUs, least significant bit first', async (t) => {
  t.same(cpusIn(new Uint8Array([0b101, 0, 0b10000000])), [0, 2, 23]);
  t.same(cpusIn(maskOf(77)), [77]);
});
