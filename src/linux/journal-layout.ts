/**
 * The journal of promoted tasks as it lies in memory: the mirror of native/guard/journal.h, which says what it is for and in which order it
 * is written. test/linux/journal-layout.test.ts holds the two together.
 */
export const journalMagic = 0x4a465331;
export const journalVersion = 1;

export const journalHeaderBytes = 4096;
export const journalEntryBytes = 512;
export const journalEntriesMax = 2 ** 20;
/** A task's CPUs, as far as the journal keeps them. */
export const journalAffinityBytes = 128;
/** With their terminators. */
export const journalHomeBytes = 320;
export const journalPathBytes = 512;

export const journalOffsets = {
  header: {
    magic: 0,
    version: 4,
    entryCount: 8,
    entryBytes: 12,
    epoch: 16,
    heartbeat: 20,
    entriesUsed: 24,
    closing: 28,
    daemonPid: 32,
    guardPid: 36,
    guardState: 40,
    priority: 44,
    stalls: 48,
    demoted: 52,
    cpuMount: 56,
    cpuGroup: 568,
  },
  entry: {
    state: 0,
    flags: 4,
    pid: 8,
    tid: 12,
    startTime: 16,
    policy: 24,
    nice: 28,
    runtimeNs: 32,
    epoch: 40,
    priority: 44,
    affinity: 64,
    home: 192,
  },
} as const;

export const entryFree = 0;
export const entryHeld = 1;

/** nice: a pause has changed the nice value. bound: to one CPU. moved: to our cpu group, or about to be. */
export const entryFlags = { nice: 1, bound: 2, moved: 4 } as const;

export const guardStates = { watching: 1, stalled: 2 } as const;

export function journalBytes(entryCount: number): number {
  return journalHeaderBytes + entryCount * journalEntryBytes;
}
