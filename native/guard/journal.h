/*
 * The journal of promoted tasks: one file in memory that outlives the daemon, mapped by it and by its guard. src/linux/journal-layout.ts
 * mirrors this file, and test/linux/journal-layout.test.ts holds the two together through `guard --layout`.
 *
 *   struct journal_header | entry_count x struct journal_entry
 *
 * The scheduling thread writes entries, each before it touches the task's scheduling, and frees it after the task has become what it was:
 *
 *   1. fields   2. state = ENTRY_HELD   3. sched_setscheduler   ...   4. all is restored   5. state = ENTRY_FREE
 *   to another cpu group: home, then MOVED, then the move.     a nice value or CPUs of our own: the flag, then the call.
 *
 * So a reader may find an entry whose task was never touched, and undoing that changes nothing; it never misses a task that was.
 *
 * The entries of protected processes come first; another thread writes them, and entries_used counts all of them from the start.
 *
 * heartbeat    counted up by each turn of the scheduling loop, at least every 400 ms
 * epoch        counted up by a guard each time before it demotes everything. The daemon compares it at each turn: another number says that
 *              what it had promoted is promoted no more
 * closing      the daemon ends in order: with no entry left, the guard may go
 *
 * A guard clears entries only when the daemon is dead: of a stalled one it sweeps them again and again, because a daemon that wakes in
 * the middle of a promotion finishes it before it looks at the epoch.
 */
#ifndef SFSD_GUARD_JOURNAL_H
#define SFSD_GUARD_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_MAGIC = 0x4a465331, JOURNAL_VERSION = 1 };
enum { JOURNAL_FD = 3 };

enum { HEADER_BYTES = 4096, ENTRY_BYTES = 512, ENTRIES_MAX = 1 << 20 };
enum { AFFINITY_BYTES = 128, HOME_BYTES = 320, PATH_BYTES = 512 };

enum entry_state { ENTRY_FREE = 0, ENTRY_HELD = 1 };

/* NICE: it is ahead under the fair scheduler, in a pause or in mode eevdf: nice value, slice and reset-on-fork are ours. BOUND: it may run on one CPU only. MOVED: it is, or is about to be, in our cpu group. */
enum entry_flag { ENTRY_NICE = 1, ENTRY_BOUND = 2, ENTRY_MOVED = 4 };

enum guard_state { GUARD_NONE = 0, GUARD_WATCHING = 1, GUARD_STALLED = 2 };

struct journal_header {
	uint32_t magic;
	uint32_t version;
	uint32_t entry_count;
	uint32_t entry_bytes;
	uint32_t epoch;
	uint32_t heartbeat;
	/* No entry from here on was ever used. */
	uint32_t entries_used;
	uint32_t closing;
	uint32_t daemon_pid;
	uint32_t guard_pid;
	uint32_t guard_state;
	/* The real-time priority of promoted functions. */
	uint32_t priority;
	/* Stalls that guards have seen, and tasks that they have demoted. */
	uint32_t stalls;
	uint32_t demoted;
	/* The mount of the v1 cpu tree, and our group's directory; empty where there is none. NUL-terminated. */
	char cpu_mount[PATH_BYTES];
	char cpu_group[PATH_BYTES];
};

struct journal_entry {
	uint32_t state;
	uint32_t flags;
	uint32_t pid;
	uint32_t tid;
	/* Field 22 of /proc/PID/task/TID/stat. */
	uint64_t start_time;
	/* What it was: the policy with SCHED_RESET_ON_FORK if it carried that, nice value, and the fair scheduler's slice. */
	uint32_t policy;
	int32_t nice;
	uint64_t runtime_ns;
	/* The epoch in which it was promoted. */
	uint32_t epoch;
	/* The real-time priority that it was given: with another one it is not ours any more. */
	uint32_t priority;
	uint32_t reserved[4];
	uint8_t affinity[AFFINITY_BYTES];
	/* Its group in the v1 cpu tree, relative to the mount. NUL-terminated. */
	char home[HOME_BYTES];
};

_Static_assert(sizeof(struct journal_header) <= HEADER_BYTES, "the header fits its page");
_Static_assert(sizeof(struct journal_entry) == ENTRY_BYTES, "an entry has no padding");
_Static_assert(offsetof(struct journal_entry, affinity) == 64, "what every promotion writes is one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the journal is the host's own byte order");

#endif
