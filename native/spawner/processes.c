/*
 * What the kernel knows of a child that has not been reaped yet, and signals to it.
 */
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Field 22 of /proc/PID/stat; the command may hold any byte, so fields count from the last ')'. */
uint64_t start_time_of(pid_t pid)
{
	char path[32];
	char text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	char *cursor = strrchr(text, ')');
	for (int field = 2; field < 22 && cursor != NULL; field++)
		cursor = strchr(cursor + 1, ' ');
	return cursor == NULL ? 0 : strtoull(cursor + 1, NULL, 10);
}

/* The clock of another process's CPU time, as clock_getcpuclockid(3) gives it; exact once it was taken off its core. */
uint64_t cpu_us_of(pid_t pid)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* Before its setpgid a child has no group of its own yet. */
void child_signal(const struct child *child, int signal_number)
{
	if (kill(-child->pid, signal_number) != 0 && errno == ESRCH)
		kill(child->pid, signal_number);
}
