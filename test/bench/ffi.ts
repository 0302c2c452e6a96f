/**
 * What a kernel call costs by each FFI, in turns within one run, so that whatever else the host does meets both alike. The calls are
 * those of the hot paths: a system call with plain numbers, one that goes through the vDSO into a caller's buffer, a /proc file read
 * again, and the loop's wait with nothing to wait for.
 */
import type { Libc } from '../../src/linux/libc.js';
import { quantile } from '../../src/trace/replay/statistics.js';
import { loadBuiltFfiNapi, whyNoFfiNapi } from '../conformance/ffi-napi.js';
import type { Figure, Measure, MeasureContext } from './measure.js';

interface TimedCall {
  readonly name: string;
  readonly once: () => number;
}

const readOnly = 0;
const clockMonotonic = 1;
const eventBytes = 16;
/** Calls between two looks at the clock. */
const batch = 200;

export const ffiMeasure: Measure = {
  name: 'ffi',
  title: 'kernel calls by koffi and by ffi-napi',
  async run(context) {
    const other = loadBuiltFfiNapi();
    if (!other.ok)
      context.say(`ffi: koffi alone, since ffi-napi is not there: ${whyNoFfiNapi() ?? other.reason}`);
    const libraries = other.ok ? [context.libc, other.libc] : [context.libc];
    return measureCalls(context, libraries);
  },
};

function measureCalls(context: MeasureContext, libraries: readonly Libc[]): readonly Figure[] {
  const batches = context.short ? 10 : 200;
  const rooms = libraries.map((libc) => ({ libc, ...callsOf(libc) }));
  try {
    const names = rooms[0]?.calls.map(({ name }) => name) ?? [];
    return names.flatMap((name, index) => {
      const samples = rooms.map((): number[] => []);
      // The first round is for the compiler.
      for (let round = 0; round <= batches; round += 1) {
        rooms.forEach(({ calls }, room) => {
          const us = timeBatch(calls[index]);
          if (round > 0) samples[room]?.push(us);
        });
      }
      return rooms.map(({ libc }, room) => figureOf(`${name} by ${libc.name}`, samples[room] ?? []));
    });
  } finally {
    for (const { close } of rooms) close();
  }
}

function callsOf(libc: Libc): { readonly calls: readonly TimedCall[]; close(): void } {
  const stat = libc.open('/proc/self/stat', readOnly);
  const epoll = libc.epollCreate();
  const bytes = new Uint8Array(1024);
  const events = new Uint8Array(8 * eventBytes);
  const time = new BigInt64Array(2);
  return {
    calls: [
      { name: 'sched_getscheduler', once: () => libc.schedGetscheduler(0) },
      { name: 'clock_gettime', once: () => libc.clockGettime(clockMonotonic, time) },
      { name: 'pread of /proc/self/stat', once: () => libc.pread(stat, bytes, bytes.length) },
      { name: 'epoll_pwait2, no timeout', once: () => libc.epollWait(epoll, events, 8, 0) },
    ],
    close: () => {
      libc.close(epoll);
      libc.close(stat);
    },
  };
}

function timeBatch(call: TimedCall | undefined): number {
  if (call === undefined) return Number.NaN;
  const start = process.hrtime.bigint();
  for (let turn = 0; turn < batch; turn += 1) call.once();
  return Number(process.hrtime.bigint() - start) / 1000 / batch;
}

function figureOf(name: string, samples: readonly number[]): Figure {
  const p99 = quantile(samples, 0.99)?.toFixed(2);
  return {
    line: 6,
    name,
    value: quantile(samples, 0.5) ?? Number.NaN,
    unit: 'us',
    note: `${samples.length} batches of ${batch}; p99 of a batch ${p99}`,
  };
}
