/*
 * sfsd's guard: no function stays real-time because the daemon crashed. `journal.h` is what it shares with the daemon.
 *
 *   guard --priority N --stall-ms M --daemon PID      (journal: fd 3; started by PID, its parent)
 *   guard --layout                                    prints the layout of the journal and ends; a test reads it
 *
 *   the daemon's pidfd is readable ─▶ epoch + 1, demote all, clear the list, end
 *   the heartbeat stands still for M ─▶ epoch + 1, demote all; again at each look until it moves
 *   the daemon closes, and the list is empty ─▶ end
 *
 * Its memory is locked and it allocates nothing. It ignores the signals that ask a service to end, because a supervisor sends them to
 * guard and daemon alike, and is in a session of its own, so that neither a terminal nor the spawner's end takes it along. It ends
 * with its daemon rather than wait for the next one: the next may be another version, with another journal.
 *
 * A stall is counted in looks, not by the clock: when we were stopped or frozen ourselves, so was the daemon, and that is no stall.
 */
#include "guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Looks in the time of one stall: more would wake an idle host, fewer would be late. An end in order waits for one. */
enum { LOOKS_PER_STALL = 10, LOOK_MS_MAX = 100 };
enum { LINE_BYTES = 256 };

struct watch {
	struct journal_header *journal;
	int daemon_fd;
	int stall_ms;
	int look_ms;
	/* How long the heartbeat has been standing still, in looks that we made. */
	int64_t still_ms;
	uint32_t heartbeat;
};

static int64_t monotonic_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Said after the work is done, and only where it can be said without waiting. */
static void say(const char *what, const struct journal_header *journal, const struct tally *tally)
{
	char line[LINE_BYTES];
	struct pollfd err = { .fd = STDERR_FILENO, .events = POLLOUT };
	int length = snprintf(line, sizeof line,
			      "sfsd guard: daemon %u %s: %u task(s) demoted, %u moved back, %u refused; epoch %u\n",
			      journal->daemon_pid, what, tally->demoted, tally->moved, tally->refused, journal->epoch);
	if (poll(&err, 1, 0) == 1 && (err.revents & POLLOUT) != 0)
		(void)!write(STDERR_FILENO, line, (size_t)length);
}

static void raise_epoch(struct journal_header *journal)
{
	__atomic_add_fetch(&journal->epoch, 1, __ATOMIC_SEQ_CST);
}

static void demote_all(struct watch *watch, struct tally *tally)
{
	sweep(watch->journal, tally);
	__atomic_add_fetch(&watch->journal->demoted, tally->demoted, __ATOMIC_RELAXED);
}

static void daemon_died(struct watch *watch)
{
	struct tally tally = { 0 };
	raise_epoch(watch->journal);
	demote_all(watch, &tally);
	if (tally.refused == 0)
		clear_entries(watch->journal);
	watch->journal->guard_pid = 0;
	watch->journal->guard_state = GUARD_NONE;
	if (tally.demoted + tally.moved + tally.refused > 0)
		say("died", watch->journal, &tally);
}

static void daemon_stalls(struct watch *watch)
{
	struct journal_header *journal = watch->journal;
	struct tally tally = { 0 };
	bool first = journal->guard_state != GUARD_STALLED;
	if (first) {
		raise_epoch(journal);
		__atomic_add_fetch(&journal->stalls, 1, __ATOMIC_RELAXED);
		journal->guard_state = GUARD_STALLED;
	}
	demote_all(watch, &tally);
	if (first)
		say("stands still", journal, &tally);
}

static void look(struct watch *watch, int64_t elapsed_ms)
{
	uint32_t heartbeat = __atomic_load_n(&watch->journal->heartbeat, __ATOMIC_ACQUIRE);
	if (heartbeat != watch->heartbeat || heartbeat == 0) {
		watch->heartbeat = heartbeat;
		watch->still_ms = 0;
		watch->journal->guard_state = GUARD_WATCHING;
		return;
	}
	watch->still_ms += elapsed_ms < 2 * watch->look_ms ? elapsed_ms : 2 * watch->look_ms;
	if (watch->still_ms >= watch->stall_ms)
		daemon_stalls(watch);
}

static void run(struct watch *watch)
{
	struct journal_header *journal = watch->journal;
	int64_t before_ms = monotonic_ms();
	for (;;) {
		struct pollfd daemon = { .fd = watch->daemon_fd, .events = POLLIN };
		if (poll(&daemon, 1, watch->look_ms) == 1) {
			daemon_died(watch);
			return;
		}
		if (__atomic_load_n(&journal->closing, __ATOMIC_ACQUIRE) != 0 && journal_is_empty(journal))
			return;
		int64_t now_ms = monotonic_ms();
		look(watch, now_ms - before_ms);
		before_ms = now_ms;
	}
}

/* Held by pidfd, and still our parent: its number cannot have been given again. */
static int hold_daemon(pid_t daemon)
{
	int fd = (int)syscall(SYS_pidfd_open, daemon, 0);
	return fd >= 0 && getppid() == daemon ? fd : -1;
}

static int number(const char *text, long least, long most)
{
	char *end;
	long value = strtol(text, &end, 10);
	return *text == '\0' || *end != '\0' || value < least || value > most ? -1 : (int)value;
}

static int usage(void)
{
	fprintf(stderr, "usage: guard --priority N (0 to 49) --stall-ms M (100 to 60000) --daemon PID | guard --layout\n");
	return 2;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--layout") == 0) {
		layout_print();
		return 0;
	}
	if (argc != 7 || strcmp(argv[1], "--priority") != 0 || strcmp(argv[3], "--stall-ms") != 0 || strcmp(argv[5], "--daemon") != 0)
		return usage();
	int priority = number(argv[2], 0, 49);
	int daemon = number(argv[6], 2, 1 << 22);
	struct watch watch = { .stall_ms = number(argv[4], 100, 60000) };
	if (priority < 0 || daemon < 0 || watch.stall_ms < 0)
		return usage();
	watch.look_ms = watch.stall_ms / LOOKS_PER_STALL;
	if (watch.look_ms > LOOK_MS_MAX)
		watch.look_ms = LOOK_MS_MAX;
	stand_above(priority);
	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	grace_find();
	watch.journal = journal_map(JOURNAL_FD);
	if (watch.journal == NULL) {
		perror("sfsd guard: the journal");
		return 1;
	}
	watch.daemon_fd = hold_daemon(daemon);
	if (watch.daemon_fd < 0) {
		daemon_died(&watch);
		return 0;
	}
	watch.journal->guard_pid = (uint32_t)getpid();
	run(&watch);
	return 0;
}
