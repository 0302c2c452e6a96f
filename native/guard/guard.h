/* What the files of the guard and of sfsd-demote-all share. */
#ifndef SFSD_GUARD_GUARD_H
#define SFSD_GUARD_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "journal.h"

/* What a sweep has done, in tasks. */
struct tally {
	/* Were real-time, or had another nice value or other CPUs by our hand, and are what they were. */
	uint32_t demoted;
	/* Are back in their cpu group. */
	uint32_t moved;
	/* The kernel would not: they may still be real-time. */
	uint32_t refused;
};

/* map.c: NULL with errno; EINVAL: it is no journal of this version. Never written to by anybody else: see there. */
struct journal_header *journal_map(int fd);
struct journal_header *journal_open(const char *path);
struct journal_entry *journal_entry_at(struct journal_header *journal, uint32_t index);
uint32_t journal_entries_used(const struct journal_header *journal);
bool journal_is_empty(struct journal_header *journal);

/* identity.c: 0 when it has ended. */
uint64_t start_time_of(pid_t pid, pid_t tid);
/* Of a thread: its process and that one's parent. False when it has ended. */
/* Its group in the v1 cpu tree. False when it has ended, or there is no such tree. */
bool cpu_group_of(pid_t tid, char *group, size_t bytes);
bool relatives_of(pid_t tid, pid_t *process, pid_t *parent);

/* restore.c */
bool is_ours(pid_t tid, uint32_t priority);
/* What it may run on, and how; then, for all entries, where. Waiting for a move must not keep the next one real-time. */
void restore_scheduling(const struct journal_header *journal, const struct journal_entry *entry, struct tally *tally);
void restore_home(const struct journal_header *journal, const struct journal_entry *entry, struct tally *tally);

/* homes.c */
/* Whether it is where our promotion has put it: a move costs far more than to look. */
bool is_away(const struct journal_header *journal, pid_t tid, const char *home);
bool move_home(const struct journal_header *journal, pid_t tid, const char *home);
void send_children_home(struct journal_header *journal, struct tally *tally);

/* grace.c: `find` once at start, the others around moves. */
void grace_find(void);
void grace_hurry(void);
void grace_rest(void);

/* sweep.c: undoes what the journal says; children that were born inside our cpu group go with their parents. */
void sweep(struct journal_header *journal, struct tally *tally);
void clear_entries(struct journal_header *journal);

/* standing.c: real-time, in memory, and not first to be killed; what is not permitted is left out. */
void stand_above(int priority);

/* layout.c */
void layout_print(void);

#endif
