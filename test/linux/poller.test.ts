import { closeSync, openSync } from 'node:fs';
import t from 'tap';
import { fromMs, type Instant } from '../../src/contracts/time.js';
import { MonotonicClock } from '../../src/linux/monotonic-clock.js';
import { eventsPerWaitMax, Poller } from '../../src/linux/poller.js';
import { requireLibc } from '../kernel/harness.js';

const libc = requireLibc();
const clock = new MonotonicClock(libc);
const one = new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0]);
const after = (ms: number) => (clock.now() + fromMs(ms)) as Instant;

function pollerFor(t: { teardown(fn: () => void): void }): Poller {
  const poller = new Poller(libc);
  t.teardown(() => poller.close());
  return poller;
}

t.test('a wait ends at its instant, not before and not a whole millisecond later', async (t) => {
  const poller = pollerFor(t);
  for (const microseconds of [0, 300, 1700]) {
    const end = (clock.now() + microseconds) as Instant;
    t.equal(poller.wait(end, clock.now()), 0);
    t.ok(clock.now() >= end);
  }
  t.equal(poller.wait(1 as Instant, clock.now()), 0, 'an instant in the past does not wait');
});

t.test('each ready descriptor is reported by its token until it is read', async (t) => {
  const poller = pollerFor(t);
  const first = libc.eventfd(0);
  const second = libc.eventfd(0);
  poller.add(first, 7);
  poller.add(second, 0xffff_ffff);
  t.equal(poller.wait(clock.now(), clock.now()), 0);
  libc.write(second, one, 8);
  t.equal(poller.wait(after(1000), clock.now()), 1);
  t.equal(poller.token(0), 0xffff_ffff);
  libc.write(first, one, 8);
  t.equal(poller.wait(undefined, clock.now()), 2);
  t.same([poller.token(0), poller.token(1)].sort(), [0xffff_ffff, 7].sort());
  t.throws(() => poller.token(2), { code: 'SFSD_ERR_INTERNAL' });
  poller.remove(second);
  t.equal(poller.wait(after(1000), clock.now()), 1);
  t.equal(poller.token(0), 7);
  libc.read(first, new Uint8Array(8), 8);
  t.equal(poller.wait(clock.now(), clock.now()), 0);
  libc.close(first);
  libc.close(second);
});

t.test('more events than one wait brings come with the next', async (t) => {
  const poller = pollerFor(t);
  const fds = Array.from({ length: eventsPerWaitMax + 10 }, () => libc.eventfd(1));
  fds.forEach((fd, index) => {
    poller.add(fd, index);
  });
  const seen = new Set<number>();
  for (let wait = 0; wait < 3; wait++) {
    const ready = poller.wait(clock.now(), clock.now());
    t.ok(ready <= eventsPerWaitMax);
    for (let index = 0; index < ready; index++) {
      const token = poller.token(index);
      seen.add(token);
      libc.read(fds[token] ?? -1, new Uint8Array(8), 8);
    }
  }
  t.equal(seen.size, fds.length);
  for (const fd of fds) libc.close(fd);
});

t.test('what epoll refuses is a coded error', async (t) => {
  const poller = pollerFor(t);
  const file = openSync('/proc/self/comm', 'r');
  t.throws(() => poller.add(file, 1), { code: 'SFSD_ERR_KERNEL' });
  closeSync(file);
  t.throws(() => poller.remove(file), { code: 'SFSD_ERR_KERNEL' });
});
