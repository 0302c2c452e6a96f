/* Clocks, work and /proc, as all four programs need them. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STAT_BYTES = 1024, FIELDS_AFTER_STATE = 19, ROUNDS = 512 };

int64_t clock_us(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Stored where the compiler must not reason about it, or the loop would be folded away. */
static volatile uint64_t sink;

void work_for(clockid_t clock, int64_t length_us)
{
	int64_t until = clock_us(clock) + length_us;
	while (clock_us(clock) < until) {
		uint64_t value = sink | 1;
		for (int i = 0; i < ROUNDS; i++)
			value = value * 6364136223846793005u + 1442695040888963407u;
		sink = value;
	}
}

void sleep_until_us(int64_t at_us)
{
	struct timespec at = { .tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
}

uint64_t start_time_of(pid_t pid)
{
	char path[64];
	char text[STAT_BYTES + 1];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t length = read(fd, text, STAT_BYTES);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	char *at = strrchr(text, ')');
	if (at == NULL)
		return 0;
	at += 2;
	for (int field = 0; field < FIELDS_AFTER_STATE && at != NULL; field++)
		at = strchr(at + 1, ' ');
	return at == NULL ? 0 : strtoull(at, NULL, 10);
}

void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void fail(const char *reason)
{
	fprintf(stderr, "bench: %s\n", reason);
	exit(2);
}

int64_t number_at(char **arguments, int index, int64_t min, int64_t max)
{
	char *end;
	long long value = strtoll(arguments[index], &end, 10);
	if (*arguments[index] == '\0' || *end != '\0' || value < min || value > max)
		fail("a number is missing or out of its bounds");
	return value;
}
