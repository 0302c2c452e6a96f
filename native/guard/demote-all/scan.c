/*
 * Without a journal: what is real-time at FILTER's priority and in a cgroup of ours is ours. Those groups are `/sfsd-filter` of the v1 cpu
 * tree, and `/sfsd-PID` of each daemon; where that PID lives, its tasks are its own affair.
 *
 * What it was is not known any more: it becomes SCHED_OTHER, and a thread in `/sfsd-filter` goes to the root of the cpu tree.
 */
#include "demote-all.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_NAME_MAX = 64, LINE_BYTES = 4096 };

static const char filter_group[] = "/sfsd-filter";
static const char daemon_group[] = "/sfsd-";

enum place { PLACE_FOREIGN, PLACE_DAEMON, PLACE_FILTER };

/* `path` is what follows the second colon of a line of /proc/TID/cgroup. */
static enum place place_by_path(const char *path)
{
	size_t length = strcspn(path + 1, "/\n") + 1;
	if (path[0] != '/')
		return PLACE_FOREIGN;
	if (length == strlen(filter_group) && strncmp(path, filter_group, length) == 0)
		return PLACE_FILTER;
	if (strncmp(path, daemon_group, strlen(daemon_group)) != 0)
		return PLACE_FOREIGN;
	char *end;
	long pid = strtol(path + strlen(daemon_group), &end, 10);
	if (end != path + length || pid <= 1)
		return PLACE_FOREIGN;
	return kill((pid_t)pid, 0) == 0 || errno == EPERM ? PLACE_FOREIGN : PLACE_DAEMON;
}

static enum place place_of(pid_t tid)
{
	char name[FILE_NAME_MAX];
	char line[LINE_BYTES];
	enum place found = PLACE_FOREIGN;
	snprintf(name, sizeof name, "/proc/%d/cgroup", tid);
	FILE *groups = fopen(name, "re");
	while (groups != NULL && fgets(line, sizeof line, groups) != NULL) {
		char *path = strchr(line, ':');
		path = path == NULL ? NULL : strchr(path + 1, ':');
		enum place place = path == NULL ? PLACE_FOREIGN : place_by_path(path + 1);
		if (place > found)
			found = place;
	}
	if (groups != NULL)
		fclose(groups);
	return found;
}

/* `36 35 98:0 / /point options [tags] - cgroup source rw,cpu,cpuacct` */
static bool find_cpu_mount(char *mount, size_t bytes)
{
	char line[LINE_BYTES];
	bool found = false;
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	while (mounts != NULL && !found && fgets(line, sizeof line, mounts) != NULL) {
		char point[PATH_BYTES], options[PATH_BYTES];
		char *right = strstr(line, " - cgroup ");
		if (right == NULL || sscanf(line, "%*s %*s %*s %*s %511s", point) != 1)
			continue;
		if (sscanf(right, " - cgroup %*s %511s", options) != 1)
			continue;
		for (char *option = strtok(options, ","); option != NULL && !found; option = strtok(NULL, ","))
			found = strcmp(option, "cpu") == 0;
		if (found)
			snprintf(mount, bytes, "%s", point);
	}
	if (mounts != NULL)
		fclose(mounts);
	return found;
}

static void demote(const struct journal_header *tree, pid_t tid, enum place place, struct tally *tally)
{
	struct sched_param none = { .sched_priority = 0 };
	if (sched_setscheduler(tid, SCHED_OTHER, &none) == 0)
		tally->demoted++;
	else if (errno != ESRCH)
		tally->refused++;
	if (place == PLACE_FILTER && move_home(tree, tid, ""))
		tally->moved++;
}

static void scan_process(const struct journal_header *tree, const char *pid, struct tally *tally)
{
	char name[FILE_NAME_MAX];
	snprintf(name, sizeof name, "/proc/%.16s/task", pid);
	DIR *threads = opendir(name);
	struct dirent *thread;
	while (threads != NULL && (thread = readdir(threads)) != NULL) {
		pid_t tid = (pid_t)atoi(thread->d_name);
		if (tid <= 1 || !is_ours(tid, tree->priority))
			continue;
		enum place place = place_of(tid);
		if (place != PLACE_FOREIGN)
			demote(tree, tid, place, tally);
	}
	if (threads != NULL)
		closedir(threads);
}

void scan(uint32_t priority, struct tally *tally)
{
	static struct journal_header tree;
	tree.priority = priority;
	if (!find_cpu_mount(tree.cpu_mount, sizeof tree.cpu_mount))
		tree.cpu_mount[0] = '\0';
	DIR *processes = opendir("/proc");
	struct dirent *process;
	while (processes != NULL && (process = readdir(processes)) != NULL)
		if (isdigit((unsigned char)process->d_name[0]))
			scan_process(&tree, process->d_name, tally);
	if (processes != NULL)
		closedir(processes);
}
