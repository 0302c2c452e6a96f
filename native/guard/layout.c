/* The journal's sizes, bounds and offsets as text, for the test that holds the TypeScript mirror to journal.h. */
#include "guard.h"

#include <stdio.h>

void layout_print(void)
{
#define FIELD(name, type, field) printf("%s.%s %zu %zu\n", name, #field, offsetof(type, field), sizeof(((type *)0)->field))
	printf("magic %d\nversion %d\nheader %d\nentry %d\nentriesMax %d\n", JOURNAL_MAGIC, JOURNAL_VERSION, HEADER_BYTES, ENTRY_BYTES,
	       ENTRIES_MAX);
	printf("affinityBytes %d\nhomeBytes %d\npathBytes %d\n", AFFINITY_BYTES, HOME_BYTES, PATH_BYTES);
	printf("state.held %d\nflag.nice %d\nflag.bound %d\nflag.moved %d\n", ENTRY_HELD, ENTRY_NICE, ENTRY_BOUND, ENTRY_MOVED);
	printf("guard.watching %d\nguard.stalled %d\n", GUARD_WATCHING, GUARD_STALLED);
	FIELD("header", struct journal_header, magic);
	FIELD("header", struct journal_header, version);
	FIELD("header", struct journal_header, entry_count);
	FIELD("header", struct journal_header, entry_bytes);
	FIELD("header", struct journal_header, epoch);
	FIELD("header", struct journal_header, heartbeat);
	FIELD("header", struct journal_header, entries_used);
	FIELD("header", struct journal_header, closing);
	FIELD("header", struct journal_header, daemon_pid);
	FIELD("header", struct journal_header, guard_pid);
	FIELD("header", struct journal_header, guard_state);
	FIELD("header", struct journal_header, priority);
	FIELD("header", struct journal_header, stalls);
	FIELD("header", struct journal_header, demoted);
	FIELD("header", struct journal_header, cpu_mount);
	FIELD("header", struct journal_header, cpu_group);
	FIELD("entry", struct journal_entry, state);
	FIELD("entry", struct journal_entry, flags);
	FIELD("entry", struct journal_entry, pid);
	FIELD("entry", struct journal_entry, tid);
	FIELD("entry", struct journal_entry, start_time);
	FIELD("entry", struct journal_entry, policy);
	FIELD("entry", struct journal_entry, nice);
	FIELD("entry", struct journal_entry, runtime_ns);
	FIELD("entry", struct journal_entry, epoch);
	FIELD("entry", struct journal_entry, priority);
	FIELD("entry", struct journal_entry, affinity);
	FIELD("entry", struct journal_entry, home);
}
