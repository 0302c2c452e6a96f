/** The checks see what they are there for: each invariant, broken on purpose. */
import t from 'tap';
import { invocationKey } from '../../src/contracts/invocation.js';
import type { DecisionLog, SchedulerView } from '../../src/contracts/scheduler.js';
import { fromMs, instant, noTime } from '../../src/contracts/time.js';
import { noFaults } from '../../src/sim/faults.js';
import { Invariants } from '../../src/sim/invariants.js';
import { Task } from '../../src/sim/task.js';
import { parametersFor, request } from './machines.js';

const noLog: DecisionLog = { record: () => undefined };

function setUp(): { readonly checks: Invariants; readonly log: DecisionLog; readonly task: Task } {
  const checks = new Invariants({
    policy: 'sfs',
    parameters: parametersFor(2),
    faults: noFaults,
    tickLateness: noTime,
    pickupDelay: noTime,
  });
  const log = checks.watch(noLog);
  const task = new Task(0, request(0, 100), instant(0));
  checks.started(task);
  checks.admitted(task, 'ok');
  return { checks, log, task };
}

function viewOf(workers: readonly number[], live: number): SchedulerView {
  return { workers, live } as unknown as SchedulerView;
}

t.test('an invocation held by two workers', async (t) => {
  t.throws(() => setUp().checks.check(viewOf([1, 1], 1), 0), /held by two workers/);
});

t.test('an invocation that the policy has lost', async (t) => {
  t.throws(() => setUp().checks.check(viewOf([0, 0], 0), 0), /none is lost/);
  t.throws(() => setUp().checks.ended(0), /all have ended/);
});

t.test('a refused or doubled submission', async (t) => {
  const { checks, task } = setUp();
  t.throws(() => checks.admitted(task, 'ok'), /submitted once/);
  checks.started(task);
  t.throws(() => checks.admitted(task, 'full'), /taken: full/);
});

t.test('a promoted task that no worker holds', async (t) => {
  const { checks, task } = setUp();
  task.standing = 'promoted';
  t.throws(() => checks.check(viewOf([0, 0], 1), 0), /promoted and held/);
});

t.test('FIFO beyond the slice and one poll', async (t) => {
  const { checks, log, task } = setUp();
  log.record('promoted', instant(0), invocationKey(1), 0, noTime, fromMs(20), 0);
  task.standing = 'promoted';
  task.cpu = fromMs(24);
  checks.check(viewOf([1, 0], 1), fromMs(24));
  task.cpu = fromMs(24.1);
  t.throws(() => checks.check(viewOf([1, 0], 1), fromMs(24.1)), /was charged 24100/);
});

t.test('more of a window than the budget allows', async (t) => {
  const { checks, task } = setUp();
  task.standing = 'promoted';
  checks.check(viewOf([1, 0], 1), 0);
  task.standing = 'paused';
  checks.check(viewOf([1, 0], 1), fromMs(83));
  task.standing = 'promoted';
  checks.check(viewOf([1, 0], 1), fromMs(85));
  task.standing = 'paused';
  t.throws(() => checks.check(viewOf([1, 0], 1), fromMs(95)), /FILTER was busy for/);
});
