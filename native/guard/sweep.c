/* Everything on the list. Calls no allocator: a host that is out of memory is one on which daemons die. */
#include "guard.h"

typedef void step(const struct journal_header *journal, const struct journal_entry *entry, struct tally *tally);

static void each_held(struct journal_header *journal, step *step, struct tally *tally)
{
	uint32_t used = journal_entries_used(journal);
	for (uint32_t index = 0; index < used; index++) {
		struct journal_entry *entry = journal_entry_at(journal, index);
		if (__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) == ENTRY_HELD)
			step(journal, entry, tally);
	}
}

void sweep(struct journal_header *journal, struct tally *tally)
{
	each_held(journal, restore_scheduling, tally);
	grace_hurry();
	each_held(journal, restore_home, tally);
	send_children_home(journal, tally);
	grace_rest();
}

void clear_entries(struct journal_header *journal)
{
	uint32_t used = journal_entries_used(journal);
	for (uint32_t index = 0; index < used; index++)
		__atomic_store_n(&journal_entry_at(journal, index)->state, ENTRY_FREE, __ATOMIC_RELEASE);
}
