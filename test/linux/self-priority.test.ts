import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { SelfPriority } from '../../src/linux/self-priority.js';
import { skipUnlessRoot } from '../kernel/children.js';
import { harness, requireLibc } from '../kernel/harness.js';

const tids = () => readdirSync('/proc/self/task').map(Number);

t.test(
  'every thread of this process is raised, late ones by the next call, and lowered again',
  { skip: skipUnlessRoot },
  async (t) => {
    const { libc, policy } = harness(t);
    const before = new Map(tids().map((tid) => [tid, policy(tid)]));
    const own = new SelfPriority(libc, { common: 2 });
    t.teardown(() => own.lower());
    own.assign('main', process.pid, 3);
    t.same(own.list(), [{ name: 'main', tid: process.pid, priority: 3 }]);
    t.equal(own.raise(), 'ok');
    for (const tid of tids()) t.equal(policy(tid), tid === process.pid ? 'FIFO 3 reset' : 'FIFO 2 reset');
    const known = new Set(tids());
    const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
    await new Promise((resolve) => worker.once('online', resolve));
    const late = tids().filter((tid) => !known.has(tid));
    t.ok(late.length > 0);
    for (const tid of late) t.equal(policy(tid), 'OTHER', 'born under the fair scheduler');
    t.equal(own.raise(), 'ok');
    for (const tid of late) t.equal(policy(tid), 'FIFO 2 reset');
    own.lower();
    for (const tid of tids()) t.equal(policy(tid), before.get(tid) ?? 'OTHER');
    await worker.terminate();
    own.lower();
  },
);

t.test('a refusal is a value that names its reason', async (t) => {
  const result = new SelfPriority(requireLibc(), { common: 200 }).raise();
  t.match(result, { denied: true, reason: /errno 22/ }, 'no such priority');
});
