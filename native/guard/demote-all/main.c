/*
 * sfsd-demote-all: gives back to the fair scheduler whatever a daemon that is gone has left real-time. For ExecStopPost, for the daemon's own
 * start, and for an operator on a host too full to start Node.
 *
 *   sfsd-demote-all [--journal FILE] [--scan] [--filter-priority N] [--priority N]
 *
 * --journal: what its list says, moved back to where it was too; a file that is not there is a list of nothing. Of a daemon that lives it
 * raises the epoch first, so that it knows. --scan, or neither: every task at --filter-priority (5) inside a cgroup of sfsd's.
 * It works at SCHED_FIFO --priority (30). Prints one line. Exit code 0: none is left; 1: the kernel refused some; 2: wrong usage;
 * 3: the journal cannot be read, and what --scan found was demoted all the same.
 */
#include "demote-all.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_JOURNAL = 3 };

struct order {
	const char *journal;
	bool scan;
	int filter_priority;
	int priority;
};

static bool lives(const struct journal_header *journal)
{
	return journal->daemon_pid > 1 && (kill((pid_t)journal->daemon_pid, 0) == 0 || errno == EPERM);
}

/* False: there is one, and it cannot be read. */
static bool demote_listed(const char *path, struct tally *tally)
{
	struct journal_header *journal = journal_open(path);
	if (journal == NULL) {
		if (errno == ENOENT)
			return true;
		fprintf(stderr, "sfsd-demote-all: %s: %s\n", path,
			errno == EINVAL ? "no journal of this version" : strerror(errno));
		return false;
	}
	bool alive = lives(journal);
	if (alive)
		__atomic_add_fetch(&journal->epoch, 1, __ATOMIC_SEQ_CST);
	sweep(journal, tally);
	if (!alive && tally->refused == 0)
		clear_entries(journal);
	return true;
}

static bool read_priority(const char *text, int *into)
{
	char *end;
	long value = strtol(text, &end, 10);
	if (*text == '\0' || *end != '\0' || value < 0 || value > 99)
		return false;
	*into = (int)value;
	return true;
}

static bool read_order(int argc, char **argv, struct order *order)
{
	for (int at = 1; at < argc; at++) {
		const char *value = at + 1 < argc ? argv[at + 1] : NULL;
		if (strcmp(argv[at], "--scan") == 0) {
			order->scan = true;
			continue;
		}
		if (value == NULL)
			return false;
		if (strcmp(argv[at], "--journal") == 0)
			order->journal = value;
		else if (strcmp(argv[at], "--filter-priority") == 0) {
			if (!read_priority(value, &order->filter_priority))
				return false;
		} else if (strcmp(argv[at], "--priority") != 0 || !read_priority(value, &order->priority))
			return false;
		at++;
	}
	if (order->journal == NULL)
		order->scan = true;
	return true;
}

int main(int argc, char **argv)
{
	struct order order = { .filter_priority = 5, .priority = 30 };
	struct tally tally = { 0 };
	if (!read_order(argc, argv, &order)) {
		fprintf(stderr, "usage: sfsd-demote-all [--journal FILE] [--scan] [--filter-priority N] [--priority N]\n");
		return EXIT_USAGE;
	}
	stand_above(order.priority);
	grace_find();
	bool readable = order.journal == NULL || demote_listed(order.journal, &tally);
	if (order.scan)
		scan((uint32_t)order.filter_priority, &tally);
	printf("%u task(s) demoted, %u moved back to their cgroups, %u refused\n", tally.demoted, tally.moved, tally.refused);
	if (tally.refused > 0)
		return EXIT_REFUSED;
	return readable ? 0 : EXIT_JOURNAL;
}
