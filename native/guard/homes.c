/*
 * The v1 cpu tree: threads that were moved to our group, which has a real-time budget, go back where they came from
 * (src/linux/rt-group.ts says why they were moved).
 *
 * What was born to a promoted thread is in our group as well, and was not promoted itself: it is found in the group's list, and goes
 * where its process's, or its nearest ancestor's, entry says. Without one it is another daemon's, and is left alone.
 */
#include "guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_NAME_MAX = PATH_BYTES + HOME_BYTES + 16, TEXT_BYTES = 4096, GENERATIONS_MAX = 16 };
/* Rounds through the list: moving changes it while it is read. Threads looked at in one round. */
enum { ROUNDS_MAX = 3, THREADS_MAX = 8192 };

static bool write_tid(const char *mount, const char *group, pid_t tid)
{
	char name[FILE_NAME_MAX];
	char text[16];
	snprintf(name, sizeof name, "%s/%s/tasks", mount, group);
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	int length = snprintf(text, sizeof text, "%d", tid);
	bool done = write(fd, text, (size_t)length) == length;
	close(fd);
	return done;
}

bool is_away(const struct journal_header *journal, pid_t tid, const char *home)
{
	char group[PATH_BYTES];
	size_t mount = strlen(journal->cpu_mount);
	if (journal->cpu_group[0] == '\0' || !cpu_group_of(tid, group, sizeof group))
		return false;
	/* In the root it was put by another daemon that emptied our common group when it ended. */
	if (strcmp(group, "/") == 0)
		return strcmp(home, "/") != 0;
	return strncmp(journal->cpu_group, journal->cpu_mount, mount) == 0 &&
	       strcmp(group, journal->cpu_group + mount) == 0;
}

bool move_home(const struct journal_header *journal, pid_t tid, const char *home)
{
	if (journal->cpu_mount[0] == '\0' || strstr(home, "..") != NULL)
		return false;
	/* A home that was removed meanwhile is replaced by the root. */
	return write_tid(journal->cpu_mount, home, tid) || write_tid(journal->cpu_mount, "", tid);
}

static const char *home_by_process(struct journal_header *journal, pid_t process)
{
	uint32_t used = journal_entries_used(journal);
	for (uint32_t index = 0; index < used; index++) {
		struct journal_entry *entry = journal_entry_at(journal, index);
		if (entry->state == ENTRY_HELD && (entry->flags & ENTRY_MOVED) != 0 && (pid_t)entry->pid == process)
			return entry->home;
	}
	return NULL;
}

static const char *home_by_ancestry(struct journal_header *journal, pid_t tid)
{
	pid_t process, parent;
	for (int generation = 0; generation < GENERATIONS_MAX && tid > 1; generation++, tid = parent) {
		if (!relatives_of(tid, &process, &parent))
			return NULL;
		const char *home = home_by_process(journal, process);
		if (home != NULL)
			return home;
	}
	return NULL;
}

static int list_threads(const char *group, pid_t *threads)
{
	char name[PATH_BYTES + 8];
	char text[TEXT_BYTES];
	snprintf(name, sizeof name, "%s/tasks", group);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	int count = 0;
	pid_t number = 0;
	ssize_t length;
	while ((length = read(fd, text, sizeof text)) > 0) {
		for (ssize_t index = 0; index < length; index++) {
			if (text[index] >= '0' && text[index] <= '9')
				number = number * 10 + (text[index] - '0');
			else if (number > 0 && count < THREADS_MAX) {
				threads[count++] = number;
				number = 0;
			}
		}
	}
	close(fd);
	return count;
}

void send_children_home(struct journal_header *journal, struct tally *tally)
{
	static pid_t threads[THREADS_MAX];
	if (journal->cpu_group[0] == '\0')
		return;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int count = list_threads(journal->cpu_group, threads);
		uint32_t moved = 0;
		for (int index = 0; index < count; index++) {
			const char *home = home_by_ancestry(journal, threads[index]);
			if (home != NULL && move_home(journal, threads[index], home))
				moved++;
		}
		tally->moved += moved;
		if (moved == 0)
			return;
	}
}
