/** FIFO, RR and SRTF on examples worked out by hand. */
import t from 'tap';
import { fromMs } from '../../src/contracts/time.js';
import { simulate } from '../../src/sim/fleet.js';
import type { SimulatedRequest } from '../../src/sim/task.js';
import { fleetFor, request } from './machines.js';

function endsMs(
  requests: readonly SimulatedRequest[],
  cores: number,
  policy: 'fifo' | 'rr' | 'srtf',
): readonly number[] {
  const run = simulate(requests, fleetFor(cores, { policy, quantum: fromMs(10) }));
  return [...run.endedAt].map((end) => Math.round(end) / 1000);
}

t.test('FIFO runs whoever came first to its end', async (t) => {
  t.same(endsMs([request(0, 30), request(1, 5), request(2, 5)], 1, 'fifo'), [30, 35, 40]);
  t.same(endsMs([request(0, 30), request(1, 5), request(2, 5)], 2, 'fifo'), [30, 6, 11]);
});

t.test('FIFO: who sleeps gives its core away, and joins at the tail when it wakes', async (t) => {
  const sleeper = request(0, 10, { atMs: 5, lengthMs: 3 });
  t.same(endsMs([sleeper, request(1, 20), request(2, 4)], 1, 'fifo'), [34, 25, 29]);
});

t.test('RR moves on after each quantum while others wait', async (t) => {
  t.same(endsMs([request(0, 25), request(0, 10), request(0, 15)], 1, 'rr'), [50, 20, 45]);
  t.same(endsMs([request(0, 25)], 1, 'rr'), [25]);
});

t.test('RR: two cores take turns from one queue', async (t) => {
  t.same(endsMs([request(0, 20), request(0, 10), request(0, 10)], 2, 'rr'), [20, 10, 20]);
});

t.test('SRTF preempts the one with most left for one with less', async (t) => {
  t.same(endsMs([request(0, 30), request(5, 10), request(6, 2)], 1, 'srtf'), [42, 17, 8]);
  t.same(endsMs([request(0, 30), request(0, 20), request(5, 4)], 2, 'srtf'), [34, 20, 9]);
});

t.test('SRTF counts what is left to the end, sleeps or not', async (t) => {
  const sleeper = request(0, 20, { atMs: 2, lengthMs: 10 });
  t.same(endsMs([sleeper, request(1, 19)], 1, 'srtf'), [39, 21]);
});
