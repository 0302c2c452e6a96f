/** Births in cradles: more at once than there are, programs that never get there, and memory that is not the child's alone. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { stageOfExec } from '../../src/functions/spawner-protocol.js';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { burnRequest, removed, startProgram } from './bare-spawner.js';
import { eventually } from './support.js';

/** CRADLES_MAX and CRADLE_WAIT_MS_MAX of the C program. */
const cradles = 32;
const cradleWaitMs = 10;
const layout = CgroupLayout.detect();
const unified = layout.unifiedPath;
const root = process.getuid?.() === 0;
const skipWithoutGroups = { skip: root && unified !== undefined ? false : 'needs root and a cgroup2 tree' };
const memory = layout.controllerPath('memory');
const skipWithoutMemory = {
  skip: root && memory !== undefined ? false : 'needs root and a memory controller',
};
const nowhere = { ...burnRequest, arguments: ['/nowhere/at/all'] };

/** As in the daemon. */
const priority = root ? 15 : 0;
/** On a host that is full of other work. */
const patient = { timeout: 100_000 };

type Program = ReturnType<typeof startProgram>;

async function sendAll(
  program: Program,
  ids: readonly number[],
  requestFor: (id: number) => typeof burnRequest,
) {
  const left = [...ids];
  const send = () => {
    for (let id = left[0]; id !== undefined && program.send(id, requestFor(id)); id = left[0]) left.shift();
    return left.length === 0;
  };
  return eventually(send, 30_000);
}

const idsOf = (program: Program, kind: string) =>
  program.replies
    .flatMap((reply) => (reply.kind === kind && 'id' in reply ? [reply.id] : []))
    .sort((a, b) => a - b);

for (const memoryLimited of [false, true]) {
  const way = memoryLimited ? 'forked' : 'in cradles';
  t.test(`of 200 launches at once, ${way}, only those of a missing program fail`, patient, async (t) => {
    const program = startProgram({ priority });
    program.read();
    const ids = Array.from({ length: 200 }, (_, i) => i + 1);
    const missing = ids.filter((id) => id % 7 === 0);
    const present = ids.filter((id) => id % 7 !== 0);
    t.ok(await sendAll(program, ids, (id) => ({ ...(id % 7 === 0 ? nowhere : burnRequest), memoryLimited })));
    t.ok(await eventually(() => program.replies.length === 1 + 2 * present.length + missing.length, 60_000));
    t.same(idsOf(program, 'started'), present);
    t.same(idsOf(program, 'exited'), present);
    t.same(idsOf(program, 'failed'), missing);
    for (const reply of program.replies) {
      if (reply.kind === 'failed') t.match(reply, { stage: stageOfExec, errorNumber: 2 });
      if (reply.kind === 'exited') t.equal(reply.status, 0);
    }
    t.equal(await program.close(), 0);
  });
}

t.test('after 1,000 launches, failures among them, a request still finds a cradle', patient, async (t) => {
  const program = startProgram({ priority });
  program.read();
  const ids = Array.from({ length: 1000 }, (_, i) => i + 1);
  t.ok(await sendAll(program, ids, (id) => (id % 3 === 0 ? nowhere : burnRequest)));
  t.ok(await eventually(() => idsOf(program, 'exited').length === 667, 60_000));
  t.ok(await eventually(() => idsOf(program, 'failed').length === 333));
  // Without one it would wait; the quickest of many says so, however busy the host is.
  let quickestMs = Number.POSITIVE_INFINITY;
  for (let id = 1001; id <= 1050; id++) {
    const sentAtUs = Number(process.hrtime.bigint() / 1000n);
    program.send(id, burnRequest);
    t.ok(await eventually(() => idsOf(program, 'exited').includes(id)));
    const started = program.replies.find((reply) => reply.kind === 'started' && reply.id === id);
    if (started?.kind === 'started') quickestMs = Math.min(quickestMs, (started.atUs - sentAtUs) / 1000);
  }
  t.ok(quickestMs < cradleWaitMs, `${quickestMs} ms`);
  t.equal(await program.close(), 0);
});

t.test('programs that do not get to their exec hold up nobody else', skipWithoutGroups, async (t) => {
  const group = `${unified}/sfsd-test-${process.pid}-frozen`;
  mkdirSync(group);
  const program = startProgram({ priority });
  program.read();
  program.send(1, { ...burnRequest, birthplace: group });
  t.ok(await eventually(() => program.replies.length === 3));
  // Whoever is born here stands still before its first instruction.
  writeFileSync(`${group}/cgroup.freeze`, '1');
  const stuck = Array.from({ length: cradles + 8 }, (_, i) => 100 + i);
  t.ok(await sendAll(program, stuck, () => ({ ...burnRequest, birthplace: group })));
  program.send(2, burnRequest);
  t.ok(await eventually(() => idsOf(program, 'exited').includes(2)), 'a launch elsewhere is not held up');
  t.same(idsOf(program, 'started'), [1, 2]);
  program.kill(100, 9);
  t.ok(await eventually(() => idsOf(program, 'exited').includes(100)), 'nor is a kill');
  writeFileSync(`${group}/cgroup.freeze`, '0');
  const all = [1, 2, ...stuck];
  t.ok(await eventually(() => idsOf(program, 'exited').length === all.length));
  t.same(idsOf(program, 'exited'), all);
  t.equal(await program.close(), 0);
  t.ok(await eventually(() => removed(group)));
});

t.test('a spawner that ends takes along children that are not executed yet', skipWithoutGroups, async (t) => {
  const group = `${unified}/sfsd-test-${process.pid}-ended`;
  mkdirSync(group);
  const program = startProgram({ priority });
  program.read();
  program.send(1, { ...burnRequest, birthplace: group });
  t.ok(await eventually(() => program.replies.length === 3));
  writeFileSync(`${group}/cgroup.freeze`, '1');
  for (let id = 2; id < 6; id++) program.send(id, { ...burnRequest, birthplace: group });
  t.equal(await program.close(), 0);
  t.ok(await eventually(() => removed(group)));
});

t.test('a function does not inherit what the daemon is to the out-of-memory killer', async (t) => {
  const program = startProgram({ before: 'echo 500 > /proc/self/oom_score_adj' });
  program.read();
  const check = ['/bin/sh', '-c', 'test "$(cat /proc/self/oom_score_adj)" = 0'];
  program.send(1, { ...burnRequest, arguments: check });
  t.ok(await eventually(() => program.replies.length === 3));
  t.match(program.replies.at(-1), { kind: 'exited', status: 0 });
  t.equal(await program.close(), 0);
});

t.test(
  'functions that are out of memory before they are executed end alone',
  skipWithoutMemory,
  async (t) => {
    const group = `${memory}/sfsd-test-${process.pid}-starved`;
    mkdirSync(group);
    const second = existsSync(`${group}/memory.max`);
    // Too little for an exec, whose first pages are charged while the child still has the spawner's memory.
    writeFileSync(`${group}/${second ? 'memory.max' : 'memory.limit_in_bytes'}`, '16384');
    const program = startProgram({ priority });
    program.read();
    const starved = { ...burnRequest, cgroupProcsFiles: [`${group}/cgroup.procs`], memoryLimited: true };
    const ids = Array.from({ length: 40 }, (_, i) => i + 1);
    t.ok(await sendAll(program, ids, (id) => (id % 2 === 0 ? burnRequest : starved)));
    const answered = () => idsOf(program, 'exited').length + idsOf(program, 'failed').length;
    t.ok(await eventually(() => answered() === ids.length));
    for (const reply of program.replies) {
      if (reply.kind === 'exited') t.equal(reply.status === 0, reply.id % 2 === 0, `${reply.id}`);
      else if (reply.kind === 'failed') t.equal(reply.id % 2, 1);
    }
    t.equal(await program.close(), 0, 'the spawner has outlived them');
    t.ok(await eventually(() => removed(group)));
  },
);
