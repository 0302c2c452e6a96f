import t from 'tap';
import { invocationKey } from '../../../src/contracts/invocation.js';
import { decisionKinds } from '../../../src/contracts/scheduler.js';
import { duration, instant } from '../../../src/contracts/time.js';
import {
  allocateDecisionRing,
  DecisionReader,
  DecisionWriter,
} from '../../../src/daemon/plane/decision-ring.js';

t.test('every kind of decision survives the crossing', async (t) => {
  const shared = allocateDecisionRing(16);
  const writer = new DecisionWriter(shared);
  const reader = new DecisionReader(shared);
  for (const [index, kind] of decisionKinds.entries()) {
    if (kind === 'ended') continue;
    writer.record(kind, instant(index), invocationKey(index + 1), index, duration(7), 1.5, -2);
    t.strictSame(reader.next(), {
      kind,
      at: index,
      key: index + 1,
      worker: index,
      cpuTime: 7,
      value: 1.5,
      extra: -2,
    });
  }
  t.equal(reader.next(), undefined);
});

t.test('a reader that is behind loses records and is told how many, but never an end', async (t) => {
  const shared = allocateDecisionRing(16);
  const writer = new DecisionWriter(shared);
  const reader = new DecisionReader(shared);
  for (let key = 1; key <= 12; key += 1) {
    writer.record('arrived', instant(0), invocationKey(key), -1, duration(0), 0, 0);
  }
  for (let key = 1; key <= 8; key += 1) {
    writer.record('ended', instant(0), invocationKey(key), -1, duration(0), 0, 0);
  }
  const kinds: string[] = [];
  for (let decision = reader.next(); decision !== undefined; decision = reader.next())
    kinds.push(decision.kind);
  t.equal(kinds.filter((kind) => kind === 'arrived').length, 8);
  t.equal(kinds.filter((kind) => kind === 'ended').length, 8);
  t.equal(reader.lost, 4);
});
