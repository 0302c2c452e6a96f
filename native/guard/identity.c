/*
 * Who a number means now. A thread is known by pid, tid and start time together: numbers are given again, start times are not.
 */
#include "guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAT_BYTES_MAX = 2048, STATUS_BYTES_MAX = 4096, FILE_NAME_MAX = 64 };
/* In proc_pid_stat(5) the state is field 3, the start time field 22. */
enum { BLANKS_BEFORE_START_TIME = 20 };

static ssize_t read_file(const char *name, char *text, size_t bytes)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t length = read(fd, text, bytes - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

uint64_t start_time_of(pid_t pid, pid_t tid)
{
	char name[FILE_NAME_MAX];
	char text[STAT_BYTES_MAX];
	snprintf(name, sizeof name, "/proc/%d/task/%d/stat", pid, tid);
	if (read_file(name, text, sizeof text) <= 0)
		return 0;
	/* comm may hold blanks and parentheses: fields start after the last one. */
	char *at = strrchr(text, ')');
	for (int blanks = 0; at != NULL && blanks < BLANKS_BEFORE_START_TIME; blanks++)
		at = strchr(at + 1, ' ');
	return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

static bool field_of(const char *text, const char *field, pid_t *value)
{
	const char *at = strstr(text, field);
	if (at == NULL)
		return false;
	*value = (pid_t)strtol(at + strlen(field), NULL, 10);
	return true;
}

bool relatives_of(pid_t tid, pid_t *process, pid_t *parent)
{
	char name[FILE_NAME_MAX];
	char text[STATUS_BYTES_MAX];
	snprintf(name, sizeof name, "/proc/%d/status", tid);
	return read_file(name, text, sizeof text) > 0 && field_of(text, "\nTgid:", process) && field_of(text, "\nPPid:", parent);
}

/* A line of /proc/TID/cgroup: `4:cpu,cpuacct:/path`. */
static bool names_cpu(const char *controllers)
{
	while (*controllers != ':' && *controllers != '\0') {
		size_t length = strcspn(controllers, ",:");
		if (length == 3 && strncmp(controllers, "cpu", 3) == 0)
			return true;
		controllers += length + (controllers[length] == ',');
	}
	return false;
}

bool cpu_group_of(pid_t tid, char *group, size_t bytes)
{
	char name[FILE_NAME_MAX];
	char text[STATUS_BYTES_MAX];
	snprintf(name, sizeof name, "/proc/%d/cgroup", tid);
	if (read_file(name, text, sizeof text) <= 0)
		return false;
	for (char *line = text; line != NULL && *line != '\0';) {
		char *next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		char *controllers = strchr(line, ':');
		char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
		if (path != NULL && names_cpu(controllers + 1))
			return (size_t)snprintf(group, bytes, "%s", path + 1) < bytes;
		line = next;
	}
	return false;
}
