/**
 * The ways of a target that cannot be real-time, on the real kernel: favoured under the fair scheduler, or left alone; and back.
 */
import t, { type Test } from 'tap';
import type { TargetCount } from '../../src/contracts/modes.js';
import { journalBytes, journalOffsets } from '../../src/linux/journal-layout.js';
import type { LinuxKernelOptions } from '../../src/linux/linux-kernel.js';
import {
  type JournalScheduling,
  type JournalTask,
  PromotionJournal,
} from '../../src/linux/promotion-journal.js';
import { standingOf } from '../e2e/standing.js';
import { skipUnlessRoot, startPython } from './children.js';
import { type Harness, harness } from './harness.js';

const options = { skip: skipUnlessRoot };
const favour = { nice: -15, sliceNs: 500_021 };
const resetOnFork = 0x40000000;

t.setTimeout(150_000);

interface Counting extends Harness {
  readonly counts: string[];
}

function counting(t: Test, more: Partial<LinuxKernelOptions>): Counting {
  const counts: string[] = [];
  const countTarget = (way: TargetCount['way'], reason: TargetCount['reason']) =>
    void counts.push(`${way} ${reason}`);
  return { ...harness(t, { favour, countTarget, ...more }), counts };
}

t.test('mode eevdf gives a weight and a slice, and takes both back', options, async (t) => {
  const { kernel, libc, key, counts } = counting(t, { mode: 'eevdf' });
  const { group, pid } = await startPython(t, 'hear()');
  for (const [policy, nice] of [
    [0, 0],
    [3, 7],
    [5, 0],
    [3 | resetOnFork, -18],
  ] as const) {
    libc.schedSetscheduler(pid, policy, 0);
    libc.setpriority(pid, nice);
    const before = standingOf(pid);
    kernel.attach(group, key());
    t.equal(kernel.promote(group), 'ok');
    t.equal(kernel.promote(group), 'ok', 'idempotent');
    t.match(standingOf(pid), `OTHER reset nice ${Math.min(nice, -15)} slice 0.500021 ms`);
    t.equal(kernel.pause(group), 'ok');
    t.match(standingOf(pid), 'slice 0.500021 ms', 'there is no real-time to step down from');
    t.equal(kernel.demote(group), 'ok');
    t.equal(standingOf(pid), before);
    kernel.promote(group);
    kernel.release(group);
    t.equal(standingOf(pid), before, 'release demotes');
  }
  t.same(counts, [], 'as the mode says');
});

t.test('a slice that a program has chosen itself outlives mode eevdf', options, async (t) => {
  const { kernel, libc, key } = counting(t, { mode: 'eevdf' });
  const { group, pid } = await startPython(t, 'hear()');
  const words = new Uint32Array(12);
  const bytes = new Uint8Array(words.buffer);
  libc.schedGetattr(pid, bytes);
  words[6] = 20_000_000;
  t.ok(libc.schedSetattr(pid, bytes) >= 0);
  const before = standingOf(pid);
  kernel.attach(group, key());
  kernel.promote(group);
  kernel.demote(group);
  t.equal(standingOf(pid), before);
});

t.test('what is born in mode eevdf is favoured too, and nothing stays with it', options, async (t) => {
  const { kernel, key } = counting(t, { mode: 'eevdf' });
  const child = await startPython(
    t,
    `
hear()
pid = os.fork()
if pid == 0:
    while True: hear()
say(pid)
spin(0.05)
hear()
`,
  );
  const before = standingOf(child.pid);
  kernel.attach(child.group, key());
  kernel.promote(child.group);
  const inner = Number(await child.ask());
  t.teardown(() => process.kill(inner, 'SIGKILL'));
  kernel.observe(child.group);
  kernel.observe(child.group);
  kernel.promote(child.group);
  t.match(standingOf(inner), 'slice 0.500021 ms');
  kernel.demote(child.group);
  t.same([standingOf(child.pid), standingOf(inner)], [before, before]);
});

t.test('what is real-time by other hands is left alone in every mode', options, async (t) => {
  for (const mode of ['fifo', 'eevdf'] as const) {
    const { kernel, libc, key, counts } = counting(t, { mode });
    const { group, pid } = await startPython(t, 'hear()');
    libc.schedSetscheduler(pid, 2, 3);
    const before = standingOf(pid);
    kernel.attach(group, key());
    t.equal(kernel.promote(group), 'denied');
    t.equal(kernel.promote(group), 'denied');
    t.equal(standingOf(pid), before);
    t.same(counts, ['denied foreign'], 'counted once');
  }
});

t.test(
  'each task is noted before it is changed, and forgotten once it is what it was',
  options,
  async (t) => {
    const notes: string[] = [];
    const memory = new Uint8Array(journalBytes(16));
    new DataView(memory.buffer).setUint32(journalOffsets.header.entryCount, 16, true);
    class Noted extends PromotionJournal {
      readonly #tids = new Map<number, number>();

      override enter(task: JournalTask, saved: JournalScheduling): number {
        notes.push(`note ${standingOf(task.tid).split(' ')[0]} ${saved.nice}`);
        const entry = super.enter(task, saved);
        this.#tids.set(entry, task.tid);
        return entry;
      }

      override leave(entry: number): void {
        notes.push(`forget ${standingOf(this.#tids.get(entry) ?? 0).split(' ')[0]}`);
        super.leave(entry);
      }
    }
    const journal = new Noted(memory);
    const { kernel, key } = counting(t, { journal });
    const { group } = await startPython(t, 'hear()');
    kernel.attach(group, key());
    kernel.promote(group);
    kernel.pause(group);
    kernel.promote(group);
    kernel.demote(group);
    kernel.pause(group);
    kernel.release(group);
    t.same(notes, ['note OTHER 0', 'forget OTHER', 'note OTHER 0', 'forget OTHER']);
  },
);
