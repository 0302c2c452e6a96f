/** The scheduling thread's hand in the journal, on memory alone. */
import t from 'tap';
import {
  entryFlags,
  entryFree,
  entryHeld,
  journalBytes,
  journalEntryBytes,
  journalHeaderBytes,
  journalHomeBytes,
  journalOffsets,
} from '../../src/linux/journal-layout.js';
import { PromotionJournal } from '../../src/linux/promotion-journal.js';

const { header, entry } = journalOffsets;
const task = { pid: 10, tid: 11, startTicks: 2 ** 33 + 5 };
const scheduling = { policy: 3 | 0x40000000, nice: -7, runtimeNs: 2 ** 32 + 9 };

function memoryOf(entries: number): DataView {
  const memory = new DataView(new ArrayBuffer(journalBytes(entries)));
  memory.setUint32(header.entryCount, entries, true);
  return memory;
}

const journalOver = (memory: DataView) => new PromotionJournal(new Uint8Array(memory.buffer));
const at = (index: number) => journalHeaderBytes + index * journalEntryBytes;

t.test('an entry says who a task is and what it was', async (t) => {
  const memory = memoryOf(2);
  const journal = journalOver(memory);
  t.equal(journal.enter(task, scheduling), 0);
  const read = (offset: number) => memory.getUint32(at(0) + offset, true);
  t.equal(read(entry.state), entryHeld);
  t.same([read(entry.pid), read(entry.tid), read(entry.policy)], [10, 11, 3 | 0x40000000]);
  t.equal(memory.getBigUint64(at(0) + entry.startTime, true), 2n ** 33n + 5n);
  t.equal(memory.getInt32(at(0) + entry.nice, true), -7);
  t.equal(memory.getBigUint64(at(0) + entry.runtimeNs, true), 2n ** 32n + 9n);
  t.equal(memory.getUint32(header.entriesUsed, true), 1);
  journal.leave(0);
  t.equal(read(entry.state), entryFree);
});

t.test('entries are used again, without the flags of the last, and a full journal says so', async (t) => {
  const memory = memoryOf(2);
  const journal = journalOver(memory);
  journal.enter(task, scheduling);
  journal.setNice(0, true);
  journal.leave(0);
  t.equal(journal.enter(task, scheduling), 0);
  t.equal(memory.getUint32(at(0) + entry.flags, true), 0);
  t.equal(journal.enter(task, scheduling), 1);
  t.ok(journal.enter(task, scheduling) < 0);
  t.equal(journal.held, 2);
});

t.test('flags come and go with what they stand for; what does not fit is refused', async (t) => {
  const memory = memoryOf(1);
  const journal = journalOver(memory);
  journal.enter(task, scheduling);
  const flags = () => memory.getUint32(at(0) + entry.flags, true);
  journal.setNice(0, true);
  t.equal(flags(), entryFlags.nice);
  journal.setNice(0, false);
  t.equal(flags(), 0);
  t.equal(journal.setHome(0, `/${'a'.repeat(journalHomeBytes)}`), false);
  t.equal(flags(), 0);
  t.ok(journal.setHome(0, '/kubepods/pöd'));
  const text = new Uint8Array(memory.buffer, at(0) + entry.home, 15);
  t.equal(Buffer.from(text).toString(), '/kubepods/pöd\0');
  const far = new Uint8Array(1024);
  far[1000] = 1;
  t.equal(journal.setBound(0, far), false, 'a CPU beyond what an entry holds');
  t.ok(journal.setBound(0, new Uint8Array(1024).fill(3, 0, 1)));
  t.equal(memory.getUint8(at(0) + entry.affinity), 3);
  t.equal(flags(), entryFlags.moved | entryFlags.bound);
});

t.test('each beat counts, and tells once of each new epoch', async (t) => {
  const memory = memoryOf(1);
  memory.setUint32(header.epoch, 4, true);
  const journal = journalOver(memory);
  t.equal(journal.beat(), false, 'what was before us is not news');
  t.equal(memory.getUint32(header.heartbeat, true), 1);
  memory.setUint32(header.epoch, 6, true);
  t.same([journal.beat(), journal.beat()], [true, false]);
  t.equal(memory.getUint32(header.heartbeat, true), 3);
  memory.setUint32(header.heartbeat, 0xffff_ffff, true);
  journal.beat();
  t.equal(memory.getUint32(header.heartbeat, true), 1, '0 means that no loop turns yet');
});

t.test('an entry costs about a microsecond at most', async (t) => {
  const journal = journalOver(memoryOf(64));
  const pairs = 200_000;
  const runs = [1, 2, 3, 4, 5].map(() => {
    const before = process.hrtime.bigint();
    for (let pair = 0; pair < pairs; pair += 1) journal.leave(journal.enter(task, scheduling));
    return Number(process.hrtime.bigint() - before) / pairs;
  });
  t.comment(`${Math.min(...runs).toFixed(0)} ns for an entry and its end`);
  t.ok(Math.min(...runs) < 1000);
});
