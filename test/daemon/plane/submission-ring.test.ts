import fc from 'fast-check';
import t from 'tap';
import { type EndReason, invocationKey, type Submission } from '../../../src/contracts/invocation.js';
import { endReasons } from '../../../src/contracts/scheduler.js';
import type { TaskGroup } from '../../../src/contracts/task-group.js';
import { duration, instant } from '../../../src/contracts/time.js';
import {
  allocateSubmissionRing,
  type Message,
  SubmissionReader,
  SubmissionWriter,
} from '../../../src/daemon/plane/submission-ring.js';

/** fast-check makes records without a prototype, which strictSame tells apart. */
const plain = <T extends object>(record: T): T => ({ ...record });
const startTimes = fc.bigInt({ min: 0n, max: 2n ** 63n }).map(String);
const pids = fc.integer({ min: 2, max: 4_194_304 });
const groups: fc.Arbitrary<TaskGroup> = fc.oneof(
  fc.record({ kind: fc.constant('process' as const), pid: pids, startTime: startTimes }).map(plain),
  fc
    .record({
      kind: fc.constant('threads' as const),
      pid: pids,
      startTime: startTimes,
      tids: fc.array(pids, { minLength: 1, maxLength: 256 }),
    })
    .map(plain),
  fc
    .record({ kind: fc.constant('cgroup' as const), path: fc.string({ unit: 'grapheme', maxLength: 300 }) })
    .map(plain),
);
const submissions: fc.Arbitrary<Submission> = fc
  .record({
    key: fc.integer({ min: 1, max: 2 ** 40 }).map(invocationKey),
    functionName: fc.string({ unit: 'grapheme', maxLength: 128 }),
    group: groups,
    arrivedAt: fc.integer({ min: 0, max: 2 ** 50 }).map(instant),
    policy: fc.option(fc.constantFrom('sfs' as const, 'cfs' as const), { nil: undefined }),
    weight: fc.option(fc.double({ min: 0.1, max: 100, noNaN: true }), { nil: undefined }),
    expected: fc.option(fc.integer({ min: 0, max: 1e9 }).map(duration), { nil: undefined }),
    sliceMax: fc.option(fc.integer({ min: 500, max: 6e7 }).map(duration), { nil: undefined }),
  })
  .map(({ policy, weight, expected, sliceMax, ...rest }) => ({
    ...rest,
    ...(policy === undefined ? {} : { policy }),
    ...(weight === undefined ? {} : { weight }),
    ...(expected === undefined ? {} : { expected }),
    ...(sliceMax === undefined ? {} : { sliceMax }),
  }));
const messages: fc.Arbitrary<Message> = fc.oneof(
  { weight: 5, arbitrary: submissions.map((submission) => ({ type: 'submit' as const, submission })) },
  { weight: 1, arbitrary: submissions.map((submission) => ({ type: 'begin' as const, submission })) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        type: fc.constant('end' as const),
        key: fc.integer({ min: 1, max: 2 ** 40 }).map(invocationKey),
        reason: fc.constantFrom<EndReason>(...endReasons),
      })
      .map(plain),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ type: fc.constant('workers' as const), count: fc.integer({ min: 1, max: 999 }) })
      .map(plain),
  },
);

function write(writer: SubmissionWriter, message: Message): 'ok' | 'ring' | 'full' {
  switch (message.type) {
    case 'submit':
    case 'begin':
      return writer.submit(message.type, message.submission);
    case 'end':
      return writer.end(message.key, message.reason);
    case 'workers':
      return writer.setWorkers(message.count);
    case 'stop':
      return writer.stop();
  }
}

t.test('what goes in comes out, in order, over many turns of the ring', async (t) => {
  const steps = fc.array(fc.oneof(messages, fc.constant('read' as const)), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const shared = allocateSubmissionRing(8192);
      const writer = new SubmissionWriter(shared);
      const reader = new SubmissionReader(shared);
      const model: Message[] = [];
      for (const step of all) {
        if (step === 'read') {
          t.strictSame(reader.next(), model.shift());
        } else if (write(writer, step) !== 'full') {
          model.push(step);
        }
      }
      for (const expected of model) t.strictSame(reader.next(), expected);
      t.equal(reader.next(), undefined);
    }),
    { numRuns: 200 },
  );
});

t.test('a full ring refuses and loses nothing that it took', async (t) => {
  const shared = allocateSubmissionRing(1024);
  const writer = new SubmissionWriter(shared);
  const reader = new SubmissionReader(shared);
  let taken = 0;
  while (writer.end(invocationKey(taken + 1), 'completed') !== 'full') taken += 1;
  t.equal(taken, 1024 / 24 - ((1024 / 24) % 1), 'the whole capacity is usable');
  for (let key = 1; key <= taken; key += 1) {
    t.strictSame(reader.next(), { type: 'end', key: invocationKey(key), reason: 'completed' });
  }
  t.equal(reader.next(), undefined);
});

t.test('the writer asks for the bell only when the reader has said it sleeps', async (t) => {
  const shared = allocateSubmissionRing(1024);
  const writer = new SubmissionWriter(shared);
  const reader = new SubmissionReader(shared);
  t.equal(writer.setWorkers(1), 'ok', 'the reader is awake');
  t.equal(reader.fallAsleep(), false, 'something came in: no sleep');
  reader.next();
  t.equal(reader.fallAsleep(), true);
  t.equal(writer.setWorkers(2), 'ring');
  t.equal(writer.setWorkers(3), 'ok', 'one bell is enough');
});
