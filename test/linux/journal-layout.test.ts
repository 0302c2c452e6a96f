/** The two mirrors of the journal's layout say the same. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import {
  entryFlags,
  entryHeld,
  guardStates,
  journalAffinityBytes,
  journalEntriesMax,
  journalEntryBytes,
  journalHeaderBytes,
  journalHomeBytes,
  journalMagic,
  journalOffsets,
  journalPathBytes,
  journalVersion,
} from '../../src/linux/journal-layout.js';

const guardPath = fileURLToPath(new URL('../../../native/build/guard', import.meta.url));

/** `name offset size` or `name value`, as the C program prints its own layout. */
const layout = new Map(
  execFileSync(guardPath, ['--layout'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', ...numbers] = line.split(' ');
      return [name, numbers.map(Number)] as const;
    }),
);

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

t.test('sizes, bounds and values are those of journal.h', async (t) => {
  const ours = {
    magic: journalMagic,
    version: journalVersion,
    header: journalHeaderBytes,
    entry: journalEntryBytes,
    entriesMax: journalEntriesMax,
    affinityBytes: journalAffinityBytes,
    homeBytes: journalHomeBytes,
    pathBytes: journalPathBytes,
    'state.held': entryHeld,
    'flag.nice': entryFlags.nice,
    'flag.bound': entryFlags.bound,
    'flag.moved': entryFlags.moved,
    'guard.watching': guardStates.watching,
    'guard.stalled': guardStates.stalled,
  };
  for (const [name, value] of Object.entries(ours)) t.same(layout.get(name), [value], name);
});

t.test('every field lies where journal.h puts it', async (t) => {
  let fields = 0;
  for (const [struct, offsets] of Object.entries(journalOffsets)) {
    for (const [field, offset] of Object.entries(offsets)) {
      t.equal(layout.get(`${struct}.${snake(field)}`)?.[0], offset, `${struct}.${field}`);
      fields += 1;
    }
  }
  const theirs = [...layout.keys()].filter((name) => /^(header|entry)\./.test(name));
  t.equal(fields, theirs.length, 'neither side has a field more');
});
