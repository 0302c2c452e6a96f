/** One batch is under way at a time, the next one gathers meanwhile. */
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import { ChangeQueue } from '../../src/store/change-queue.js';
import type { StoreChange } from '../../src/store/store-file.js';

const failure = new SfsdError('SFSD_ERR_STORE_FAILED', { path: 'p', reason: 'disk' });
const remove = (name: string): StoreChange => ({ kind: 'delete', name });
const end = (id: string): StoreChange => ({ kind: 'end', source: 'api', id });

function rig() {
  const sent: (readonly StoreChange[])[] = [];
  const reports: [code: string | undefined, changes: number][] = [];
  const queue = new ChangeQueue({
    path: 'p',
    send: (changes) => void sent.push(changes),
    report: (refusal, changes) => void reports.push([refusal?.code, changes]),
  });
  return { queue, sent, reports };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

t.test('changes of one tick are one batch; those that come while it is under way are the next', async (t) => {
  const { queue, sent } = rig();
  const first = [queue.add(remove('a')), queue.add(remove('b'))];
  await tick();
  const second = queue.add(remove('c'));
  await tick();
  t.same(sent, [[remove('a'), remove('b')]]);
  queue.answered(undefined);
  await Promise.all(first);
  await tick();
  t.same(sent.slice(1), [[remove('c')]]);
  queue.answered(undefined);
  await second;
  await queue.idle();
});

t.test('an end that failed goes with the next batch; who waits for anything else is told', async (t) => {
  const { queue, sent, reports } = rig();
  const removed = queue.add(remove('a'));
  const ended = queue.add(end('x'));
  await tick();
  queue.answered(failure);
  await t.rejects(removed, { code: 'SFSD_ERR_STORE_FAILED' });
  await tick();
  t.equal(sent.length, 1, 'not at once');
  const next = queue.add(remove('b'));
  await tick();
  t.same(sent[1], [end('x'), remove('b')]);
  queue.answered(undefined);
  await Promise.all([ended, next]);
  t.same(reports, [
    ['SFSD_ERR_STORE_FAILED', 2],
    [undefined, 2],
  ]);
});

t.test('a close tries an end that failed once more, and waits no longer', async (t) => {
  const { queue, sent } = rig();
  void queue.add(end('x'));
  await tick();
  queue.answered(failure);
  const idle = queue.idle();
  await tick();
  t.same(sent, [[end('x')], [end('x')]]);
  queue.answered(failure);
  await idle;
});

t.test('when the thread is gone everything is refused, at once and for good', async (t) => {
  const { queue, sent, reports } = rig();
  const underWay = queue.add(remove('a'));
  await tick();
  const waiting = queue.add(remove('b'));
  queue.break(failure);
  for (const refused of [underWay, waiting, queue.add(remove('c'))]) {
    await t.rejects(refused, { code: 'SFSD_ERR_STORE_FAILED' });
  }
  await queue.idle();
  t.equal(sent.length, 1);
  t.equal(reports.length, 2);
});

t.test('waiting changes are bounded, and ends always have room', async (t) => {
  const { queue, reports } = rig();
  const waiting = Array.from({ length: 65_536 }, () => queue.add(remove('a')));
  await t.rejects(queue.add(remove('b')), { code: 'SFSD_ERR_STORE_FAILED', message: '65536 changes wait' });
  const ended = queue.add(end('x'));
  t.same(reports, [['SFSD_ERR_STORE_FAILED', 1]]);
  queue.break(failure);
  const settled = await Promise.allSettled([...waiting, ended]);
  t.ok(settled.every(({ status }) => status === 'rejected'));
});
